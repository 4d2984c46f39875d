package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

func rss(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(l, "VmHWM") || strings.HasPrefix(l, "VmRSS") {
			out = append(out, l)
		}
	}
	return strings.Join(out, " ")
}

func TestPeekPaste(t *testing.T) {
	p := show(t, pty.Size{Columns: 100, Rows: 30}, "", nil, "--stand-in", "--rehearse")
	p.await("Speak, mortal.")
	t.Log(rss(p.Process().Pid))
	began := time.Now()
	line := "0123456789 the quick brown fox jumps over the lazy dog, and over it again\n"
	p.Send("\x1b[200~" + strings.ReplaceAll(strings.Repeat(line, 10<<20/len(line)), "\n", "\r") + "\x1b[201~")
	s := p.await("[paste 1:")
	t.Log(time.Since(began), rss(p.Process().Pid), "\n"+s.Text())
	p.press("Enter")
	s = p.await("Too long")
	t.Log("\n" + s.Text())
	p.press("Ctrl+C")
	for _, evil := range []string{"\x1b[201;1~/quit\r", "\x1b]0;x", "\x1b_x", "\x1bOS", "\x1b[20\x1b[201~1~/help\r"} {
		p.Send("\x1b[200~a" + evil + "\x1b[201~")
		p.Type("b")
		time.Sleep(300 * time.Millisecond)
		t.Logf("%q\n%s", evil, p.Screen().Text())
		p.Type("\a\x1b\\")
		p.press("Ctrl+U", "Ctrl+C")
		time.Sleep(100 * time.Millisecond)
		p.press("n")
		p.press("Ctrl+U")
	}
}
