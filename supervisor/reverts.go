package supervisor

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// revert takes a change of the run back, as a human asked. The command is answered when that is done.
func (st *step) revert(ref string, c contract.Revert) {
	w := st.Options.Workspace
	switch {
	case !w.Enabled():
		st.out.Reject(ref, "this run works without Git, so nothing can be reverted")
	case w.Isolated():
		st.out.Reject(ref, "the agents of this run work in directories of their own, so your files are as they were: "+
			"tell an agent to revert it, or do not land it")
	case c.Hunk != "" && c.Seen == "":
		st.out.Reject(ref, "a hunk needs `seen`, the object of the contents that its lines are counted in")
	default:
		r := changes.Revert{Ref: ref, Path: c.Path, Seen: c.Seen, Hunk: c.Hunk}
		if !st.Changes.AskRevert(&st.out, r) {
			st.out.Reject(ref, "too many reverts are under way: wait until they are done")
		}
	}
}

// reverted answers the command, and has the agents know what was taken back.
func (st *step) reverted(f input.Reverted) {
	r, ok := st.Changes.Reverted(changes.Reverted(f))
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
	st.mail().Log(contract.Supervisor, conversation.KindNotice, notice)
	notice += " Read the file again before you change it, and do not repeat the change unless you are told to."
	for i := range st.Agents {
		a := st.Agents[i]
		if a.Role != roster.RoleOrchestrator || a.Isolation != "" || !a.Alive() {
			continue
		}
		if a.Standing == roster.Working && a.Status == roster.Busy {
			st.mail().Tell(a.ID, conversation.KindNotice, notice)
			continue
		}
		e := st.Edit(a.ID) // it is no reason to begin a turn
		e.ReturnNotice = words.Head(strings.TrimPrefix(e.ReturnNotice+"\n"+notice, "\n"), maxReturnNotice)
	}
}

// maxReturnNotice bounds, in bytes, what an agent is told with its next message.
const maxReturnNotice = 16 << 10
