package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// frontendDriver is a kind of frontend by which a human steers a run. A play with several guises does the same by
// commands of a script, by keys on the screen, on the web page, and in an editor.
type frontendDriver interface {
	// await waits for an event.
	await(what string, fits func(contract.Line) bool)
	// say sends a message to an agent, with a strength.
	say(to, strength, text string)
	// asked waits for a permission request that contains a text. allow does the same and grants it.
	asked(text string)
	allow(text string)
	// allowAll waits until a request for each of several texts is open, and answers one of them with a rule for
	// the run.
	allowAll(rule string, texts ...string)
	// allowFromNowOn waits in the same way, and adds the rule to the run's rules.
	allowFromNowOn(rule string, texts ...string)
	// end leaves a complete run, and returns its lines.
	end() []contract.Line
}

// take attaches another terminal to an agent's session.
func (h *modelHome) take(id string) *pane {
	h.t.Helper()
	p := h.open("attach", id)
	if h.player.real {
		p.await("for shortcuts")
	} else {
		p.await("stand-in, session", "> ")
	}
	return p
}

// giveBack detaches it again.
func (h *modelHome) giveBack(p *pane) {
	h.t.Helper()
	p.press("Ctrl+]")
	h.left(p, contract.ExitComplete)
}

// sendMessageAs waits for a message from one party to another, or for a question to the human.
func sendMessageAs(f frontendDriver, from, to, text string) {
	f.await(from+" saying "+text+" to "+to, func(l contract.Line) bool {
		if q, asked := l.Body.(contract.Question); asked && to == contract.Human {
			return strings.Contains(q.Text, text)
		}
		m, ok := l.Body.(contract.Message)
		return ok && m.From == from && m.To == to && strings.Contains(m.Text, text)
	})
}

// scripted is a run with --json.
type scripted struct {
	*modelHome
	run *script
}

func (f *scripted) await(what string, fits func(contract.Line) bool) {
	f.t.Helper()
	f.run.see(what, fits)
}

func (f *scripted) say(to, strength, text string) {
	f.run.send(contract.Say{To: to, Strength: strength, Text: text})
}

func (f *scripted) asked(text string) {
	f.t.Helper()
	await(f.run, "a request for "+text, func(_ string, b contract.PermissionRequest) bool {
		return strings.Contains(string(b.Input), text)
	})
}

func (f *scripted) allow(text string) {
	f.t.Helper()
	ask := await(f.run, "a request for "+text, func(_ string, b contract.PermissionRequest) bool {
		return strings.Contains(string(b.Input), text)
	})
	f.run.send(contract.Permit{Request: ask.Request, Behavior: "allow"})
}

// open waits for a request for each of several texts, and returns the last.
func (f *scripted) open(texts []string) (last contract.PermissionRequest) {
	f.t.Helper()
	for _, text := range texts {
		last = await(f.run, "a request for "+text, func(_ string, b contract.PermissionRequest) bool {
			return strings.Contains(string(b.Input), text)
		})
	}
	return last
}

func (f *scripted) allowAll(rule string, texts ...string) {
	f.t.Helper()
	f.run.send(contract.Permit{Request: f.open(texts).Request, Behavior: "allow", Scope: contract.ScopeRun, Rule: rule})
}

func (f *scripted) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	f.open(texts)
	f.run.send(contract.Configure{Allow: rule})
}

func (f *scripted) end() []contract.Line {
	f.t.Helper()
	f.run.finish(contract.ExitComplete)
	return f.run.lines
}

// onScreen is a run on the screen.
type onScreen struct {
	*modelHome
	pane *pane
}

// await reads the event log: what the screen shows depends on its size, and on open dialogs.
func (f *onScreen) await(what string, fits func(contract.Line) bool) {
	f.t.Helper()
	if _, ok := f.logged(f.pane.ctx, fits); !ok {
		f.t.Fatalf("no %s\n%s", what, f.pane.Screen().Text())
	}
}

// logged waits for an event of the only run. It replays the run whenever its event log has grown.
func (h *modelHome) logged(ctx context.Context, fits func(contract.Line) bool) (contract.Line, bool) {
	h.t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for read := int64(0); ; {
		if runs, size := h.runs(), h.logSize(); len(runs) == 1 && size > read {
			read = size
			lines := testkit.Must(contractLinesOf(h.output("replay", runs[0])))(h.t)
			if at := slices.IndexFunc(lines, fits); at >= 0 {
				return lines[at], true
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return contract.Line{}, false
		}
	}
}

// logSize is the total size of the runs' event logs, 0 if there are none.
func (h *modelHome) logSize() (size int64) {
	h.t.Helper()
	logs, err := filepath.Glob(filepath.Join(h.home, ".local", "state", "arbiter", "runs", "*", journal.LogName))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, log := range logs {
		info := testkit.Must(os.Stat(log))(h.t)
		size += info.Size()
	}
	return size
}

func (f *onScreen) say(to, strength, text string) {
	f.t.Helper()
	switch {
	case to == "":
		f.pane.Type(text + "\n")
	case strength == contract.Steer || strength == contract.Stop:
		f.pane.Type("/" + strength + " " + to + " " + text + "\n")
	default:
		f.pane.Type("/to " + to + " " + text + "\n")
	}
}

func (f *onScreen) asked(text string) {
	f.t.Helper()
	f.pane.await(text, "y Allow once")
}

func (f *onScreen) allow(text string) {
	f.t.Helper()
	f.asked(text)
	f.pane.armed("y Allow once")
	f.pane.press("y")
}

// open waits for a request for each of several texts, and puts them aside. The screen shows them in a dialog or
// in the panel, depending on how many there were at first.
func (f *onScreen) open(texts []string) {
	f.t.Helper()
	for _, text := range texts {
		f.await("request for "+text, func(l contract.Line) bool {
			b, ok := l.Body.(contract.PermissionRequest)
			return ok && strings.Contains(string(b.Input), text)
		})
	}
	f.pane.until(func(s pty.Screen) bool {
		shown := s.Text()
		return strings.Contains(shown, fmt.Sprintf("%d requests wait", len(texts))) ||
			strings.Contains(shown, fmt.Sprintf("What waits for you · 1 of %d", len(texts)))
	})
	f.pane.press("Esc")
	f.pane.await(fmt.Sprintf("%d permission requests wait", len(texts)))
}

func (f *onScreen) allowAll(rule string, texts ...string) {
	f.t.Helper()
	f.open(texts)
	f.pane.press("F7")
	f.pane.await(fmt.Sprintf("1 of %d", len(texts)), "4 Allow for the run")
	f.pane.press("4")
	shown := f.pane.await(rule).Text()
	choice := regexp.MustCompile(`(\d) ` + regexp.QuoteMeta(rule)).FindStringSubmatch(shown)
	if choice == nil {
		f.t.Fatalf("no letter chooses %s\n%s", rule, shown)
	}
	f.pane.press(choice[1])
}

func (f *onScreen) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	f.open(texts)
	f.pane.Type("/allow " + rule + "\n")
}

func (f *onScreen) end() []contract.Line {
	f.t.Helper()
	f.pane.await("Speak again, or depart.")
	f.pane.press("Ctrl+C")
	f.ended(f.pane, contract.ExitComplete)
	return f.replayed()
}

// seamTimeout is the time limit for a whole play on the screen; the run itself has none.
const seamTimeout = 4 * waitTimeout

// openSlowly opens a pane with the time limit of a whole play.
func (h *modelHome) openSlowly(args ...string) *pane {
	h.t.Helper()
	p := h.open(args...)
	ctx, cancel := context.WithTimeout(h.t.Context(), seamTimeout)
	h.t.Cleanup(cancel)
	p.ctx = ctx
	return p
}

// frontendDrivers are all kinds of frontends. Each function begins a run of the play.
var frontendDrivers = map[string]func(t *testing.T, who player, play string, more ...string) (
	*modelHome, frontendDriver){
	"json": func(t *testing.T, who player, play string, more ...string) (*modelHome, frontendDriver) {
		h := build(t, who, play, more...)
		return h, &scripted{modelHome: h, run: h.script()}
	},
	"screen": func(t *testing.T, who player, play string, more ...string) (*modelHome, frontendDriver) {
		h := build(t, who, play, more...)
		return h, &onScreen{modelHome: h, pane: h.openSlowly(h.args...)}
	},
	"plain": func(t *testing.T, who player, play string, more ...string) (*modelHome, frontendDriver) {
		h := build(t, who, play, more...)
		return h, openPlain(t, h)
	},
	"page": func(t *testing.T, who player, play string, more ...string) (*modelHome, frontendDriver) {
		h := build(t, who, play, more...)
		return h, openPage(t, h)
	},
	"editor": func(t *testing.T, who player, play string, more ...string) (*modelHome, frontendDriver) {
		h := build(t, who, play, more...)
		return h, openEditor(t, h)
	},
}
