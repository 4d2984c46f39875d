package main

import (
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

// TestColoursFollowTheTerminal: a terminal that reports a light background gets colours for it, and its answer
// is not treated as typed text.
func TestColoursFollowTheTerminal(t *testing.T) {
	t.Parallel()
	// The answer comes at some time; until then the title has the colours for a dark background.
	title := func(set string, fits func(color.Color) bool) color.Color {
		// A script sets the terminal's background before it starts arbiter.
		script := filepath.Join(t.TempDir(), "start")
		if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '"+set+"'\nexec arbiter \"$@\"\n"),
			0o700); err != nil {
			t.Fatal(err)
		}
		p := showProgram(t, script, pty.Size{Columns: 90, Rows: 30}, foreignDir(t), []string{"COLORFGBG="},
			"--stand-in", "--rehearse")
		var seen color.Color
		p.until(func(s pty.Screen) bool {
			x, y, ok := s.Find("T H E")
			if ok {
				seen = s.Cells[y][x].Style.Fg
			}
			return ok && fits(seen) && s.Shows("a stand-in plays")
		})
		if answer := string(p.Answers()); answer == "" {
			t.Errorf("the terminal was not asked")
		}
		p.press("x")
		if s := p.await("› x"); s.Shows("rgb:") {
			t.Errorf("the answer was typed:\n%s", s.Text())
		}
		return seen
	}
	dark := title(`\033]11;#101010\033\\`, func(color.Color) bool { return true })
	title(`\033]11;#fafafa\033\\`, func(c color.Color) bool { return c != dark })
}

// torrent is a play whose Orchestrators write a lot without end.
const torrent = `name: torrent
title: A torrent of words
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Pour.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Pour.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Pour.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - {say: WORDS, use: [{tool: Bash, input: {command: "true", description: Pour}}], usage: {context: 1000, output: 10}, repeat: forever}
`

// pouring returns the arguments of an arbiter in which three agents write as much as they can.
func pouring(t testing.TB) []string {
	words := strings.Repeat("more words, and more, \\e[31mand\\e[0m more of them\\n", 10<<10)
	return []string{"--stand-in", "--scenario", scenarioFile(t, strings.Replace(torrent, "WORDS", `"`+words+`"`, 1)),
		"--task", "Pour"}
}

// TestFloodOnTheScreen: three agents write as much as they can. The screen still handles every key, and memory
// is bounded. BenchmarkKeyInFlood measures how soon.
func TestFloodOnTheScreen(t *testing.T) {
	testkit.Long(t)
	onlyLinux(t)
	p := show(t, pty.Size{Columns: 100, Rows: 30}, "", nil, pouring(t)...)
	p.await("THE WEAVING", "Orchestrator III", "works")
	p.press("Alt+1")
	p.await("session ", "more words")
	p.press("i")
	p.await("to Orchestrator I", "› Speak")
	before := peak(t, p.Process().Pid)
	for range 4 {
		p.press("Ctrl+U")
		p.await("› Speak")
		typed := ""
		for _, key := range "abcdefghijklmnopqrstuvwxyz" {
			typed += string(key)
			p.Type(string(key))
			p.await("› " + typed)
		}
	}
	if grown := peak(t, p.Process().Pid) - before; grown > 256<<20 {
		t.Errorf("it took %d MB", grown>>20)
	}
	p.leave()
}

// BenchmarkKeyInFlood measures the time from a key to the screen in the same flood, and on the oracle's screen,
// where nothing happens.
func BenchmarkKeyInFlood(b *testing.B) {
	for b.Loop() {
		for name, args := range map[string][]string{"rest": {"--stand-in"}, "flood": pouring(b)} {
			w := watch(b, screenCommand(b, "arbiter", args...))
			if name == "rest" {
				w.until(b, firstWord)
			} else {
				w.until(b, "Orchestrator III")
			}
			keys := w.keys(b)
			b.ReportMetric(ms(quantile(keys, 0.5)), name+"-p50-ms")
			b.ReportMetric(ms(quantile(keys, 1)), name+"-worst-ms")
			w.end()
		}
	}
}
