package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
