package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

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
	testkit.Need(t, request.Final, "the last snapshot was not requested: %+v", request)
	p.do(input.SnapshotTaken{Serial: request.Serial, Commit: "c", Planted: "git would run evil"})
	testkit.Same(t, "the last notice", "git would run evil", last[contract.Notice](p).Text)
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
			testkit.Need(t, !last[contract.Check](p).Again,
				"checks are repeated before it is recorded what the last turn changed")
			p.recorded(c.changed...)
			p.repeat(map[string]bool{"make parser": true})
			heard := p.lastSent("arbiter")
			testkit.Check(t, strings.Contains(heard, c.want) &&
				(c.want != "" || !strings.Contains(heard, "was the last")), "the Arbiter is given %q", heard)
			var event contract.Check
			for _, e := range told[contract.Check](p) {
				if e.Again && e.Receipt.Result == verdict.CheckFailed {
					event = e
				}
			}
			who, _, _ := strings.Cut(c.want, " ")
			testkit.Check(t, len(event.Agents) <= 1 && (strings.Join(event.Agents, "") == who || strings.HasPrefix(who, "(")),
				"the event names %v", event.Agents)
			p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "The parser is not wanted any more."))
			p.repeat(map[string]bool{"make parser": true})
			p.do(input.Stopped{})
			p.recorded()
			r := last[contract.Result](p)
			testkit.Check(t, len(r.Failing) == 1 && strings.Contains(r.Failing[0], c.want), "the result says %q", r.Failing)
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
		p.mergesTo(input.Merged{Status: input.StatusMerged, Head: "h", Files: []string{"sub/parser.go"}})
		p.pass()
		p.verdict("arbiter", ruling([]string{"CONTINUE", "COMPLETE"}[i], "Go on.", "summary", "s"))
	}
	p.recorded("sub/parser.go")
	p.recorded("sub/parser.go")
	p.repeat(map[string]bool{"make orch-2": true})
	p.contains("what the Arbiter receives", p.lastSent("arbiter"), "orch-2: `make orch-2`",
		"orch-1 was the last to change its files (sub/parser.go)")
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
	run := p.criteria(nil)
	testkit.Check(t, len(run) == 1 && run[0] == "make fast", "judged by %q", run)
	testkit.Check(t, p.s.Ending != nil, "the run goes on")
}

// TestARewrittenEditChangesAnotherFile: a hook of the user lets an edit write another file than its call names. That
// file is its agent's, although another agent's command ran meanwhile, and the named one is not.
func TestARewrittenEditChangesAnotherFile(t *testing.T) {
	p, one, two := twoWork(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	file := func(name string) json.RawMessage {
		return json.RawMessage(`{"file_path":"` + p.s.Options.Workspace.Root + "/" + name + `"}`)
	}
	p.happen(two, bridge.ToolUse{Tool: "Bash", ToolUse: "b", Input: []byte(`{"command":"make"}`)})
	p.happen(one, bridge.ToolUse{Tool: "Write", ToolUse: "w", Input: file("named.go")})
	p.happen(one, bridge.ToolRan{Tool: "Write", ToolUse: "w", Input: file("written.go")})
	p.happen(one, bridge.ToolResult{ToolUse: "w"})
	p.turn(one, verdictTurn(report("progress", "half", false), bridge.Turn{Tools: 1}))
	p.recorded("named.go", "written.go")
	for name, want := range map[string]bool{"written.go": true, "named.go": false} {
		_, known := p.s.Changes.ChangedBy(name, one)
		testkit.Check(t, known == want, "%s is known to be of %s: %v", name, one, known)
	}
}

// TestCommandsChangeFilesToo: the input of a decision names the files that a snapshot shows after a turn, once each,
// and not those that another agent may have changed.
func TestCommandsChangeFilesToo(t *testing.T) {
	for _, both := range []bool{false, true} {
		p, one, two := twoWork(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
		root := p.s.Options.Workspace.Root
		if both {
			p.happen(two, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: []byte(`{"command":"make"}`)})
		}
		p.turn(one, verdictTurn(report("progress", "half", false), bridge.Turn{Tools: 2, Files: []string{root + "/a.go"}}))
		p.recorded("a.go", "gen/b.go")
		want := []string{root + "/a.go"}
		if !both {
			want = append(want, root+"/gen/b.go")
		}
		testkit.Same(t, fmt.Sprintf("another works %v", both), want, p.agent(one).Work.Files)
	}
}

// TestTellOverlaps: working agents are notified of files that others changed, too, and the Arbiter reads it
// later.
func TestTellOverlaps(t *testing.T) {
	st := readyRun(runconfig.Options{Workspace: runconfig.Workspace{Base: "abc"}})
	addOrchestrator(st)
	addOrchestrator(st)
	st.reportOverlaps([]contract.Overlap{{Path: "a.go", Agents: []string{"orch-1", "orch-2"}}})
	mail, log := st.Conversation.Mail, st.Conversation.WorkLog
	testkit.Check(t, len(mail) == 2 && len(log) == 1 && strings.Contains(log[0].Text, "a.go (orch-1, orch-2)"),
		"mail %+v, log %+v", mail, log)
}

func inGit(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" }

// answered returns the answers to a command with this reference.
func (p *play) answered(ref string) (accepted, rejected string) {
	for _, e := range effects[input.Emit](p) {
		switch b := e.Event.Body.(type) {
		case contract.Accepted:
			if b.Ref == ref {
				accepted = b.Message
			}
		case contract.Rejected:
			if b.Ref == ref {
				rejected = b.Message
			}
		}
	}
	return accepted, rejected
}

func (p *play) revert(ref string, r contract.Revert) {
	p.t.Helper()
	p.do(input.Command{Channel: input.ChannelScreen, Command: contract.Command{Ref: ref, Body: r}})
}

// TestAgentsLearnOfARevert: the command is answered when the file is reverted. A working agent gets a message
// about it, a waiting one reads it with its next message, and the Arbiter in its work log. The next snapshot
// attributes the file to no agent.
func TestAgentsLearnOfARevert(t *testing.T) {
	p := begin(t, inGit)
	one, two := p.spawn("parser"), p.spawn("printer")
	p.verdict(two, report("question", "Which font?", true))
	p.revert("r1", contract.Revert{Path: "a.go"})
	yes, no := p.answered("r1")
	testkit.Need(t, yes+no == "", "answered at once: %q, %q", yes, no)
	p.do(input.Reverted{Serial: lastEffect[input.Revert](p).Serial})
	yes, _ = p.answered("r1")
	testkit.Check(t, yes == "reverted a.go", "the answer is %q", yes)
	told := func(id string) bool {
		for _, m := range p.s.Conversation.Mail {
			if m.To == id && strings.Contains(m.Text, "The human reverted a.go") {
				return true
			}
		}
		return false
	}
	testkit.Check(t, told(one) && !told(two) && !told(contract.Arbiter), "told by a message: %t, %t, %t", told(one),
		told(two), told(contract.Arbiter))
	testkit.Includes(t, fmt.Sprintf("%s receives with its next message", two), p.agent(two).ReturnNotice,
		"The human reverted a.go")
	testkit.Same(t, "entries in the work log", 1, len(p.s.Conversation.WorkLog))
	testkit.Check(t, p.s.Changes.RevertsDone == 1 && len(p.s.Changes.Reverts) == 0, "%+v", p.s.Changes.Undoing)
	p.works(one, nil, "true")
	p.recorded("a.go")
	f, ok := p.s.Changes.File("a.go")
	testkit.Check(t, !ok || len(f.Authors) == 0, "a.go is counted as changed by %v %v", f.Known(), f.Maybe())
}

// TestRevertRefused: a revert that is not possible is refused with the reason, and no agent is informed.
func TestRevertRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*runconfig.Options)
		revert contract.Revert
		want   string
	}{
		"no Git":                   {nil, contract.Revert{Path: "a"}, "works without Git"},
		"directories of their own": {isolated, contract.Revert{Path: "a"}, "directories of their own"},
		"a hunk of nothing":        {inGit, contract.Revert{Path: "a", Hunk: "-1 +1"}, "needs `seen`"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, c.change)
			p.revert("r", c.revert)
			_, no := p.answered("r")
			testkit.Check(t, strings.Contains(no, c.want), "rejected with %q", no)
		})
	}
	p := begin(t, inGit)
	p.spawn("parser")
	p.revert("r", contract.Revert{Path: "a.go", Seen: "0f", Hunk: "-1 +1"})
	p.do(input.Reverted{Serial: lastEffect[input.Revert](p).Serial, Refused: "it was modified since"})
	_, no := p.answered("r")
	testkit.Check(t, no == "a.go was not reverted: it was modified since", "rejected with %q", no)
	testkit.Check(t, len(p.s.Conversation.WorkLog) == 0 && p.s.Changes.RevertsDone <= 0, "it counts as done")
}

// TestRevertAfterACrash: a revert that was requested and not done is requested again, and answered once.
func TestRevertAfterACrash(t *testing.T) {
	p := begin(t, inGit)
	p.revert("r", contract.Revert{Path: "a.go"})
	p.do(input.Resumed{Options: p.s.Options, Claude: bridge.ClaudeInfo{Version: "2.1.329"}})
	all := effects[input.Revert](p)
	testkit.Need(t, len(all) == 2 && all[0] == all[1], "asked for %+v", all)
	p.do(input.Reverted{Serial: all[0].Serial})
	n := len(p.out)
	p.do(input.Reverted{Serial: all[0].Serial})
	yes, _ := p.answered("r")
	testkit.Check(t, yes != "" && len(p.out) == n, "answered %q, then %v", yes, p.out[n:])
}

// isolated is the workspace of a run whose Orchestrators have worktrees; it works below the top of the repository.
func isolated(o *runconfig.Options) {
	o.CWD = "/repo/sub"
	o.Workspace = runconfig.Workspace{
		Root: "/repo", Base: "base", Prefix: "sub", Own: "/own", Isolation: runconfig.IsolationWorktree,
	}
}

// mergesTo answers the running merge.
func (p *play) mergesTo(m input.Merged) {
	p.t.Helper()
	m.Serial = lastEffect[input.IsolationMerge](p).Serial
	p.do(m)
}

// TestIsolatedWork: an Orchestrator starts in its own directory, its checks run there, its work is merged, and
// the checks run once more on the merged files before the Arbiter is notified.
func TestIsolatedWork(t *testing.T) {
	p := begin(t, isolated)
	spawn := lastEffect[input.Spawn](p)
	testkit.Check(t, spawn.Place == (runconfig.Place{Agent: "arbiter", Generation: 1}) &&
		spawn.Params.Config.CWD == "/own/arbiter/sub", "the Arbiter starts in %s, %+v", spawn.Params.Config.CWD,
		spawn.Place)
	one := p.spawn("parser")
	spawn = lastEffect[input.Spawn](p)
	want := runconfig.Place{Agent: one, Generation: 1, Kind: "worktree"}
	testkit.Same(t, "spawn.Place", want, spawn.Place)
	testkit.Same(t, "starts", "/own/orch-1/sub", spawn.Params.Config.CWD)
	p.contains("its prompt", spawn.Params.Config.AppendSystemPrompt, "/own/orch-1/sub",
		"The workspace is a Git worktree of your own")
	testkit.Same(t, "the directory is reported before it exists", 0, len(told[contract.Workspace](p)))
	own := runconfig.Worktree{Branch: "arbiter/6f1c2a52/orch-1.1", Base: "b", Isolation: "worktree"}
	two := p.call("arbiter", "spawn_orchestrator", `{"prompt":"printer"}`)
	p.do(input.Spawned{Agent: p.agent("orch-2").AgentRef, Result: bridge.SpawnResult{Window: 200_000}, Own: own})
	testkit.Check(t, !two.IsError && last[contract.Workspace](p).Dir == "/own/orch-2/sub" &&
		p.agent("orch-2").Own == own, "told %+v of %+v", last[contract.Workspace](p), p.agent("orch-2").Own)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, proven("done", "make parser"))
	if c, _ := p.checking(); c.Params.CWD != "/own/orch-1/sub" || c.Again {
		t.Errorf("the first check runs in %s", c.Params.CWD)
	}
	p.pass()
	m := lastEffect[input.IsolationMerge](p)
	testkit.Need(t, m.Agent == one && len(effects[input.IsolationMerge](p)) == 1, "asked for %+v", m)
	before := len(p.out)
	p.mergesTo(input.Merged{Status: input.StatusMerged, Head: "h", Files: []string{"parser.go"}})
	renewed := slices.ContainsFunc(p.out[before:], func(e input.Effect) bool {
		timer, ok := e.(input.SetTimer)
		return ok && timer.Key == fmt.Sprint(HandoffTimerPrefix, p.s.Handoff.Documents[0].Serial) && timer.After > 0
	})
	testkit.Check(t, renewed, "the checks of the merged files share the time of the first ones")
	c, open := p.checking()
	testkit.Need(t, open && c.Params.CWD == "/own/arbiter/sub", "on the merged files: %v, in %s", open, c.Params.CWD)
	p.do(input.Checked{Serial: c.Serial, Number: 1, Request: c.Request,
		Result: bridge.CheckResult{Exit: 1, Output: "broken"}})
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is merged", "0 passed, 1 failed")
	merges := told[contract.Merge](p)
	testkit.Check(t, len(merges) == 1 && merges[0].Status == "merged", "told %+v", merges)
}

// TestConflictGoesBackToItsAuthor: the author works again; if that does not help, the Arbiter is notified.
func TestConflictGoesBackToItsAuthor(t *testing.T) {
	p, one := oneWorks(t, isolated)
	for attempt := range input.MaxConflicts + 1 {
		p.verdict(one, proven("done", "make parser"))
		p.pass()
		p.mergesTo(input.Merged{Status: input.StatusConflict, Head: "c0ffee", Files: []string{"go.mod"}})
		if attempt == input.MaxConflicts {
			break
		}
		p.contains("what its author reads", p.lastSent(one), "git merge c0ffee", "- go.mod")
		if a := p.agent(one); a.Standing != AgentWorking || a.Status != AgentBusy {
			t.Fatalf("after attempt %d it is %s, %s", attempt, a.Standing, a.Status)
		}
		testkit.Need(t, !strings.Contains(p.lastSent("arbiter"), "go.mod"), "the Arbiter heard of attempt %d", attempt)
	}
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is NOT merged", "go.mod")
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Merge it by hand.", "to", one))
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.mergesTo(input.Merged{Status: input.StatusMerged, Head: "h"})
	p.pass()
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is merged")
}

// TestADocumentAfterAConflict: the work goes back to its author, which has handed off meanwhile; the Arbiter reads of
// that at once.
func TestADocumentAfterAConflict(t *testing.T) {
	p, one := oneWorks(t, isolated)
	p.verdict(one, report("done", "it is built", true))
	p.say("Stop here.", contract.Note, one)
	p.verdict(one, report("handoff", "the rest is open", true))
	p.mergesTo(input.Merged{Status: input.StatusConflict, Head: "c0ffee", Files: []string{"go.mod"}})
	testkit.Same(t, "documents under way", 0, len(p.s.Handoff.Documents))
}

// TestMergeOverACrash: another process requests the merge again; the result of the old request is not accepted.
func TestMergeOverACrash(t *testing.T) {
	p, one := oneWorks(t, isolated)
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	first := lastEffect[input.IsolationMerge](p)
	p.do(input.Resumed{Options: p.s.Options})
	again := lastEffect[input.IsolationMerge](p)
	testkit.Need(t, again.Serial != first.Serial && again.Agent == one, "asked again for %+v after %+v", again, first)
	p.do(input.Merged{Serial: first.Serial, Status: input.StatusMerged, Head: "old"})
	testkit.Same(t, "the answer of another process run was taken", 0, len(told[contract.Merge](p)))
	p.mergesTo(input.Merged{Status: input.StatusMerged, Head: "h"})
	merges := told[contract.Merge](p)
	testkit.Check(t, len(merges) == 1 && merges[0].Head == "h", "told %+v", merges)
	// A merge that never ends does not prevent further work.
	p, one = oneWorks(t, isolated)
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.do(input.Timer{Key: fmt.Sprint(HandoffTimerPrefix, p.s.Handoff.Documents[0].Serial)})
	p.contains("what the Arbiter reads", p.lastSent("arbiter"), "The work is NOT merged: the merge is out of time")
}

// TestIsolatedRunIsJudgedOnItsBranch: checks are repeated and criteria run on the merged files, and the result
// counts what is on the run branch.
func TestIsolatedRunIsJudgedOnItsBranch(t *testing.T) {
	p, one := oneWorks(t, func(o *runconfig.Options) { isolated(o); o.Accept = []string{"make test"} })
	p.verdict(one, proven("done", "make parser"))
	p.pass()
	p.mergesTo(input.Merged{Status: input.StatusMerged, Head: "h"})
	p.pass()
	p.verdict("arbiter", ruling("COMPLETE", "It is done.", "summary", "s"))
	c, _ := p.checking()
	testkit.Check(t, c.Again && c.Params.CWD == "/own/arbiter/sub", "repeated in %s", c.Params.CWD)
	p.repeat(nil)
	r := lastEffect[input.ChangeRecord](p)
	testkit.Need(t, r.Branch && r.Tree, "judged on %+v", r)
	p.do(input.SnapshotTaken{Serial: lastEffect[input.ChangeRecord](p).Serial, Commit: "h", Tree: "tree"})
	c, _ = p.checking()
	testkit.Check(t, c.Criterion && c.Params.CWD == "/own/arbiter/sub", "the criterion is judged in %s", c.Params.CWD)
	p.criteria(nil)
	p.do(input.Stopped{})
	testkit.Like(t, "the last snapshot", input.ChangeRecord{Branch: true, Final: true},
		lastEffect[input.ChangeRecord](p))
}

// TestOneIsIsolated: the Arbiter may isolate one Orchestrator in a run that shares its directory. Its successor
// has its own directory, too, and agents that share the run's directory are not told that it works beside them.
func TestOneIsIsolated(t *testing.T) {
	p := begin(t, nil)
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"p","isolated":true}`)
	testkit.Check(t, a.IsError && strings.Contains(a.Text, "no Git repository"), "without Git: %+v", a)
	p = begin(t, func(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" })
	if spawn := lastEffect[input.Spawn](p); spawn.Place != (runconfig.Place{}) || spawn.Params.Config.CWD != "/repo/sub" {
		t.Errorf("the Arbiter is placed %+v", spawn.Place)
	}
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"p","isolated":true}`)
	p.spawned("orch-1")
	spawn := lastEffect[input.Spawn](p)
	testkit.Check(t, spawn.Place.Kind == "worktree" && spawn.Params.Config.CWD == "/own/orch-1/sub", "placed %+v in %s",
		spawn.Place, spawn.Params.Config.CWD)
	shares := p.spawn("q")
	spawn = lastEffect[input.Spawn](p)
	testkit.Check(t, spawn.Place == (runconfig.Place{}) && !strings.Contains(p.lastSent(shares), "You are not alone"),
		"placed %+v", spawn.Place)
	answer := p.call("arbiter", "spawn_orchestrator", `{"prompt":"r"}`)
	p.contains("the answer for one that shares", answer.Text, "with isolated an Orchestrator gets one of its own")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict("orch-1", report("handoff", "I am full.", true))
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"go on","successor_of":"orch-1"}`)
	heir := lastEffect[input.Spawn](p)
	want := (runconfig.Place{Agent: "orch-4", Generation: 1, Kind: "worktree", After: "orch-1"})
	testkit.Check(t, heir.Place == want, "its successor is placed %+v", heir.Place)
}

// TestIsolatedInASandbox: an agent has a clone, and may write there and not in the run's directory.
func TestIsolatedInASandbox(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		isolated(o)
		o.Sandbox = &bridge.SandboxConfig{Program: "/bwrap", Write: []string{"/cache"}, Hide: []string{"/state"}}
	})
	p.spawn("parser")
	spawn := lastEffect[input.Spawn](p)
	if spawn.Place.Kind != "clone" || !slices.Equal(spawn.Params.Config.Sandbox.Write, []string{"/cache", "/own/orch-1"}) {
		t.Errorf("placed %+v, writes %v", spawn.Place, spawn.Params.Config.Sandbox.Write)
	}
	testkit.Same(t, "", []string{"/cache"}, p.s.Options.Sandbox.Write)
}
