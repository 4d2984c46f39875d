package main

import (
	_ "embed"
	"image/color"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/rehearsal/terminal"
)

//go:embed loom.yaml
var loom []byte

// task is the task in the pictures.
const task = "Teach loom.sh to write its threads as JSON, and prove it with tests."

var usual = terminal.Size{Columns: 100, Rows: 30}

// scenes returns the pictures of the documentation, in its order.
func scenes() []scene { return []scene{atRest, fullRun} }

var atRest = scene{
	name: "oracle", size: usual, args: []string{"--rehearse"},
	steps: []step{
		wait("Speak, mortal.", "a scripted one"),
		shoot("oracle", "arbiter at rest: its sigil, its name, what there is to work with, and the input line"),
		press("Ctrl+C"),
	},
}

// fullRun is one run from the first message to the end. The script waits where a picture is taken; each step
// below waits for what it needs.
var fullRun = scene{
	name: "weaving", size: usual, args: []string{"--scenario", filepath.Join("..", "loom.yaml")},
	setup: func(place string) error {
		return os.WriteFile(filepath.Join(place, "..", "loom.yaml"), loom, 0o600)
	},
	steps: []step{
		wait("Speak, mortal."),
		write(task), press("Enter"),
		wait("Names are escaped", "Look for names that break it", "20%"),
		shoot("weaving",
			"a run: two Orchestrators at work, how full their contexts are, the plan, and what they say to each other"),
		press("Alt+1"),
		wait("session ", "cat loom.sh", "Prints each thread"),
		shoot("focus", "one Orchestrator from near: what it says and does, and what its subagent does"),
		press("q"),
		wait("THE WEAVING"),
		until("the answers can be given", func(s terminal.Screen) bool {
			x, y, ok := s.Find("Allow once")
			return ok && s.Cells[y][x].Style.Bg != nil && s.Shows("rm -rf build")
		}),
		shoot("permission", "an Orchestrator asks permission to run a command; the run stands dim behind the question"),
		press("y"),
		wait("loom.sh prints one JSON"),
		shoot("done", "the end of the run: its summary, what it cost, and the checks that passed"),
		// The search unfolds its match. The successor's brief contains the document too; the match before it is
		// the document.
		resize(usual.Columns, 63),
		press("Esc"), wait("NORMAL"), press("/"), write("backslashes"), press("Enter"),
		wait("█ • Quotes and backslashes", "Begin when the Arbiter has"),
		press("N"),
		wait("▾ Orchestrator I → Orchestrator III", "Claims"),
		shoot("handoff",
			"a hand-off document unfolded: what was done, what is left, what was decided, and "+
				"which claims were proved"),
		resize(usual.Columns, usual.Rows),
		press("F2"),
		wait("THE LOGBOOK"),
		shoot("logbook", "the logbook: every event, one line each"),
		press("q"),
		wait("THE WEAVING"),
		press("G", "i"), write("/theme light"), press("Enter"),
		until("the colours are light", light),
		gone("NORMAL"), gone("/theme"),
		shootOn(terminal.Picture{Foreground: color.RGBA{0x30, 0x30, 0x30, 0xff},
			Background: color.RGBA{0xfb, 0xfa, 0xf7, 0xff}}, "light", "the same run on a light ground"),
		press("Ctrl+C"),
	},
}

// light reports whether the title is dark enough for a light background.
func light(s terminal.Screen) bool {
	x, y, ok := s.Find("THE WEAVING")
	if !ok || s.Cells[y][x].Style.Fg == nil {
		return false
	}
	r, g, b, _ := s.Cells[y][x].Style.Fg.RGBA()
	return r+g+b < 3*0x8000
}
