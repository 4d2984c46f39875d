package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/tui/render"
)

func textShellOf(lines []render.Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text() + "\n")
	}
	return b.String()
}

// TestCard: it shows what runs, then how it ended; its output is only text.
func TestCard(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	c := NewCard("make \x1b[31mall", began, func() {})
	if got := textShellOf(c.Head(began.Add(12 * time.Second))); got != "make all\nrunning for 12 s\n" || c.Over() {
		t.Errorf("running: %q", got)
	}
	testkit.Same(t, "without output", "(no output)\n", textShellOf(c.Body(40)))
	fmt.Fprint(c, "one\r\n\x1b[1mt")
	fmt.Fprint(c, "wo\x1b]0;owned\a ```\n")
	c.End("exit code 2", false, began.Add(time.Minute))
	if got := textShellOf(c.Head(began.Add(time.Hour))); got != "make all\nexit code 2, after 60 s\n" || !c.Over() {
		t.Errorf("ended: %q", got)
	}
	testkit.Same(t, "output", "one\ntwo ```\n", textShellOf(c.Body(40)))
	want := "I ran this command (exit code 2):\n```\nmake all\n```\nIts output:\n````\none\ntwo ```\n````\n"
	testkit.Same(t, "an agent receives", want, c.Text())
}

// TestLongOutput: its end is kept, starting at a line, and the card shows how much was dropped.
func TestLongOutput(t *testing.T) {
	c := NewCard("yes", time.Time{}, func() {})
	written := 0
	for i := range 100_000 {
		n, _ := fmt.Fprintf(c, "line %06d\n", i)
		written += n
	}
	if len(c.text) > 2*keptBytes {
		t.Errorf("%d bytes are kept", len(c.text))
	}
	body := textShellOf(c.Body(80))
	first, rest, _ := strings.Cut(body, "\n")
	if !strings.HasPrefix(first, "(") || !strings.HasSuffix(first, " before this are not shown)") {
		t.Errorf("begins with %q", first)
	}
	if !strings.HasPrefix(rest, "line ") || !strings.HasSuffix(body, "line 099999\n") {
		t.Errorf("%.40q … %q", rest, body[len(body)-20:])
	}
	text, lost := c.tail(agentBytes)
	if lost+len(text)+1 != written || len(text) > agentBytes {
		t.Errorf("%d bytes are reported and %d are said to be lost of %d", len(text), lost, written)
	}
}
