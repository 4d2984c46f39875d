package supervisor

// This part of the package requests snapshots of a run's files, and notifies agents of changes by others.

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// acts records that a call begins that may change files of the directory that agents share.
func (st *step) acts(a *Agent, b bridge.ToolUse) {
	if a.Role != RoleOrchestrator || a.Isolation != "" || !bridge.MayWrite(b.Tool) || // the Arbiter only reads
		!st.Options.Workspace.Enabled() { // no snapshot would ever close the call
		return
	}
	c := input.ChangeCall{Agent: a.ID, Call: b.ToolUse}
	switch file := bridge.FileOf(b.Input); {
	case bridge.IsEditor(b.Tool) && file != "":
		if c.Path = runconfig.Relative(st.Options.Workspace.Root, file); c.Path == "" { // elsewhere
			return
		}
	case bridge.StartsSubagent(b.Tool): // its calls are reported
		return
	default:
		var in struct {
			Background bool `json:"run_in_background"`
		}
		_ = json.Unmarshal(b.Input, &in) // another input has none
		c.Background = in.Background
	}
	st.Changes.Acts(c)
}

// snapshotAfterTurn requests a snapshot of the files after a turn that used tools. document is the serial of the last
// document before it. unseen: the turn's tool calls were not reported.
func (st *step) snapshotAfterTurn(id string, t bridge.Turn, document int, unseen bool) {
	a, _ := st.Agent(id)
	if a.Role != RoleOrchestrator || !hasSnapshots(&a) || t.Tools == 0 && len(t.Files) == 0 {
		return
	}
	keep := ""
	if st.Handoff.DocumentSerial > document {
		keep = fmt.Sprintf("handoff-%d", st.Handoff.DocumentSerial)
	}
	turn := input.ChangeTurn{Agent: id, Named: t.Files, Keep: keep}
	if a.Isolation != "" {
		turn.Top = st.Options.Workspace.Top(id)
	}
	var working []string
	for _, other := range st.Agents {
		if other.Role != RoleOrchestrator {
			continue
		}
		if other.Alive() && other.Standing != HandedOff {
			turn.Alive = append(turn.Alive, other.ID)
		}
		if other.Status == AgentBusy || other.Status == AgentReady {
			working = append(working, other.ID)
		}
	}
	st.Changes.TurnEnded(&st.out, st.Options.Workspace, turn, working, unseen)
}

// maxOverlapsReported bounds the files that one message names.
const maxOverlapsReported = 10

// reportOverlaps notifies agents of files that others changed, too: one message per agent, for all files.
func (st *step) reportOverlaps(overlaps []contract.Overlap) {
	if len(overlaps) == 0 {
		return
	}
	files := map[string][]string{}
	var all, agents []string
	for _, o := range overlaps {
		line := fmt.Sprintf("%s (%s)", words.Head(o.Path, 300), strings.Join(o.Agents, ", "))
		all = append(all, line)
		for _, id := range o.Agents {
			if files[id] == nil {
				agents = append(agents, id)
			}
			files[id] = append(files[id], line)
		}
	}
	st.logNotice("Orchestrators changed the same files:\n" + listed(all))
	for _, id := range agents {
		a, _ := st.Agent(id)
		if a.Isolation != "" { // it sees only its own files; a merge reports exactly what conflicts
			continue
		}
		if a.Standing == AgentWorking && a.Status == AgentBusy {
			st.notify(id, KindNotice, "You and another Orchestrator changed the same "+
				"files:\n"+listed(files[id])+
				"\nRead them again before you go on, keep the other's changes, and report to the Arbiter if they "+
				"contradict yours.")
		}
	}
}

// listed lists the first of some things.
func listed(things []string) string {
	return "- " + strings.Join(words.Few(things, maxOverlapsReported), "\n- ")
}

// revert reverts a change of the run, at a human's request. The command is answered when that is done.
func (st *step) revert(ref string, given contract.Revert) {
	w := st.Options.Workspace
	switch {
	case !w.Enabled():
		st.out.Reject(ref, "this run works without Git, so nothing can be reverted")
	case w.Isolated():
		st.out.Reject(ref, "the agents of this run work in directories of their own, so your files are as they were: "+
			"tell an agent to revert it, or do not land it")
	case given.Hunk != "" && given.Seen == "":
		st.out.Reject(ref, "a hunk needs `seen`, the object of the contents that its lines are counted in")
	default:
		r := input.Revert{Ref: ref, Path: given.Path, Seen: given.Seen, Hunk: given.Hunk}
		if !st.Changes.AskRevert(&st.out, r) {
			st.out.Reject(ref, "too many reverts are under way: wait until they are done")
		}
	}
}

// reverted answers the command, and informs the agents of what was reverted.
func (st *step) reverted(f input.Reverted) {
	r, ok := st.Changes.Reverted(f)
	if !ok {
		return
	}
	if f.Refused != "" {
		st.out.Reject(r.Ref, "%s was not reverted: %s", words.Head(r.Path, 300), f.Refused)
		return
	}
	what := words.Head(r.Path, 300)
	if r.Hunk != "" {
		what = "a part of " + what + " (" + r.Hunk + ")"
	}
	st.out.Accept(r.Ref, "reverted "+what)
	if st.Ending != nil {
		return
	}
	notice := "The human reverted " + what + " to what it was when the run began."
	st.logNotice(notice)
	notice += " Read the file again before you change it, and do not repeat the change unless you are told to."
	for i := range st.Agents {
		a := st.Agents[i]
		if a.Role != RoleOrchestrator || a.Isolation != "" || !a.Alive() {
			continue
		}
		if a.Standing == AgentWorking && a.Status == AgentBusy {
			st.notify(a.ID, KindNotice, notice)
			continue
		}
		e := st.Edit(a.ID) // this is not a reason to begin a turn
		e.ReturnNotice = words.Head(strings.TrimPrefix(e.ReturnNotice+"\n"+notice, "\n"), maxReturnNotice)
	}
}

// maxReturnNotice bounds, in bytes, what an agent receives with its next message.
const maxReturnNotice = 16 << 10
