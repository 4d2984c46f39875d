package command

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestSplitCharacters: characters that are split between writes are written whole, and none is lost.
func TestSplitCharacters(t *testing.T) {
	const text = `{"a":"日本 é 🔥 ` + "\u009b\u202e\U000e0041" + `"}` + "\n"
	want := string(contract.AppendSafe(nil, []byte(text)))
	for size := 1; size < 9; size++ {
		var b bytes.Buffer
		w := &jsonSafe{w: &b}
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if n, err := w.Write(rest[:min(size, len(rest))]); err != nil || n != min(size, len(rest)) {
				t.Fatal(n, err)
			}
		}
		testkit.Same(t, fmt.Sprintf("in pieces of %d", size), want, b.String())
	}
}
