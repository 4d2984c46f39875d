package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// modelHome is a home, a workspace and a scripted model that can be used by several arbiters.
type modelHome struct {
	*testHome
	model  *rehearsal.Server
	claude string
	args   []string // arguments of a run's first process
}

// build makes a dwelling for a play. more has further flags for its run.
func build(t *testing.T, who player, play string, more ...string) *modelHome {
	t.Helper()
	onlyLinux(t)
	sc := testkit.Must(rehearsal.Parse("play.yaml", []byte(play)))(t)
	model := serve(t, play)
	h := newTestHome(t, who)
	h.knows(model)
	h.env = append(append(h.env, asksOf(model)...), "CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_SANDBOXED=1", "NO_PROXY=127.0.0.1")
	claude := who.program(t)
	args := []string{"--trust", "--claude", claude, "--model", "claude-sonnet-4-5", "--task", "Weave"}
	for _, rule := range sc.Allow {
		args = append(args, "--allow", rule)
	}
	return &modelHome{h, model, claude, append(args, more...)}
}

// script begins a run with this test at its stdin and stdout.
func (h *modelHome) script(more ...string) *script {
	h.t.Helper()
	s := prepare(h.t, h.env, slices.Concat([]string{"--json"}, h.args, more)...)
	s.cmd.Env, s.cmd.Dir = h.env, h.work
	s.launch()
	return s
}

// touch creates an empty file in the workspace.
func (h *modelHome) touch(name string) {
	h.t.Helper()
	testkit.OK(h.t, os.WriteFile(filepath.Join(h.work, name), nil, 0o600))
}

// sound checks invariants of a run over all its processes: each process printed at most one result, and the
// last one did; the journal holds the printed events and replays them byte for byte; each permission request
// was answered, or repeated by the next process; no released agent was started again; and no history
// contains a message twice.
func (h *modelHome) sound(processRuns ...*script) {
	h.t.Helper()
	last := processRuns[len(processRuns)-1]
	out, _ := last.output(0, "replay", last.run())
	replayed := testkit.Must(contractLinesOf(out))(h.t)
	of := processRunsOf(replayed)
	if len(of) != len(processRuns) {
		h.t.Fatalf("the journal has %d process runs, there were %d", len(of), len(processRuns))
	}
	gone := map[string]string{}
	for n, run := range processRuns {
		printed := run.lines
		if len(printed) > len(of[n]) {
			h.t.Fatalf("process run %d printed %d lines, and the journal has %d", n+1, len(printed), len(of[n]))
		}
		for i := range printed {
			a, _ := json.Marshal(printed[i])
			b, _ := json.Marshal(of[n][i])
			if string(a) != string(b) {
				h.t.Fatalf("process run %d, line %d was\n%s\nand is replayed as\n%s", n+1, i+1, a, b)
			}
		}
		results, open := 0, map[string]string{}
		for i, l := range of[n] {
			switch b := l.Body.(type) {
			case contract.Result:
				if results++; i != len(of[n])-1 {
					h.t.Errorf("process run %d goes on after its result", n+1)
				}
			case contract.PermissionRequest:
				open[b.Request] = b.Tool
			case contract.Permission:
				delete(open, b.Request)
			case contract.Done:
				if b.Reason != "" && !passes(b.Reason) {
					gone[l.ID] = b.Reason
				}
			case contract.Spawn:
				testkit.Same(h.t, l.ID+" is started again and was let go", "", gone[l.ID])
			}
		}
		if n == len(processRuns)-1 && results != 1 {
			h.t.Errorf("%d results of the last life", results)
		}
		if n < len(processRuns)-1 {
			if results > 0 { // agents of an ended process come back
				clear(gone)
			}
			again := map[string]bool{}
			for _, l := range of[n+1] {
				if b, ok := l.Body.(contract.PermissionRequest); ok {
					again[b.Request] = true
				}
			}
			for request, tool := range open {
				if !again[request] {
					h.t.Errorf("the request %s for %s was open when life %d ended, and is not asked again", request,
						tool, n+1)
				}
			}
			continue
		}
		testkit.Empty(h.t, "open at the end", open)
	}
	histories(h.t, h.model, rehearsal.RoleArbiter, rehearsal.RoleOrchestrator)
	for _, p := range h.model.Problems() {
		if !strings.Contains(p, "no actor fits") { // an agent whose bridge was just killed lacks our tools
			h.t.Errorf("the play left its script: %s", p)
		}
	}
}

// passes reports whether another process of the agent may follow an end with this reason.
func passes(reason string) bool {
	return slices.Contains([]string{"crash", "takeover", "halted", "renewed", "hung", "resource", "invalid_resume",
		"trust"}, reason)
}

// processRunsOf splits the lines of a run by process.
func processRunsOf(lines []contract.Line) [][]contract.Line {
	var processRuns [][]contract.Line
	for _, l := range lines {
		if _, ok := l.Body.(contract.Session); ok {
			processRuns = append(processRuns, nil)
		}
		processRuns[len(processRuns)-1] = append(processRuns[len(processRuns)-1], l)
	}
	return processRuns
}

// histories returns the last request of each session of one of the roles. It checks that no envelope is twice in one.
func histories(t *testing.T, model *rehearsal.Server, roles ...rehearsal.Role) map[string]rehearsal.Request {
	t.Helper()
	latest := map[string]rehearsal.Request{}
	for _, r := range model.Requests() {
		if r.Agent == "" && slices.Contains(roles, r.Role) {
			latest[r.Session] = r
		}
	}
	for session, r := range latest {
		count := map[string]int{}
		for _, m := range envelopeID.FindAllStringSubmatch(string(r.Messages), -1) {
			if count[m[1]]++; count[m[1]] == 2 {
				t.Errorf("message %s is twice in the history of session %s (%s)", m[1], session, r.Actor)
			}
		}
	}
	return latest
}

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
