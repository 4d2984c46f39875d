package main

import (
	"regexp"
	"strings"
	"testing"

	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// onPlain is a run with --plain in a terminal. The test reads events from the event log, as on the screen.
type onPlain struct {
	*onScreen
}

// number waits for a permission request that contains a text, and returns the number that --plain gives it.
func (f *onPlain) number(text string) string {
	f.t.Helper()
	announced := regexp.MustCompile(`(?s)Request (\d+)\. .*?Answer with`)
	number := ""
	f.pane.until(func(pty.Screen) bool {
		for _, found := range announced.FindAllSubmatch(f.pane.Output(), -1) {
			if strings.Contains(string(found[0]), text) {
				number = string(found[1])
			}
		}
		return number != ""
	})
	return number
}

func (f *onPlain) asked(text string) {
	f.t.Helper()
	f.number(text)
}

func (f *onPlain) allow(text string) {
	f.t.Helper()
	f.pane.Type(f.number(text) + " y\n")
}

func (f *onPlain) allowAll(rule string, texts ...string) {
	f.t.Helper()
	last := ""
	for _, text := range texts {
		last = f.number(text)
	}
	offer := `for ` + last + ` run[^\n]*\n(?:  [^\n]*\n)*?  (\w): ` + regexp.QuoteMeta(rule) + `: [^\n]*\n`
	letter := regexp.MustCompile(offer).FindSubmatch(f.pane.Output())
	if letter == nil {
		f.t.Fatalf("no letter chooses %s:\n%s", rule, f.pane.Output())
	}
	f.pane.Type(last + " run " + string(letter[1]) + "\n")
}

func (f *onPlain) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.number(text)
	}
	f.pane.Type("/allow " + rule + "\n")
}

func (f *onPlain) end() []contract.Line {
	f.t.Helper()
	state, err := f.pane.Exit(f.pane.ctx)
	if err != nil || state.ExitCode() != 0 {
		f.t.Errorf("it ends with %v, %v:\n%s", state, err, f.pane.Output())
	}
	awaitGone(f.t, f.runs()[0])
	if !strings.Contains(string(f.pane.Output()), "It is done") {
		f.t.Errorf("the end is not told:\n%s", f.pane.Output())
	}
	return f.replayed()
}

// openPlain starts the run.
func openPlain(t *testing.T, h *modelHome) *onPlain {
	t.Helper()
	return &onPlain{&onScreen{modelHome: h, pane: h.openSlowly(append([]string{"--plain"}, h.args...)...)}}
}
