package supervisor

// This part of the package requests snapshots of a run's files, and notifies agents of changes by others.
//
// [FileChangeContext.TurnEnded] requests a snapshot after a turn that used tools. [FileChangeContext.ReportOverlaps]
// notifies agents of files that others changed, too. [FileChangeContext.Revert] and [FileChangeContext.Reverted] revert
// a change for a human.
//
// Package changes computes who changed which file. Package supervisor decides what waits for a snapshot.

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// FileChangeContext is what a step uses to track the files of a run. It is created for one use within a step, which
// owns everything that it points to.
type FileChangeContext struct {
	*DeliveryContext
	Changes *input.ChangeState
}

// TurnEnded requests a snapshot of the files after a turn that used tools. document is the serial of the last
// document before it.
func (c *FileChangeContext) TurnEnded(id string, t bridge.Turn, document int) {
	a, _ := c.Roster.Agent(id)
	if a.Role != RoleOrchestrator || a.Isolation != "" && a.Own.Branch == "" || t.Tools == 0 && len(t.Files) == 0 {
		return
	}
	keep := ""
	if c.Handoff.DocumentSerial > document {
		keep = fmt.Sprintf("handoff-%d", c.Handoff.DocumentSerial)
	}
	turn := input.ChangeTurn{Agent: id, Named: t.Files, Keep: keep}
	if a.Isolation != "" {
		turn.Top = c.Options.Workspace.Top(id)
	}
	var working []string
	for _, other := range c.Roster.Agents {
		if other.Role != RoleOrchestrator {
			continue
		}
		if other.Alive() {
			turn.Alive = append(turn.Alive, other.ID)
		}
		if other.ToolCall != nil && other.Isolation == "" {
			working = append(working, other.ID)
		}
	}
	c.Changes.TurnEnded(c.Out, c.Options.Workspace, turn, working)
}

// maxOverlapsReported bounds the files that one message names.
const maxOverlapsReported = 10

// ReportOverlaps notifies agents of files that others changed, too: one message per agent, for all files.
func (c *FileChangeContext) ReportOverlaps(overlaps []contract.Overlap) {
	if len(overlaps) == 0 {
		return
	}
	files := map[string][]string{}
	var all, agents []string
	for _, o := range overlaps {
		line := fmt.Sprintf("- %s (%s)", words.Head(o.Path, 300), strings.Join(o.Agents, ", "))
		all = append(all, line)
		for _, id := range o.Agents {
			if files[id] == nil {
				agents = append(agents, id)
			}
			files[id] = append(files[id], line)
		}
	}
	c.Log(contract.Supervisor, KindNotice, "Orchestrators changed the same files:\n"+listed(all))
	for _, id := range agents {
		a, _ := c.Roster.Agent(id)
		if a.Isolation != "" { // it sees only its own files; a merge reports exactly what conflicts
			continue
		}
		if a.Standing == AgentWorking && a.Status == AgentBusy {
			c.Notify(id, KindNotice, "You and another Orchestrator changed the same "+
				"files:\n"+listed(files[id])+
				"\nRead them again before you go on, keep the other's changes, and report to the Arbiter if they "+
				"contradict yours.")
		}
	}
}

// listed joins the first lines of a list.
func listed(lines []string) string {
	if n := len(lines) - maxOverlapsReported; n > 0 {
		lines = append(lines[:maxOverlapsReported:maxOverlapsReported], fmt.Sprintf("- and %d more", n))
	}
	return strings.Join(lines, "\n")
}

// Revert reverts a change of the run, at a human's request. The command is answered when that is done.
func (c *FileChangeContext) Revert(ref string, given contract.Revert) {
	w := c.Options.Workspace
	switch {
	case !w.Enabled():
		c.Out.Reject(ref, "this run works without Git, so nothing can be reverted")
	case w.Isolated():
		c.Out.Reject(ref, "the agents of this run work in directories of their own, so your files are as they were: "+
			"tell an agent to revert it, or do not land it")
	case given.Hunk != "" && given.Seen == "":
		c.Out.Reject(ref, "a hunk needs `seen`, the object of the contents that its lines are counted in")
	default:
		r := input.Revert{Ref: ref, Path: given.Path, Seen: given.Seen, Hunk: given.Hunk}
		if !c.Changes.AskRevert(c.Out, r) {
			c.Out.Reject(ref, "too many reverts are under way: wait until they are done")
		}
	}
}

// Reverted answers the command, and informs the agents of what was reverted.
func (c *FileChangeContext) Reverted(f input.Reverted) {
	r, ok := c.Changes.Reverted(input.ChangeReverted(f))
	if !ok {
		return
	}
	if f.Refused != "" {
		c.Out.Reject(r.Ref, "%s was not reverted: %s", words.Head(r.Path, 300), f.Refused)
		return
	}
	what := words.Head(r.Path, 300)
	if r.Hunk != "" {
		what = "a part of " + what + " (" + r.Hunk + ")"
	}
	c.Out.Accept(r.Ref, "reverted "+what)
	if c.Closed {
		return
	}
	notice := "The human reverted " + what + " to what it was when the run began."
	c.Log(contract.Supervisor, KindNotice, notice)
	notice += " Read the file again before you change it, and do not repeat the change unless you are told to."
	for i := range c.Roster.Agents {
		a := c.Roster.Agents[i]
		if a.Role != RoleOrchestrator || a.Isolation != "" || !a.Alive() {
			continue
		}
		if a.Standing == AgentWorking && a.Status == AgentBusy {
			c.Notify(a.ID, KindNotice, notice)
			continue
		}
		e := c.Roster.Edit(a.ID) // this is not a reason to begin a turn
		e.ReturnNotice = words.Head(strings.TrimPrefix(e.ReturnNotice+"\n"+notice, "\n"), maxReturnNotice)
	}
}

// maxReturnNotice bounds, in bytes, what an agent receives with its next message.
const maxReturnNotice = 16 << 10
