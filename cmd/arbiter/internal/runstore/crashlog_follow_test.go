package runstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestFollow shows that a log is followed from its beginning to the end of its run, across a rotation.
func TestFollow(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, LogName)
	add := func(text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			err = errors.Join(err, f.Close())
		}
		testkit.OK(t, err)
	}
	var out strings.Builder
	var want string
	round := 0
	alive := func() bool { // each check is followed by a copy
		testkit.Same(t, fmt.Sprintf("round %d", round), want, out.String())
		round++
		switch round {
		case 1: // there is no log yet
			return true
		case 3: // two lines, and a rotation between them
			add("a\n")
			testkit.OK(t, os.Rename(path, path+".1"))
			want += "a\n"
		}
		text := fmt.Sprintf("round %d\n", round)
		add(text)
		want += text
		return round < 5
	}
	testkit.OK(t, FollowCrashes(t.Context(), dir, &out, alive))
	testkit.Check(t, out.String() == want && round == 5, "%d rounds: %q instead of %q", round, out.String(), want)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := FollowCrashes(ctx, dir, &out, func() bool { return true })
	testkit.Check(t, errors.Is(err, context.Canceled), "%v", err)
}
