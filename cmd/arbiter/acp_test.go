package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"
)

// acpEditors are the capabilities of editors.
var acpEditors = map[string]string{
	"plain":     `{}`,
	"subagents": `{"subagents":{},"session":{"notices":{},"compaction":{}},"auth":{"terminal":true}}`,
}

// TestACP: an editor prompts, answers questions and allows. After the run's process was killed, another editor
// loads the session, sees the same and continues.
func TestACP(t *testing.T) {
	for _, who := range players(t) {
		for name, capabilities := range acpEditors {
			t.Run(who.name+" "+name, func(t *testing.T) {
				t.Parallel()
				who.long(t)
				h := newTestHome(t, who)
				args := h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))
				e := h.edits(capabilities, args...)
				e.opens(h)
				e.stops(e.prompt("Make a thing"), "end_turn")
				shown := e.transcript(0)
				if !strings.Contains(strings.Join(shown, "\n"), "What shall it be called?") {
					t.Fatalf("nothing was asked: %s", shown)
				}
				h.killed(e.session)
				other := h.edits(capabilities, args...)
				if d := cmp.Diff(shown, other.loads(h, e.session)); d != "" {
					t.Fatalf("loaded is not what was live: %s", d)
				}
				from := other.count()
				id := other.prompt("call it dawn")
				other.permits(other.permission(from), "once")
				other.stops(id, "end_turn")
				e.sees(0, "the end in the first editor, too", func(m acpMessage) bool {
					return strings.Contains(string(m.Params), "The run ended: complete")
				})
				awaitGone(t, e.session)
				again := h.edits(capabilities, args...)
				loaded := again.loads(h, e.session)
				if d := cmp.Diff(e.transcript(0), loaded); d != "" {
					t.Errorf("loaded is not what the first editor saw: %s", d)
				}
				if d := cmp.Diff(append(shown, other.transcript(from)...), loaded); d != "" {
					t.Errorf("loaded is not what the other editor saw: %s", d)
				}
				if strings.Contains(capabilities, "subagents") !=
					strings.Contains(strings.Join(loaded, "\n"), `"sessionUpdate":"subagent_update"`) {
					t.Errorf("subagents: %s", loaded)
				}
				again.stops(again.prompt("once more"), "end_turn") // the run is over: another task
				list := string(again.call("session/list", `{"cwd":"`+h.work+`"}`))
				if !strings.Contains(list, e.session) {
					t.Errorf("it is not listed: %s", list)
				}
			})
		}
	}
}

// TestACPCancel: a cancelled prompt ends as cancelled, the requests it waited for are not denied for good, and
// the next prompt continues. A request that another terminal answers is withdrawn.
func TestACPCancel(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			who.long(t)
			h := newTestHome(t, who)
			e := h.edits(acpEditors["subagents"], h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
			e.opens(h)
			e.stops(e.prompt("Make a thing"), "end_turn")
			id := e.prompt("call it dawn")
			asked := e.permission(0)
			e.cancels(e.session)
			e.permits(asked, "")
			e.stops(id, "cancelled")
			if status := h.output("status"); !strings.Contains(status, "paused") {
				t.Errorf("the run goes on: %s", status)
			}
			e.stops(e.prompt("go on"), "end_turn")
		})
	}
}

// TestACPKilled: when the run's process is killed, the prompt says so, and the next prompt resumes the run,
// which asks for permission again. Loading the session then shows the same as was shown live.
func TestACPKilled(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			t.Parallel()
			who.long(t)
			h := newTestHome(t, who)
			args := h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))
			e := h.edits(acpEditors["plain"], args...)
			e.opens(h)
			e.stops(e.prompt("Make a thing"), "end_turn")
			id := e.prompt("call it dawn")
			e.permission(0)
			h.killed(e.session)
			if m := e.answer(id); m.Error == nil || !strings.Contains(m.Error.Message, "send another prompt") {
				t.Fatalf("the prompt ended with %s %+v", m.Result, m.Error)
			}
			from := e.count()
			id = e.prompt("go on")
			e.permits(e.permission(from), "once")
			e.stops(id, "end_turn")
			awaitGone(t, e.session)
			if d := cmp.Diff(e.transcript(0), h.edits(acpEditors["plain"], args...).loads(h, e.session)); d != "" {
				t.Errorf("loaded is not what was live: %s", d)
			}
		})
	}
}

// TestACPElsewhere: a request that another terminal answers is withdrawn, and a changed permission mode is
// shown.
func TestACPElsewhere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	e := h.edits(acpEditors["plain"], h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)
	e.opens(h)
	e.stops(e.prompt("Make a thing"), "end_turn")
	id := e.prompt("call it dawn")
	asked := e.permission(0) // in the next mode this command, which writes in the workspace, is not asked about
	e.call("session/set_mode", `{"sessionId":"`+e.session+`","modeId":"accept-edits"}`)
	e.call("session/set_config_option", `{"sessionId":"`+e.session+`","configId":"permissions","value":"ask"}`)
	e.sees(0, "the mode", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), `"currentModeId":"ask"`)
	})
	other := h.edits(acpEditors["plain"])
	other.session = e.session
	from := other.count()
	other.call("session/resume", `{"sessionId":"`+e.session+`","cwd":"`+h.work+`"}`)
	if shown := other.transcript(from); len(shown) > 0 {
		t.Errorf("resuming shows what happened: %s", shown)
	}
	other.permission(from)
	h.output("allow", "all")
	e.sees(0, "its withdrawal", func(m acpMessage) bool {
		return m.Method == "$/cancel_request" && string(m.Params) == fmt.Sprintf(`{"requestId":%d}`, *asked.ID)
	})
	e.permits(asked, "")
	e.stops(id, "end_turn")
	awaitGone(t, e.session)
	e.sees(0, "the end in the other editor, too", func(m acpMessage) bool {
		return strings.Contains(string(m.Params), "The run ended: complete")
	})
	e.refuses("session/load", `{"sessionId":"none","cwd":"/","mcpServers":[]}`, "there is no session none")
	e.refuses("session/new", `{"cwd":"work","mcpServers":[]}`, "is not absolute")
	other.refuses("session/new", `{"cwd":"`+h.work+`/none","mcpServers":[]}`, "no such file or directory")
	e.refuses("session/prompt", `{"sessionId":"none","prompt":[]}`, "is not open here")
	e.refuses("session/prompt", `{"sessionId":"`+e.session+`/orch-1","prompt":[]}`, "takes no prompts")
	e.refuses("session/prompt", `{"sessionId":"`+e.session+`","prompt":[]}`, "the prompt is empty")
	e.refuses("session/set_mode", `{"sessionId":"`+e.session+`","modeId":"allow-all"}`, "no permission mode")
	e.refuses("session/list", `{"cursor":"x"}`, "is not a cursor")
}

// TestACPForms: a client that supports forms answers a question with a form while the prompt continues; if it
// declines the form, the prompt ends.
func TestACPForms(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	args := h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))
	e := h.edits(`{"elicitation":{"form":{}}}`, args...)
	for _, result := range []string{`{"action":"decline"}`, `{"action":"accept","content":{"answer":"call it dawn"}}`} {
		e.opens(h)
		from := e.count()
		id := e.prompt("Make a thing")
		form := e.sees(from, "form", func(m acpMessage) bool { return m.Method == "elicitation/create" })
		e.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, *form.ID, result))
		if strings.Contains(result, "accept") {
			e.permits(e.permission(from), "run")
		}
		e.stops(id, "end_turn")
		e.call("session/close", `{"sessionId":"`+e.session+`"}`)
		h.endHosts()
	}
	if text := e.dump(e.got); !strings.Contains(text, "The run ended: complete") {
		t.Errorf("it was not answered:\n%s", text)
	}
}

// TestACPLogin: without a login the prompt fails with the protocol's error, and the editor learns how to log in.
func TestACPLogin(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	h.env = append(h.env, "CLAUDE_CODE_MAX_RETRIES=0")
	e := h.edits(acpEditors["subagents"], h.rehearsing(faultScenario(t, "{status: 401, repeat: forever}"))...)
	if about := e.answer(1); !strings.Contains(string(about.Result), `"args":["--login"]`) {
		t.Errorf("no way to log in: %s", about.Result)
	}
	e.opens(h)
	if m := e.answer(e.prompt("Speak")); m.Error == nil || m.Error.Code != -32000 {
		t.Errorf("the prompt ended with %s %+v", m.Result, m.Error)
	}
	claude := filepath.Join(h.home, "claude")
	if err := os.WriteFile(claude, []byte("#!/bin/sh\necho \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if out := h.output("acp", "--", "--claude", claude, "--login"); out != "auth login\n" {
		t.Errorf("logging in runs %q", out)
	}
}
