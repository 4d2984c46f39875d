package rehearsal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

// hierarchy is the smallest supervisor that can run a built-in scenario: it starts real CLIs, gives them
// arbiter's tools, and routes verdicts.
type hierarchy struct {
	t       *testing.T
	srv     *rehearsal.Server
	cwd     string
	home    string
	agents  map[string]*claude
	docs    map[string]frame // hand-off documents by author
	inbox   map[string][]string
	order   []string // agents with mail, oldest first
	calls   []string // calls of arbiter's own tools, "orch-1 report_progress"
	human   []string // what the human was asked
	summary string
	maxLive int // most agents that worked at once
}

const (
	arbiterVerdict = `{"type":"object","additionalProperties":false,"required":["decision","message","reason"],"properties":{
"decision":{"type":"string","enum":["ADDRESS_HUMAN","ADDRESS_ORCHESTRATOR","SELECT_MODE","CONTINUE","RETRY","COMPLETE","HANDOFF"]},
"message":{"type":"string"},"reason":{"type":"string"},"to":{"type":"string"},"mode":{"type":"string"},"summary":{"type":"string"}}}`
	orchestratorVerdict = `{"type":"object","additionalProperties":false,"required":["expects_response","message","kind"],"properties":{
"expects_response":{"type":"boolean"},"message":{"type":"string"},
"kind":{"type":"string","enum":["introduction","question","progress","handoff","done"]},
"handoff":{"type":"object","additionalProperties":false,"properties":{
"accomplished":{"type":"array","items":{"type":"string"}},"remaining":{"type":"array","items":{"type":"string"}},"key_context":{"type":"string"},
"decisions":{"type":"array","items":{"type":"object","required":["choice","rejected","why"]}},"constraints":{"type":"array","items":{"type":"string"}},
"files":{"type":"array","items":{"type":"string"}},"checks":{"type":"array","items":{"type":"object","required":["command","expect"]}},
"open_questions":{"type":"array","items":{"type":"string"}},"claims":{"type":"array","items":{"type":"object","required":["claim","verified"]}}}}}}`
)

func newHierarchy(t *testing.T, sc *rehearsal.Scenario, o rehearsal.Options) *hierarchy {
	t.Helper()
	h := &hierarchy{t: t, srv: serve(t, sc, o), cwd: t.TempDir(), home: t.TempDir(),
		agents: map[string]*claude{}, docs: map[string]frame{}, inbox: map[string][]string{}}
	noted := func(who, tool string) func(frame) string {
		return func(frame) string { h.calls = append(h.calls, who+" "+tool); return "Noted. Go on." }
	}
	h.agents["arbiter"] = startClaude(t, h.srv, claudeOptions{
		home: h.home, cwd: h.cwd, schema: arbiterVerdict,
		args: []string{"--system-prompt", "You are the Arbiter.", "--tools", "Read,Grep,Glob", "--allowedTools",
			"mcp__arbiter"},
		tools: map[string]func(frame) string{
			"spawn_orchestrator":   func(in frame) string { return h.spawn(in, sc.Allow(), noted) },
			"release_orchestrator": noted("arbiter", "release_orchestrator"),
			"set_plan":             noted("arbiter", "set_plan"),
			"status":               noted("arbiter", "status"),
		},
	})
	return h
}

func (h *hierarchy) spawn(in frame, allow []string, noted func(string, string) func(frame) string) string {
	id := fmt.Sprintf("orch-%d", len(h.agents))
	h.calls = append(h.calls, "arbiter spawn_orchestrator")
	brief := in.str("prompt")
	if doc, ok := h.docs[in.str("successor_of")]; ok {
		b := testkit.Must(json.Marshal(doc))(h.t)
		brief += "\n\n## The hand-off document\n" + string(b)
	}
	h.agents[id] = startClaude(h.t, h.srv, claudeOptions{
		home: h.home, cwd: h.cwd, schema: orchestratorVerdict,
		args: append([]string{"--append-system-prompt", "You are " + id, "--allowedTools", "mcp__arbiter"}, allow...),
		tools: map[string]func(frame) string{
			"report_progress": noted(id, "report_progress"),
			"update_plan":     noted(id, "update_plan"),
			"ask_predecessor": noted(id, "ask_predecessor"),
		},
	})
	h.deliver("arbiter", "brief", id, brief)
	return fmt.Sprintf("{\"id\":%q,\"name\":\"Orchestrator\"}\nIt is summoned and begins by itself.", id)
}

// deliver puts a message into an envelope, with text around it that must not affect a scenario.
func (h *hierarchy) deliver(from, kind, to, text string) {
	if !slices.Contains(h.order, to) {
		h.order = append(h.order, to)
	}
	h.inbox[to] = append(h.inbox[to], fmt.Sprintf("⟦k7f2⟧ from %s · %s\n«work log»\n- nothing of note\n\n%s\n⟦/k7f2⟧",
		from, kind, text))
}

// run delivers messages until the Arbiter completes or no actor has more to say. All
// actors with messages work at once, one message a turn.
func (h *hierarchy) run(task string) {
	h.t.Helper()
	h.deliver("human", "task", "arbiter", task)
	for turns := 0; len(h.order) > 0 && h.summary == ""; turns++ {
		if turns > 60 {
			h.t.Fatal("the job does not end")
		}
		now := h.order
		h.order = nil
		for _, id := range now {
			h.agents[id].post(h.inbox[id][0])
			if h.inbox[id] = h.inbox[id][1:]; len(h.inbox[id]) > 0 {
				h.order = append(h.order, id)
			}
		}
		h.maxLive = max(h.maxLive, len(now))
		for _, id := range now {
			f := h.agents[id].until("result of "+id, func(f frame) bool { return f.kind() == "result" })
			v := f.sub("structured_output")
			if v == nil {
				h.t.Fatalf("%s ended a turn without a verdict: %v", id, f)
			}
			h.route(id, v)
		}
	}
}

func (h *hierarchy) route(id string, v frame) {
	h.t.Logf("%s: %s%s: %s", id, v.str("decision"), v.str("kind"), v.str("message"))
	if id != "arbiter" {
		if doc := v.sub("handoff"); doc != nil {
			h.docs[id] = doc
		}
		if v.yes("expects_response") {
			h.deliver(id, v.str("kind"), "arbiter", v.str("message"))
		} else {
			h.deliver("supervisor", "continue", id, "Continue.")
		}
		return
	}
	switch v.str("decision") {
	case "ADDRESS_HUMAN":
		h.human = append(h.human, v.str("message"))
		h.deliver("human", "answer", "arbiter", "Call it dawn, if you must.")
	case "ADDRESS_ORCHESTRATOR":
		h.deliver("arbiter", "answer", v.str("to"), v.str("message"))
	case "COMPLETE":
		h.summary = v.str("summary")
	}
}

func (h *hierarchy) file(name, want string) {
	h.t.Helper()
	got, err := os.ReadFile(filepath.Join(h.cwd, name))
	if err != nil || !strings.Contains(string(got), want) {
		h.t.Errorf("%s: %q, %v; want %q in it", name, got, err, want)
	}
}

func builtin(t *testing.T, name string) *rehearsal.Scenario {
	t.Helper()
	sc := testkit.Must(rehearsal.Builtin(name))(t)
	return sc
}

func TestLiveSmallJob(t *testing.T) {
	testkit.Long(t) // arbiter plays it, too
	t.Parallel()
	h := newHierarchy(t, builtin(t, "small-job"),
		rehearsal.Options{Vars: map[string]string{"task": "Foretell\nthe tide."}})
	h.run("Foretell the tide.")
	if !strings.Contains(h.summary, "verified") {
		t.Errorf("summary %q", h.summary)
	}
	h.file("prophecy.md", "The task was: Foretell the tide.")
	h.file("omens.txt", "a red moon")
	if len(h.agents) != 3 || h.docs["orch-1"] == nil || h.docs["orch-2"] == nil {
		t.Errorf("%d agents, documents %v", len(h.agents), h.docs)
	}
	for _, want := range []string{"arbiter set_plan", "orch-1 report_progress", "orch-1 update_plan",
		"orch-2 update_plan"} {
		if !slices.Contains(h.calls, want) {
			t.Errorf("no call %q in %v", want, h.calls)
		}
	}
	if got := h.agents["orch-1"].control("get_context_usage",
		frame{"detail": "summary"}).num("totalTokens"); got < 240000 || got > 250000 {
		t.Errorf("context of orch-1 %v, want a little over 240000", got)
	}
	subagents := 0
	for _, r := range h.srv.Requests() {
		if r.Role == rehearsal.RoleSubagent && r.Actor == "counter" {
			subagents++
		}
	}
	if subagents != 2 {
		t.Errorf("%d requests of the subagent, want 2", subagents)
	}
	noProblems(t, h.srv)
}

func TestLiveDialogue(t *testing.T) {
	testkit.Long(t) // arbiter plays it, too
	t.Parallel()
	h := newHierarchy(t, builtin(t, "dialogue"), rehearsal.Options{})
	h.run("Make a file.")
	if len(h.human) != 1 || !strings.Contains(h.summary, "dawn.txt") {
		t.Errorf("asked %v, summary %q", h.human, h.summary)
	}
	h.file("dawn.txt", "it was answered")
	noProblems(t, h.srv)
}

func TestLiveParallel(t *testing.T) {
	testkit.Long(t) // arbiter plays it, too
	t.Parallel()
	h := newHierarchy(t, builtin(t, "parallel"), rehearsal.Options{})
	h.run("Two things at once.")
	if h.maxLive != 2 || h.summary == "" {
		t.Errorf("%d worked at once, summary %q", h.maxLive, h.summary)
	}
	h.file("east.txt", "east")
	h.file("west.txt", "west")
	noProblems(t, h.srv)
}
