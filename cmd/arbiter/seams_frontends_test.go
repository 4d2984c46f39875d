package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// frontendDriver is a kind of frontend by which a human steers a run. A play with several guises does the same by
// commands of a script, by keys on the screen, on the web page, and in an editor.
type frontendDriver interface {
	// await waits for an event.
	await(what string, fits func(contract.Line) bool) contract.Line
	// say sends a message to an agent, with a strength.
	say(to, strength, text string)
	// end leaves a complete run, and returns its lines.
	end() []contract.Line
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

// commanded is a run that gets commands in the form of the contract: with --json on its stdin, or from its web page.
type commanded struct {
	*modelHome
	see  func(what string, fits func(contract.Line) bool) contract.Line
	send func(contract.CommandBody)
	over func() []contract.Line
}

func (f *commanded) await(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	return f.see(what, fits)
}

func (f *commanded) say(to, strength, text string) {
	f.send(contract.Say{To: to, Strength: strength, Text: text})
}

func (f *commanded) end() []contract.Line { return f.over() }

// onScreen is a run on the screen.
type onScreen struct {
	*modelHome
	pane *pane
}

// await reads the event log: what the screen shows depends on its size, and on open dialogs.
func (f *onScreen) await(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	l, ok := f.logged(f.pane.ctx, fits)
	if !ok {
		f.t.Fatalf("no %s\n%s", what, f.pane.Screen().Text())
	}
	return l
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
	logs := testkit.Must(filepath.Glob(filepath.Join(h.home, ".local/state/arbiter/runs/*", journal.LogName)))(h.t)
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
var frontendDrivers = map[string]func(h *modelHome) frontendDriver{
	"json": func(h *modelHome) frontendDriver {
		s := h.script()
		return &commanded{h, s.see, s.send, func() []contract.Line {
			s.finish(contract.ExitComplete)
			return s.lines
		}}
	},
	"screen": func(h *modelHome) frontendDriver { return &onScreen{h, h.openSlowly(h.args...)} },
	"plain": func(h *modelHome) frontendDriver {
		return &onPlain{&onScreen{h, h.openSlowly(append([]string{"--plain"}, h.args...)...)}}
	},
	"page":   openPage,
	"editor": openEditor,
}

// onPage is the event stream of the web page of a run without a screen.
type onPage struct {
	t       *testing.T
	mu      sync.Mutex
	lines   []contract.Line
	changed chan struct{} // capacity 1
}

// openPage starts the run and opens its page.
func openPage(h *modelHome) frontendDriver {
	h.t.Helper()
	run := strings.TrimSpace(h.output(append([]string{"--detach"}, h.args...)...))
	user, f := h.page(run), &onPage{t: h.t, changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(h.t.Context()))
	stream := user.events(ctx)
	var reading sync.WaitGroup
	reading.Go(func() { f.read(bufio.NewScanner(stream)) })
	h.t.Cleanup(func() {
		cancel()
		_ = stream.Close()
		reading.Wait()
	})
	return &commanded{h, f.first, user.sends, func() []contract.Line {
		f.first("result", func(l contract.Line) bool {
			_, ok := l.Body.(contract.Result)
			return ok
		})
		awaitGone(h.t, run)
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.lines
	}}
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

func (f *onPage) first(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	for late := time.After(seamTimeout); ; {
		f.mu.Lock()
		at := slices.IndexFunc(f.lines, fits)
		lines := f.lines
		f.mu.Unlock()
		if at >= 0 {
			return lines[at]
		}
		select {
		case <-f.changed:
		case <-late:
			f.t.Fatalf("no %s in %d lines of the page", what, len(lines))
		}
	}
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
func openEditor(h *modelHome) frontendDriver {
	h.t.Helper()
	at := slices.Index(h.args, "--task")
	if at < 0 {
		h.t.Fatal("no task in", h.args)
	}
	f := &onEditor{modelHome: h, flags: slices.Delete(slices.Clone(h.args), at, at+2)}
	f.editor = h.edits(acpEditors["plain"], f.flags...)
	f.editor.late = seamTimeout
	f.editor.opens(h.testHome)
	f.prompt = f.editor.prompt(h.args[at+1])
	return f
}

func (f *onEditor) await(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), seamTimeout)
	defer cancel()
	l, ok := f.logged(ctx, fits)
	if !ok {
		f.t.Fatalf("no %s\n%s", what, f.output("status"))
	}
	return l
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
