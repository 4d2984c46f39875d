package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// works ends a turn in which an agent's tools ran, with a document about files.
func (p *play) works(id string, files []string, check string) {
	p.t.Helper()
	v := proven("done", check)
	d := v["handoff"].(verdict.Document)
	d.Files = files
	v["handoff"] = d
	raw := testkit.Must(json.Marshal(v))(p.t)
	p.turn(id, bridge.Turn{Verdict: raw, Tools: 1})
}

// recorded answers the requested snapshot: it shows paths.
func (p *play) recorded(paths ...string) {
	p.t.Helper()
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Paths: paths})
}

// TestWhatAgentsPlantedIsSaid: the last snapshot finds what git would run, and a notice says so before the result.
func TestWhatAgentsPlantedIsSaid(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	p.do(input.Stopped{})
	request := lastEffect[input.ChangeRecord](p)
	if !request.Final {
		t.Fatalf("the last snapshot was not requested: %+v", request)
	}
	p.do(input.SnapshotTaken{Serial: request.Serial, Commit: "c", Planted: "git would run evil"})
	if n := last[contract.Notice](p); n.Text != "git would run evil" {
		t.Errorf("the last notice is %q", n.Text)
	}
	last[contract.Result](p)
}

// TestABrokenCheckNamesWhoChangedItsFiles: the message to the Arbiter, the event and the result name the agent that
// changed the files of a broken check last, and no agent if the last one is unknown.
func TestABrokenCheckNamesWhoChangedItsFiles(t *testing.T) {
	for name, c := range map[string]struct {
		document []string // the files that the document names
		changed  []string // by orch-2
		both     bool     // the tools of both ran
		want     string
	}{
		"another agent": {[]string{"parser.go"}, []string{"sub/parser.go"}, false,
			"orch-2 was the last to change its files (sub/parser.go)"},
		"by an absolute path": {[]string{"/repo/sub/parser.go"}, []string{"sub/parser.go"}, false, "orch-2"},
		"in a directory": {[]string{"../sub"}, []string{"sub/deep/x.go", "sub/parser.go"}, false,
			"(sub/deep/x.go, sub/parser.go)"},
		"its author": {[]string{"parser.go"}, []string{"other.go"}, false,
			"orch-1 was the last to change its files (sub/parser.go)"},
		"no files are named": {nil, []string{"sub/parser.go"}, false,
			"orch-2 was the last to change its files (sub/parser.go)"},
		"it may have been both": {[]string{"parser.go"}, []string{"sub/parser.go"}, true, ""},
		"nobody":                {[]string{"never.go"}, []string{"sub/parser.go"}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
			one, two := p.spawn("parser"), p.spawn("printer")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.works(one, c.document, "make parser")
			p.pass()
			p.recorded("sub/parser.go")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			if c.both {
				p.s.Changes.Acts(input.ChangeCall{Agent: one, Call: "bash"})
			}
			p.works(two, nil, "make printer")
			p.pass()
			p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
			if again := last[contract.Check](p); again.Again {
				t.Fatal("checks are repeated before it is recorded what the last turn changed")
			}
			p.recorded(c.changed...)
			p.repeat(map[string]bool{"make parser": true})
			heard := p.lastSent("arbiter")
			if !strings.Contains(heard, c.want) || c.want == "" && strings.Contains(heard, "was the last") {
				t.Errorf("the Arbiter is given %q", heard)
			}
			var event contract.Check
			for _, e := range told[contract.Check](p) {
				if e.Again && e.Receipt.Result == verdict.CheckFailed {
					event = e
				}
			}
			who, _, _ := strings.Cut(c.want, " ")
			if len(event.Agents) > 1 || strings.Join(event.Agents, "") != who && !strings.HasPrefix(who, "(") {
				t.Errorf("the event names %v", event.Agents)
			}
			p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "The parser is not wanted any more."))
			p.repeat(map[string]bool{"make parser": true})
			if !c.both {
				p.folds()
			}
			p.do(input.Stopped{})
			p.recorded()
			if r := last[contract.Result](p); len(r.Failing) != 1 || !strings.Contains(r.Failing[0], c.want) {
				t.Errorf("the result says %q", r.Failing)
			}
		})
	}
}

// TestABrokenCheckNamesWhoseWorkWasMerged: in an isolated run, the agent whose work was merged last is named.
func TestABrokenCheckNamesWhoseWorkWasMerged(t *testing.T) {
	p := begin(t, isolated)
	one, two := "orch-1", "orch-2" // whose work is merged first
	for _, id := range []string{one, two} {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"parser"}`)
		p.do(input.Spawned{Agent: p.agent(id).AgentRef, Result: bridge.SpawnResult{Window: 200_000},
			Own: runconfig.Worktree{Branch: "b", Base: "b", Isolation: "worktree"}})
	}
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	for i, id := range []string{two, one} {
		p.works(id, []string{"parser.go"}, "make "+id)
		p.pass()
		p.mergesTo(input.IsolationMerged{Status: input.StatusMerged, Head: "h", Files: []string{"sub/parser.go"}})
		p.pass()
		p.verdict("arbiter", ruling([]string{"CONTINUE", "COMPLETE"}[i], "Go on.", "summary", "s"))
	}
	p.recorded("sub/parser.go")
	p.recorded("sub/parser.go")
	p.repeat(map[string]bool{"make orch-2": true})
	p.contains("what the Arbiter receives", p.lastSent("arbiter"), "orch-2: `make orch-2`",
		"orch-1 was the last to change its files (sub/parser.go)")
	p.folds()
}

// TestAnOldTreeIsNotJudged: a snapshot that an earlier COMPLETE requested does not make the next one be judged
// before its checks were repeated.
func TestAnOldTreeIsNotJudged(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.Accept, o.Workspace = []string{"make test"}, runconfig.Workspace{Root: "/w", Base: "base"}
	})
	one := p.spawn("parser")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.complete()
	p.repeat(nil)
	old := lastEffect[input.ChangeRecord](p)
	fast := contract.AcceptanceCriterion{Text: "It is fast.", Command: "make fast"}
	p.command(contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{fast}})
	p.complete()
	p.do(input.SnapshotTaken{Serial: old.Serial, Commit: "c", Tree: "old"})
	if c, open := p.checking(); !open || !c.Again || len(p.s.Handoff.Documents) != 1 {
		t.Fatalf("%q is run, %d documents are under way", c.Params.Command, len(p.s.Handoff.Documents))
	}
	p.repeat(nil)
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "c", Tree: "new"})
	if run := p.criteria(nil); len(run) != 1 || run[0] != "make fast" {
		t.Errorf("judged by %q", run)
	}
	if p.s.Ending == nil {
		t.Error("the run goes on")
	}
	p.folds()
}

// TestARewrittenEditChangesAnotherFile: a hook of the user lets an edit write another file than its call names. That
// file is its agent's, although another agent's command ran meanwhile, and the named one is not.
func TestARewrittenEditChangesAnotherFile(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	one, two := p.spawn("parser"), p.spawn("printer")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	file := func(name string) json.RawMessage {
		return json.RawMessage(`{"file_path":"` + p.s.Options.Workspace.Root + "/" + name + `"}`)
	}
	p.happen(two, bridge.ToolUse{Tool: "Bash", ToolUse: "b", Input: []byte(`{"command":"make"}`)})
	p.happen(one, bridge.ToolUse{Tool: "Write", ToolUse: "w", Input: file("named.go")})
	p.happen(one, bridge.ToolRan{Tool: "Write", ToolUse: "w", Input: file("written.go")})
	p.happen(one, bridge.ToolResult{ToolUse: "w"})
	raw := testkit.Must(json.Marshal(report("progress", "half", false)))(t)
	p.turn(one, bridge.Turn{Verdict: raw, Tools: 1})
	p.recorded("named.go", "written.go")
	for name, want := range map[string]bool{"written.go": true, "named.go": false} {
		if _, known := p.s.Changes.ChangedBy(name, one); known != want {
			t.Errorf("%s is known to be of %s: %v", name, one, known)
		}
	}
	p.folds()
}

// TestCommandsChangeFilesToo: the input of a decision names the files that a snapshot shows after a turn, once each,
// and not those that another agent may have changed.
func TestCommandsChangeFilesToo(t *testing.T) {
	for _, both := range []bool{false, true} {
		p := begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
		one, two := p.spawn("parser"), p.spawn("printer")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		root := p.s.Options.Workspace.Root
		if both {
			p.happen(two, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: []byte(`{"command":"make"}`)})
		}
		raw := testkit.Must(json.Marshal(report("progress", "half", false)))(t)
		p.turn(one, bridge.Turn{Verdict: raw, Tools: 2, Files: []string{root + "/a.go"}})
		p.recorded("a.go", "gen/b.go")
		want := []string{root + "/a.go"}
		if !both {
			want = append(want, root+"/gen/b.go")
		}
		if diff := cmp.Diff(want, p.agent(one).Work.Files); diff != "" {
			t.Errorf("another works %v (-want +got):\n%s", both, diff)
		}
		p.folds()
	}
}
