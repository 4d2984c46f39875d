package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

// onPage is a run without a screen that is steered on its web page. The test reads the page's event stream, and
// sends the page's commands.
type onPage struct {
	*modelHome
	user *webUser
	run  string

	mu      sync.Mutex
	lines   []contract.Line
	changed chan struct{} // capacity 1
}

// openPage starts the run and opens its page.
func openPage(t *testing.T, h *modelHome) *onPage {
	t.Helper()
	run := strings.TrimSpace(h.output(append([]string{"--detach"}, h.args...)...))
	f := &onPage{modelHome: h, run: run, user: h.page(run), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	req := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, f.user.page+"/run/events", nil))(t)
	req.Header.Set("X-Arbiter-Key", f.user.key)
	answer := testkit.Must(f.user.client.Do(req))(t)
	var reading sync.WaitGroup
	reading.Go(func() { f.read(bufio.NewScanner(answer.Body)) })
	t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
		reading.Wait()
	})
	return f
}

// read reads the lines of the stream until it ends.
func (f *onPage) read(s *bufio.Scanner) {
	s.Buffer(nil, 16<<20)
	kind := ""
	for s.Scan() {
		if name, ok := strings.CutPrefix(s.Text(), "event: "); ok {
			kind = name
		}
		data, ok := bytes.CutPrefix(s.Bytes(), []byte("data: "))
		if !ok || kind != "lines" {
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			f.t.Errorf("the page is sent %.200s: %v", data, err)
			return
		}
		f.mu.Lock()
		for _, raw := range list {
			line, err := contract.DecodeLine(raw)
			if err != nil {
				f.t.Errorf("the page is sent %.200s: %v", raw, err)
			}
			f.lines = append(f.lines, line)
		}
		f.mu.Unlock()
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}

// seen returns the first line that fits.
func (f *onPage) seen(fits func(contract.Line) bool) (contract.Line, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.lines {
		if fits(l) {
			return l, true
		}
	}
	return contract.Line{}, false
}

func (f *onPage) first(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), seamTimeout)
	defer cancel()
	for {
		if l, ok := f.seen(fits); ok {
			return l
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			f.t.Fatalf("no %s\n%s", what, f.output("status", f.run))
		}
	}
}

func (f *onPage) await(what string, fits func(contract.Line) bool) {
	f.t.Helper()
	f.first(what, fits)
}

func (f *onPage) say(to, strength, text string) {
	f.t.Helper()
	f.user.sends(contract.Say{To: to, Strength: strength, Text: text})
}

// request waits for a permission request that contains a text, and returns its id.
func (f *onPage) request(text string) string {
	f.t.Helper()
	l := f.first("request for "+text, func(l contract.Line) bool {
		b, ok := l.Body.(contract.PermissionRequest)
		return ok && strings.Contains(string(b.Input), text)
	})
	return l.Body.(contract.PermissionRequest).Request
}

func (f *onPage) asked(text string) {
	f.t.Helper()
	f.request(text)
}

func (f *onPage) allow(text string) {
	f.t.Helper()
	f.user.sends(contract.Permit{Request: f.request(text), Behavior: "allow"})
}

func (f *onPage) allowAll(rule string, texts ...string) {
	f.t.Helper()
	last := ""
	for _, text := range texts {
		last = f.request(text)
	}
	f.user.sends(contract.Permit{Request: last, Behavior: "allow", Scope: contract.ScopeRun, Rule: rule})
}

// allowFromNowOn adds the rule from a terminal, since the page cannot change the run's rules.
func (f *onPage) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.request(text)
	}
	f.addRule(f, rule)
}

// addRule adds a rule to the run's rules from another terminal, and waits until the rule has settled a request.
func (h *modelHome) addRule(f frontendDriver, rule string) {
	h.t.Helper()
	p := h.open("--plain")
	p.Type("/allow " + rule + "\n")
	f.await("permission by a rule", func(l contract.Line) bool {
		b, ok := l.Body.(contract.Permission)
		return ok && b.Rule == rule
	})
	p.HangUp()
}

func (f *onPage) end() []contract.Line {
	f.t.Helper()
	f.await("result", func(l contract.Line) bool {
		_, ok := l.Body.(contract.Result)
		return ok
	})
	awaitGone(f.t, f.run)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines
}

// onEditor is a run that an editor steers over ACP. The test reads events from the event log, as on the screen.
// A second terminal does what the protocol cannot express.
type onEditor struct {
	*modelHome
	editor *acpEditor
	flags  []string
	prompt int // id of the task's prompt
}

// openEditor starts the run.
func openEditor(t *testing.T, h *modelHome) *onEditor {
	t.Helper()
	at := slices.Index(h.args, "--task")
	if at < 0 {
		t.Fatal("no task in", h.args)
	}
	f := &onEditor{modelHome: h, flags: slices.Delete(slices.Clone(h.args), at, at+2)}
	f.editor = h.edits(acpEditors["plain"], f.flags...)
	f.editor.late = seamTimeout
	f.editor.opens(h.testHome)
	f.prompt = f.editor.prompt(h.args[at+1])
	return f
}

func (f *onEditor) first(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), seamTimeout)
	defer cancel()
	l, ok := f.logged(ctx, fits)
	if !ok {
		f.t.Fatalf("no %s\n%s", what, f.output("status"))
	}
	return l
}

func (f *onEditor) await(what string, fits func(contract.Line) bool) {
	f.t.Helper()
	f.first(what, fits)
}

func (f *onEditor) say(to, strength, text string) {
	f.t.Helper()
	if to == "" {
		f.editor.prompt(text)
		return
	}
	args := []string{"send", "--to", to}
	if strength != "" {
		args = append(args, "--strength", strength)
	}
	f.output(append(args, text)...)
}

// permission waits until the editor gets a permission request that contains a text.
func (f *onEditor) permission(text string) acpMessage {
	f.t.Helper()
	return f.editor.sees(0, "request for "+text, func(m acpMessage) bool {
		return m.Method == "session/request_permission" && strings.Contains(string(m.Params), text)
	})
}

func (f *onEditor) asked(text string) {
	f.t.Helper()
	f.permission(text)
}

func (f *onEditor) allow(text string) {
	f.t.Helper()
	f.editor.permits(f.permission(text), "once")
}

// allowAll answers with a rule from a terminal: an editor's options have no rules.
func (f *onEditor) allowAll(rule string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.permission(text)
	}
	last := texts[len(texts)-1]
	l := f.first("request for "+last, func(l contract.Line) bool {
		b, ok := l.Body.(contract.PermissionRequest)
		return ok && strings.Contains(string(b.Input), last)
	})
	f.output("allow", "--for", "run", "--rule", rule, l.Body.(contract.PermissionRequest).Request)
}

func (f *onEditor) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.permission(text)
	}
	f.addRule(f, rule)
}

// end checks that each prompt has ended, and that this editor saw the same as another editor that loads the
// session.
func (f *onEditor) end() []contract.Line {
	f.t.Helper()
	f.editor.sees(0, "the end of the run", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), "The run ended: complete")
	})
	for id := f.prompt; id <= f.editor.next; id++ {
		f.editor.stops(id, "end_turn")
	}
	awaitGone(f.t, f.runs()[0])
	other := f.edits(acpEditors["plain"], f.flags...)
	shown, loaded := f.editor.transcript(0), other.loads(f.testHome, f.editor.session)
	if !slices.Equal(shown, loaded) {
		f.t.Errorf("loaded is not what was live: %s", cmp.Diff(shown, loaded))
	}
	return f.replayed()
}

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
