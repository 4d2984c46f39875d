package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// runStory is the story of a run in its canonical form: the actions of each party, and the messages between each
// two parties, in order. Simultaneous actions of different parties have no order, and ids, times, numbers and
// paths are left out: two runs of one play have the same tale, with every frontend.
type runStory map[string][]string

// subagents is added to an agent's id in a story, and stands for the agent's subagents.
const subagents = "'s subagents"

// storyOf reduces the lines of a run, of all its processes, to its tale.
func storyOf(lines []contract.Line) runStory {
	t := runStory{}
	work := "\x00"
	asked := map[string]string{} // descriptions of requests, by id
	by := map[string]string{}    // the agents that made them
	add := func(who, format string, args ...any) {
		t[who] = append(t[who], lasting(strings.ReplaceAll(fmt.Sprintf(format, args...), work, "WORK")))
	}
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Session:
			work = b.CWD
		case contract.Message:
			add(b.From+" to "+b.To, "%s: %s", b.Kind, b.Text)
		case contract.Decision:
			add(strings.TrimSpace("decisions about "+b.To), "%s %s by %s", b.Decision, b.Mode, b.Source)
		case contract.Handoff:
			add(b.From, "hands to %s: %s, proofs %q, drawn up: %t", b.To, accomplished(b), b.Proofs, b.GeneratedBecause != "")
		case contract.PermissionRequest:
			asked[b.Request] = fmt.Sprintf("%s %s", b.Tool, commandOf(b.Input))
			by[b.Request] = l.ID
			if b.Subagent != "" { // several may work at the same time
				by[b.Request] += subagents
			}
			add(by[b.Request], "asks for %s", asked[b.Request])
		case contract.Permission:
			if what, open := asked[b.Request]; open { // other answers depend on what the CLI considers harmless
				add(by[b.Request], "%s of %s by %s", b.Behavior, what, b.By)
				delete(asked, b.Request)
			}
		case contract.Spawn:
			add(l.ID, "spawned, generation %d, successor of %q, resumed: %t", b.Generation, b.SuccessorOf, b.Resumed)
		case contract.Done:
			add(l.ID, "ends: %s", b.Reason)
		case contract.Takeover:
			add(l.ID, "takeover %s: %s, %d words", b.State, b.Reason, b.Words)
		case contract.Question:
			add(contract.Arbiter, "asks the human: %s", b.Text)
		case contract.Halted:
			add(contract.Human, "halts everything")
		case contract.Error:
			add(l.ID, "error %s", b.Category)
		case contract.Result:
			add(contract.Supervisor, "result %s: %s", b.Status, b.Summary)
		}
	}
	// Decisions without a subject, and the supervisor's own messages, follow actions of independent parties and
	// so have no fixed order.
	for who, list := range t {
		if who == "decisions about" || strings.HasSuffix(who, subagents) ||
			strings.HasPrefix(who, contract.Supervisor+" to ") {
			slices.Sort(list)
		}
	}
	return t
}

func accomplished(h contract.Handoff) string {
	if h.Document == nil {
		return "nothing"
	}
	return strings.Join(h.Document.Accomplished, ", ")
}

// commandOf returns the part of a tool's input that identifies the call.
func commandOf(input json.RawMessage) string {
	var in struct{ Command, FilePath string }
	if json.Unmarshal(input, &in) != nil || in.Command+in.FilePath == "" {
		return string(input)
	}
	return in.Command + in.FilePath
}

// fleeting matches the parts that differ between two runs of one play.
var fleeting = []struct {
	found *regexp.Regexp
	put   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`), "ID"},
	{regexp.MustCompile(`\bm-[0-9a-z-]+|⟦[^⟧\n]*⟧`), "MARK"},
	{regexp.MustCompile(`\d\d:\d\d(:\d\d)?( UTC)?`), "TIME"},
	{regexp.MustCompile(`\d+(\.\d+)? ?(ms|s|m|h|seconds?|minutes?)\b`), "SPAN"},
	{regexp.MustCompile(`\d+(\.\d+)?%|\d{4,}`), "FIGURE"},
	{regexp.MustCompile(`control socket|the screen|the socket`), "CHANNEL"},
}

// lasting replaces the fleeting parts of a text.
func lasting(text string) string {
	for _, p := range fleeting {
		text = p.found.ReplaceAllString(text, p.put)
	}
	return text
}

// lines returns the lines of a story, for comparison.
func (t runStory) lines() []string {
	var list []string
	for _, who := range slices.Sorted(maps.Keys(t)) {
		for _, what := range t[who] {
			list = append(list, who+": "+what)
		}
	}
	return list
}

// TestStoryOrder: independent events have no order, dependent ones do; fleeting parts are left out, and nothing else
// is.
func TestStoryOrder(t *testing.T) {
	const west = "00000000-0000-4000-8000-000000000001"
	line := func(id string, b contract.Body) contract.Line {
		return contract.Line{Event: contract.Event{ID: id, Body: b}}
	}
	message := func(from, to, text string) contract.Line {
		return line(from, contract.Message{MessageID: "m-1", From: from, To: to, Kind: "question", Text: text})
	}
	spawn := func(id string, n int) contract.Line { return line(id, contract.Spawn{Generation: n, SessionID: west}) }
	ask := func(request string) contract.Line {
		return line("orch-1",
			contract.PermissionRequest{Request: request, Tool: "Bash", Input: json.RawMessage(`{"command":"true"}`)})
	}
	answer := func(request, behavior, by string) contract.Line {
		return line("orch-1", contract.Permission{Request: request, Tool: "Bash", Behavior: behavior, By: by})
	}
	base := []contract.Line{
		line("supervisor", contract.Session{CWD: "/tmp/a"}), spawn("orch-1", 1), spawn("orch-2", 1),
		message("orch-1", "arbiter", "in /tmp/a at 10:11:12?"), message("orch-2", "arbiter", "left?"), ask("p1"),
		answer("p1", "allow", "human"),
		line("arbiter", contract.Decision{Decision: "CONTINUE", Source: "session", Number: 3}),
		line("orch-1", contract.Done{Reason: "released"}),
		line("supervisor", contract.Result{Status: "complete", Summary: "done", CostUSD: 1}),
	}
	change := func(at int, with ...contract.Line) []contract.Line {
		return slices.Replace(slices.Clone(base), at, at+len(with), with...)
	}
	for name, other := range map[string][]contract.Line{
		"place and time": append([]contract.Line{line("supervisor", contract.Session{CWD: "/tmp/b"})},
			change(3, message("orch-1", "arbiter", "in /tmp/b at 11:11:12?"))[1:]...),
		"spawned in between": change(1, spawn("orch-2", 1), spawn("orch-1", 1)),
		"said in between":    change(3, base[4], base[3]),
		"other names":        change(5, ask("p9"), answer("p9", "allow", "human")),
		"figures": change(9,
			line("supervisor", contract.Result{Status: "complete", Summary: "done", CostUSD: 2})),
		"what only narrates": append(slices.Clone(base), line("orch-1", contract.Assistant{Text: "hm"}),
			line("orch-1", contract.Context{Tokens: 4})),
		"decided and numbers": change(7,
			line("arbiter", contract.Decision{Decision: "CONTINUE", Source: "session", Number: 4})),
	} {
		if diff := cmp.Diff(storyOf(base).lines(), storyOf(other).lines()); diff != "" {
			t.Errorf("%s makes another tale:\n%s", name, diff)
		}
	}
	for name, other := range map[string][]contract.Line{
		"other words":        change(3, message("orch-1", "arbiter", "no")),
		"another reader":     change(3, message("orch-1", "human", "in /tmp/a at 10:11:12?")),
		"another generation": change(1, spawn("orch-1", 2)),
		"not allowed":        change(6, answer("p1", "deny", "human")),
		"by somebody else":   change(6, answer("p1", "allow", "rule")),
		"never answered":     change(6, base[4]),
		"ended before":       change(1, base[8]),
		"another ruling":     change(7, line("arbiter", contract.Decision{Decision: "COMPLETE", Source: "session"})),
		"by the rules":       change(7, line("arbiter", contract.Decision{Decision: "CONTINUE", Source: "fallback"})),
		"another end":        change(9, line("supervisor", contract.Result{Status: "failed", Summary: "done"})),
		"two ends":           append(slices.Clone(base), base[9]),
		"an order of words":  append([]contract.Line{message("orch-1", "arbiter", "first")}, base...),
	} {
		if cmp.Equal(storyOf(base).lines(), storyOf(other).lines()) {
			t.Errorf("%s makes no other tale", name)
		}
	}
}
