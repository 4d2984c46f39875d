package clients

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

var freeze = flag.Bool("freeze", false, "write the golden files")

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func message(id, from, to, kind, text string) contract.Event {
	return contract.Event{ID: from, Body: contract.Message{MessageID: id, From: from, To: to, Kind: kind, Text: text}}
}

// story has events of every kind that is mapped.
var story = []contract.Event{
	{ID: "supervisor", Body: contract.Session{Session: "run", CWD: "/w", Permissions: "ask"}},
	{ID: "arbiter", Body: contract.Spawn{Name: "The Arbiter", Prompt: "Make it"}},
	message("m1", "human", "arbiter", "task", "Make it"),
	{ID: "arbiter", Body: contract.Context{Tokens: 10, Window: 100}},
	{ID: "arbiter", Body: contract.Assistant{Text: "Let me see."}},
	{ID: "arbiter", Body: contract.ToolUse{Tool: "mcp__arbiter__set_plan", Input: raw(`{}`), ToolUse: "t0"}},
	{ID: "arbiter", Body: contract.ToolResult{ToolUse: "t0", Text: "done"}},
	{ID: "arbiter", Body: contract.Turn{CostUSD: 0.5, Outcome: "done"}},
	{ID: "arbiter", Body: contract.Decision{Decision: "ADDRESS_HUMAN", Reason: "No name."}},
	{ID: "arbiter", Body: contract.Question{Text: "What name?", Question: "question-1"}},
	{ID: "arbiter", Body: contract.Question{Text: "What name?", Question: "question-1"}}, // after a resume
	message("m2", "human", "arbiter", "answer", "dawn"),
	{ID: "supervisor", Body: contract.Plan{Steps: []contract.Step{{Text: "a", Status: "done"},
		{Text: "b", Status: "active"}, {Text: "c", Status: "failed"}, {Text: "d", Status: "pending"}}}},
	{ID: "orch-1", Body: contract.Spawn{Name: "Orchestrator I", Mode: "builder", Prompt: "Write it."}},
	{ID: "orch-1", Body: contract.Workspace{Dir: "/trees/orch-1", Isolation: "worktree"}},
	message("m3", "arbiter", "orch-1", "brief", "Write it."),
	{ID: "orch-1", Body: contract.Delivered{MessageID: "m3"}},
	{ID: "orch-1", Body: contract.Context{Tokens: 20, Window: 100}},
	{ID: "orch-1", Body: contract.Assistant{Text: "I read."}},
	{ID: "orch-1", Body: contract.Assistant{Text: "I look.", Subagent: "t1"}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Read", Input: raw(`{"file_path":"a.go","offset":3}`), ToolUse: "t1"}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t1", Text: "# no title\n```\ncode"}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Edit", ToolUse: "t2",
		Input: raw(`{"file_path":"/w/a.go","old_string":"x","new_string":""}`)}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t2", Text: "The file was changed."}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Write", ToolUse: "t3",
		Input: raw(`{"file_path":"/w/b","content":"b\u001b[2J"}`)}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t3", Text: "No such directory", IsError: true}},
	{ID: "orch-1", Body: contract.Plan{Tasks: []contract.Tasks{{Agent: "orch-1", Items: []contract.Step{{Text: "own",
		Status: "skipped"}}}}}},
	{ID: "orch-1", Body: contract.ToolUse{Tool: "Bash", Input: raw(`{"command":"git push \u003e a"}`), ToolUse: "t4"}},
	{ID: "orch-1", Body: contract.PermissionRequest{Request: "perm-1", Tool: "Bash",
		Input: raw(`{ "command": "git push > a" }`)}},
	{ID: "orch-1", Body: contract.Permission{Request: "perm-1", Tool: "Bash", Behavior: "allow", By: "human"}},
	{ID: "orch-1", Body: contract.ToolResult{ToolUse: "t4", Text: "pushed"}},
	{ID: "orch-1", Body: contract.PermissionRequest{Request: "perm-2", Tool: "Bash", Input: raw(`{"command":"rm"}`)}},
	{ID: "orch-1", Body: contract.Permission{Request: "perm-2", Behavior: "deny", By: "human"}},
	{ID: "orch-1", Body: contract.Permission{Request: "perm-3", Behavior: "allow", By: "rule"}},
	message("m4", "human", "orch-1", "note", "Be quick."),
	{ID: "orch-1", Body: contract.Compact{Trigger: "auto", Blocked: true}},
	{ID: "orch-1", Body: contract.Retry{Attempt: 1, Reason: "529"}},
	{ID: "supervisor", Body: contract.Notice{Text: "All is well."}},
	{ID: "orch-1", Body: contract.Handoff{From: "orch-1", To: "orch-2", Document: &verdict.Document{}}},
	{ID: "orch-1", Body: contract.Turn{CostUSD: 0.25, Outcome: "interrupted"}},
	{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Prompt: "Go on.", SuccessorOf: "orch-1"}},
	{ID: "orch-1", Body: contract.Done{Reason: "handoff"}},
	message("m5", "orch-2", "arbiter", "done", "It stands."),
	message("m6", "supervisor", "arbiter", "notice", "So."),
	{ID: "orch-2", Body: contract.ToolUse{Tool: "Bash", Input: raw(`{"command":"sleep 9"}`), ToolUse: "t5"}},
	{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Generation: 2, Resumed: true}},
	{ID: "orch-2", Body: contract.Error{Category: "crash", Message: "It crashed.",
		RecoveryOptions: []string{"retry", "skip"}}},
	{ID: "orch-2", Body: contract.ToolUse{Tool: "WebFetch", ToolUse: "t6",
		Input: raw(`{"url":"https://example.org"}`)}},
	{ID: "arbiter", Body: contract.Cost{RunCostUSD: 1.5}},
	message("m7", "arbiter", "human", "complete", "Done."),
	{ID: "supervisor", Body: contract.Result{Status: "needs_input", Summary: "It is there.", CostUSD: 1.75}},
	{ID: "supervisor", Body: contract.Unknown{Name: "later", Raw: raw(`{}`)}},
}

// TestMapping compares what each event becomes with the golden files and the schema: for a client of version 1, and
// for one with all later features.
func TestMapping(t *testing.T) {
	for name, can := range map[string]features{
		"plain": {}, "subagents": {subagents: true, notices: true, compaction: true},
	} {
		t.Run(name, func(t *testing.T) {
			checker := testkit.Must(acptest.NewChecker(can.subagents))(t)
			m := newMapper("run", can)
			var got bytes.Buffer
			for _, e := range story {
				got.WriteString("# " + e.ID + " " + e.Body.EventName() + "\n")
				for _, f := range m.add(e) {
					line := testkit.Must(json.Marshal(map[string]any{"jsonrpc": "2.0", "method": methodUpdate, "params": f}))(t)
					testkit.Works(t, "Check", checker.Check(true, line))
					short, _ := json.Marshal(f)
					got.Write(append(short, '\n'))
				}
			}
			path := filepath.Join("testdata", name+".txt")
			if *freeze {
				testkit.OK(t, os.WriteFile(path, got.Bytes(), 0o644))
			}
			testkit.Same(t, "go test -freeze writes it anew", string(testkit.Must(os.ReadFile(path))(t)), got.String())
		})
	}
}

// TestOfUnstable: a client that has not announced subagents, notices and compaction receives none of them.
func TestOfUnstable(t *testing.T) {
	m := newMapper("run", features{})
	for _, e := range story {
		for _, f := range m.add(e) {
			update, _ := f.Update.(object)
			switch update["sessionUpdate"] {
			case "subagent_update", "session_message", noticed, "compaction_update":
				t.Errorf("%s: %+v", e.Body.EventName(), f)
			}
			testkit.Same(t, fmt.Sprintf("%s is sent to", e.Body.EventName()), "run", f.SessionID)
		}
	}
}

// TestARehearsalHasNoCost: an editor would show a simulated cost as a real one.
func TestARehearsalHasNoCost(t *testing.T) {
	for _, rehearsal := range []bool{false, true} {
		m := newMapper("run", features{})
		var last object
		for _, b := range []contract.Body{contract.Session{Session: "run", CWD: "/w", Rehearsal: rehearsal},
			contract.Spawn{Name: "The Arbiter"}, contract.Turn{CostUSD: 0.5}, contract.Context{Tokens: 10, Window: 100}} {
			for _, f := range m.add(contract.Event{ID: contract.Arbiter, Body: b}) {
				if u, ok := f.Update.(object); ok && u["sessionUpdate"] == "usage_update" {
					last = u
				}
			}
		}
		testkit.Check(t, last != nil && (last["cost"] == nil) == rehearsal,
			"rehearsal %v: the client is shown %+v", rehearsal, last)
	}
}

// TestDecisionsHaveACost: a client is shown what a decider has cost as soon as its decision is known.
func TestDecisionsHaveACost(t *testing.T) {
	m := newMapper("run", features{})
	for _, e := range []contract.Event{{ID: contract.Arbiter, Body: contract.Turn{CostUSD: 0.5}},
		{ID: contract.Arbiter, Body: contract.Decision{CostUSD: 0.25}},
		{ID: contract.Supervisor, Body: contract.Cost{CostUSD: 0.125, RunCostUSD: 0.25}}} {
		m.add(e)
	}
	testkit.Same(t, "the cost of the run", 0.875, m.spent)
}

// TestCallsEndWithTheirTurn: a call that an interrupted turn leaves without a result does not run any more; that of
// another agent does, until its process has ended.
func TestCallsEndWithTheirTurn(t *testing.T) {
	m, states := newMapper("run", features{}), map[string]string{}
	use := func(id string) contract.ToolUse {
		return contract.ToolUse{Tool: "Bash", ToolUse: id, Input: json.RawMessage(`{}`)}
	}
	take := func(e contract.Event) {
		for _, f := range m.add(e) {
			if call, ok := f.Update.(toolCall); ok {
				states[call.ToolCallID] = call.Status
			}
		}
	}
	for _, e := range []contract.Event{{ID: "orch-1", Body: use("t1")}, {ID: "orch-2", Body: contract.Spawn{}},
		{ID: "orch-2", Body: contract.Delivered{}}, {ID: "orch-2", Body: use("t2")},
		{ID: "orch-1", Body: contract.Turn{Outcome: "interrupted"}}} {
		take(e)
	}
	testkit.Same(t, "calls", map[string]string{"t1": failed, "t2": inProgress, "orch-2": inProgress}, states)
	take(contract.Event{Body: contract.Session{Resumed: true}})
	testkit.Same(t, "after a resume", map[string]string{"t1": failed, "t2": failed, "orch-2": completed}, states)
	testkit.Check(t, !m.works(), "an agent of the process before works")
	take(contract.Event{ID: "orch-2", Body: contract.Spawn{Resumed: true}})
	testkit.Same(t, "after its spawn, orch-2", inProgress, states["orch-2"])
}

// TestAQuestionThatIsOpenedAgain: an open question of a resumed run is shown once, and one that was settled is shown
// when it is asked again, as a text of its own.
func TestAQuestionThatIsOpenedAgain(t *testing.T) {
	m := newMapper("run", features{})
	ask, shown := contract.Question{Question: "recovery-arbiter", Text: "Retry, or cancel?"}, map[any]bool{}
	for _, b := range []contract.Body{ask, contract.Session{Resumed: true}, ask,
		contract.Settled{Item: "recovery-arbiter"}, ask} {
		for _, f := range m.add(contract.Event{ID: contract.Supervisor, Body: b}) {
			shown[f.Update.(object)["messageId"]] = true
		}
	}
	testkit.Same(t, "texts", 2, len(shown))
}

// TestNamesWithHosts: the name of an agent on another host includes the host.
func TestNamesWithHosts(t *testing.T) {
	m := newMapper("run", features{})
	m.add(contract.Event{ID: "orch-2", Body: contract.Spawn{Name: "Orchestrator II", Host: "box"}})
	testkit.Same(t, "it is called", "Orchestrator II @box", m.name("orch-2"))
}

// TestASessionThatIsLoadedAgain: its end still ends the process that the editor began for it.
func TestASessionThatIsLoadedAgain(t *testing.T) {
	s := &server{ctx: t.Context(), sessions: map[string]*session{}}
	s.open("run", "/w").own = true
	testkit.Check(t, s.open("run", "/w").own, "it is not ours any more")
}

// TestPromptText: advertised content is accepted; anything else is refused with advice.
func TestPromptText(t *testing.T) {
	code, none := "x := 1", ""
	text := func(s string) contentBlock { return contentBlock{Type: "text", Text: s} }
	link := func(uri string) contentBlock { return contentBlock{Type: "resource_link", URI: uri} }
	file := func(text *string) contentBlock {
		b := contentBlock{Type: "resource"}
		block := testkit.Must(json.Marshal(object{"resource": object{"uri": "file:///a.go", "text": text}}))(t)
		testkit.OK(t, json.Unmarshal(block, &b))
		return b
	}
	for name, c := range map[string]struct {
		blocks     []contentBlock
		want, fail string
	}{
		"text":            {blocks: []contentBlock{text(" Do it ")}, want: "Do it"},
		"parts":           {blocks: []contentBlock{text("Do "), text("it")}, want: "Do it"},
		"a file":          {blocks: []contentBlock{link("file:///a%20b.go")}, want: "/a b.go"},
		"lines of a file": {blocks: []contentBlock{link("file:///a.go#L3")}, want: "/a.go#L3"},
		"a page":          {blocks: []contentBlock{link("https://a.org/")}, want: "https://a.org/"},
		"text of a file": {blocks: []contentBlock{text("See"), file(&code)},
			want: "See\n\n/a.go:\n```\nx := 1\n```"},
		"an empty file": {blocks: []contentBlock{file(&none)}, want: "/a.go:\n```\n\n```"},
		"bytes":         {blocks: []contentBlock{file(nil)}, fail: "is not text"},
		"an image":      {blocks: []contentBlock{{Type: "image"}}, fail: `content of type "image"`},
		"nothing":       {fail: "the prompt is empty"},
		"too much":      {blocks: []contentBlock{text(strings.Repeat("a", maxPrompt+1))}, fail: "put it into a file"},
	} {
		got, err := promptText(c.blocks)
		testkit.Check(t, got == c.want && (err == nil) == (c.fail == "") &&
			(err == nil || strings.Contains(err.Error(), c.fail)), "%s: %.80q, %v", name, got, err)
	}
}

// TestAnswers: a prompt continues stopped work, chooses an offered option, or else is a message.
func TestAnswers(t *testing.T) {
	status := func(r runstore.LiveReport) runstore.LiveStatus { return runstore.LiveStatus{LiveReport: r} }
	inbox := func(i ...supervisor.InboxItem) runstore.LiveStatus { return status(runstore.LiveReport{Inbox: i}) }
	question := supervisor.InboxItem{ID: "question-1", Kind: "question"}
	parked := supervisor.InboxItem{Kind: "recovery", Choices: []string{"retry", "cancel"}}
	failed := supervisor.InboxItem{Kind: "recovery", Choices: []string{"retry", "skip"}, Optional: true}
	choose := func(option string) []contract.CommandBody {
		return []contract.CommandBody{contract.Choose{Option: option}}
	}
	note, steer := contract.Say{Text: "go"}, contract.Say{Text: "go", Strength: contract.Steer}
	for name, c := range map[string]struct {
		st   runstore.LiveStatus
		text string
		want []contract.CommandBody
	}{
		"at work":    {runstore.LiveStatus{}, "go", []contract.CommandBody{steer}},
		"a question": {inbox(question), "go", []contract.CommandBody{note}},
		"paused":     {status(runstore.LiveReport{Paused: true}), "go", []contract.CommandBody{note, contract.Continue{}}},
		"halted": {status(runstore.LiveReport{Paused: true, Halted: true}), "go",
			[]contract.CommandBody{contract.Continue{}, note}},
		"a choice": {inbox(parked), "Cancel.", choose("cancel")},
		"a message to one that is parked": {inbox(parked), "go",
			[]contract.CommandBody{contract.Choose{Option: "retry"}, note}},
		"an agent that failed":     {inbox(failed), "go", []contract.CommandBody{steer}},
		"what becomes of its work": {inbox(failed), "skip", choose("skip")},
		"an answer that sounds like it": {inbox(failed, question), "skip",
			[]contract.CommandBody{contract.Say{Text: "skip"}}},
	} {
		testkit.Same(t, name, c.want, answers(c.st, c.text))
	}
}

// TestLines: a line that is not a message, or is too long, is refused, and the next one is read.
func TestLines(t *testing.T) {
	in := "\n  \r\nnonsense\n[1]\n{\"method\":\"a\"}\n{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"session/prompt\"," +
		"\"params\":{\"id\":8," + strings.Repeat("x", acpMaxLine) + "}}\n{\"method\":\"b\"}\n" +
		strings.Repeat("x", acpMaxLine+1)
	var out bytes.Buffer
	s := newStream(io.MultiReader(strings.NewReader(in)), &out)
	var v struct{ Method string }
	err := s.ReadObject(&v)
	testkit.Need(t, err == nil && v.Method == "a", "%v, %v", v, err)
	got := out.String()
	testkit.Check(t, strings.Count(got, "\n") == 2 && strings.Contains(got, `"id":null`) &&
		strings.Contains(got, "-32700") && strings.Contains(got, "-32600"), "refused: %s", got)
	out.Reset()
	err = s.ReadObject(&v)
	testkit.Need(t, err == nil && v.Method == "b", "%v, %v", v, err)
	testkit.Includes(t, "the long prompt", out.String(), `"id":"7"`, "16 MiB")
	out.Reset()
	testkit.Same(t, "at the end", io.EOF, s.ReadObject(&v), cmpopts.EquateErrors())
	testkit.Includes(t, "the long line without an end", out.String(), `"id":null`, "16 MiB")
}

// TestModes: allow-all can be chosen only if the risk was accepted, or if the run is in that mode already.
func TestModes(t *testing.T) {
	careful, reckless := ACPConfig{}, ACPConfig{AcceptRisk: true}
	testkit.Check(t, !careful.canChoose(allowAll, "ask") && careful.canChoose(allowAll, allowAll) &&
		reckless.canChoose(allowAll, "ask"), "allow-all")
	testkit.Check(t, !careful.canChoose("plan", "ask") && len(careful.choices("value", "ask")) == 3,
		"%+v", careful.options("ask"))
}
