package supervisor

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

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
