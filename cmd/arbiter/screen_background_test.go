package main

import (
	"os"
	"path/filepath"
	"testing"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// TestColoursFollowTheTerminal: a terminal that reports a light background gets colours for it, and its answer
// is not treated as typed text.
func TestColoursFollowTheTerminal(t *testing.T) {
	t.Parallel()
	// The answer comes at some time; until then the title has the colours for a dark background.
	title := func(set string, fits func(pty.Color) bool) pty.Color {
		// A script sets the terminal's background before it starts arbiter.
		script := filepath.Join(t.TempDir(), "start")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '"+set+"'\nexec arbiter \"$@\"\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
		p := showProgram(t, script, pty.Size{Columns: 90, Rows: 30}, foreignDir(t), []string{"COLORFGBG="},
			"--stand-in", "--rehearse")
		var color pty.Color
		p.until(func(s pty.Screen) bool {
			x, y, ok := s.Find("T H E")
			if ok {
				color = s.Cells[y][x].Style.Fg
			}
			return ok && fits(color) && s.Shows("a stand-in plays")
		})
		if answer := string(p.Answers()); answer == "" {
			t.Errorf("the terminal was not asked")
		}
		p.press("x")
		if s := p.await("› x"); s.Shows("rgb:") {
			t.Errorf("the answer was typed:\n%s", s.Text())
		}
		return color
	}
	dark := title(`\033]11;#101010\033\\`, func(pty.Color) bool { return true })
	title(`\033]11;#fafafa\033\\`, func(c pty.Color) bool { return c != dark })
}
