package evidence

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestASlowSinkLosesNothing: what is in the pipe is read, also when the deadline has passed while the sink was at work.
func TestASlowSinkLosesNothing(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer r.Close()
	text := strings.Repeat("x", 1000)
	_, err = w.WriteString(text)
	testkit.OK(t, err)
	testkit.OK(t, w.Close())
	testkit.OK(t, r.SetReadDeadline(time.Now().Add(-time.Second)))
	var got bytes.Buffer
	if drain(r, &got); got.String() != text {
		t.Errorf("%d bytes of %d were read", got.Len(), len(text))
	}
}
