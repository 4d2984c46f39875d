package render

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gdamore/tcell/v2"
	"github.com/google/go-cmp/cmp"
)

// pieces is a terminal that sends bytes in pieces of any size.
type pieces struct {
	tcell.Tty
	in   string
	next func(left int) int
}

func (p *pieces) Read(b []byte) (int, error) {
	n := copy(b[:min(p.next(len(p.in)), len(b))], p.in)
	p.in = p.in[n:]
	return n, nil
}

// TestGuardOfPastes: whatever a paste contains and however it arrives, the screen's library sees none of
// it, and everything that was typed before and after it.
func TestGuardOfPastes(t *testing.T) {
	inside := []string{
		"", "a", "words\rand words\r\n\tmore\n", "\x1b[201;1~/quit\r", "\x1b[0201~", "\x1b[201", "\x1b[20\x1b[200~",
		"\x1b]0;never ended", "\x1b_", "\x1bP\x1bX\x1b^", "\x1b[<0;3;3M\x03\x04\x1a\x07", "\u009b201~", "\x9b201~",
		strings.Repeat("\x1b[201;", 1000), "\x1b", "\x1b[", "\x1b\x1b[201\x1b",
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int{1, 2, 7, 4096} {
		for _, text := range inside {
			g := newGuard(&pieces{
				in:   "k\x1b[A" + "\x1b[200~" + text + "\x1b[201~" + "\x1b[200~again\x1b[201~" + "\x1bOP\r",
				next: func(left int) int { return min(1+r.IntN(most), left) },
			})
			var keys strings.Builder
			for buf := make([]byte, 5); len(g.Tty.(*pieces).in) > 0 || len(g.rest) > 0; {
				n, err := g.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				keys.Write(buf[:n])
			}
			mark := "\x1b[200~" + pastedMark + "\x1b[201~"
			if diff := cmp.Diff("k\x1b[A"+mark+mark+"\x1bOP\r", keys.String()); diff != "" {
				t.Fatalf("%q: what is read differs (-want +got):\n%s", text, diff)
			}
			for _, want := range []string{text, "again"} {
				if p, ok := g.take(); !ok || p.Text != want || p.Size != len(want) {
					t.Fatalf("pasted %q, taken %+v", want, p)
				}
			}
			if p, ok := g.take(); ok {
				t.Fatalf("%q: there is another paste: %+v", text, p)
			}
		}
	}
}

// TestGuardIsBounded: the size of a paste that is too large to keep is reported, and the next one is
// complete.
func TestGuardIsBounded(t *testing.T) {
	g := &guard{}
	chunk := []byte(strings.Repeat("0123456789abcdef", 1<<16))
	g.filter([]byte("\x1b[200~"))
	for range 200 {
		if rest := g.filter(chunk); len(rest) > 0 {
			t.Fatalf("%d bytes of it are handed on", len(rest))
		}
	}
	if g.text.Len() > maxPaste+len(pasteEnds) {
		t.Fatalf("%d bytes are kept", g.text.Len())
	}
	g.filter([]byte("\x1b[201~\x1b[200~next\x1b[201~"))
	for _, want := range []Paste{{Size: 200 << 20}, {Text: "next", Size: 4}} {
		if got, _ := g.take(); got != want {
			t.Errorf("taken %.80s, want %.80s", fmt.Sprint(got), fmt.Sprint(want))
		}
	}
}
