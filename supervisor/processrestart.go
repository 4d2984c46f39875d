package supervisor

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/renewal"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/task"
)

// restartProcess starts another process for an agent: the next incarnation, on the session
// of the last one, or on a new session if that one is lost.
func (st *step) restartProcess(id string) {
	a := st.Edit(id)
	if a == nil || a.Status != roster.Down || st.Ending != nil || st.Halted {
		return
	}
	if !st.Lifecycle.MayStart(a.Host) {
		st.wantHost(a.Host) // it starts with the others
		return
	}
	a.Generation++
	a.Status, a.Since, a.CurrentTool, a.EndReason = roster.Starting, st.at, "", ""
	a.Watch, a.Backoff, a.NotifyingLevel, a.Interrupting = roster.Watch{}, nil, "", false
	if a.NewSession {
		a.SessionID = st.mail().SessionID(a.ID, a.Generation)
		st.emptied(a)
		a = st.Edit(id)
	}
	c := st.Configuration().Config(a)
	c.Resume = !a.NewSession
	st.emit(id, contract.Spawn{
		Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
		SuccessorOf: a.Predecessor, Resumed: !a.NewSession, Host: a.Host,
	})
	p := bridge.SpawnParams{AgentRef: a.AgentRef, Config: c}
	if !a.NewSession {
		p.Pending = a.Turn
	}
	st.do(effect.Spawn{Params: p, Place: st.Dirs().Place(id)})
}

// emptied begins the account of a context that is new.
func (st *step) emptied(a *roster.Agent) {
	a.Context, a.CompactionBlocked, a.HandoffDemands = bridge.Context{}, false, 0
	a.WarnedLevel, a.NotifiedLevel, a.NotifyingLevel = "", "", ""
	if a.Role == roster.RoleArbiter {
		st.callOffRenewal()
		st.Renewal.Stage = renewal.None
		st.Rulings.Readings = nil // another session has read nothing
	}
}

// recallChars bounds the account of a lost session for the one that follows it.
const recallChars = 60_000

// recall tells an agent whose history is lost what the supervisor knows of it.
func (st *step) recall(id string) {
	a := st.Edit(id)
	a.HasHistory = false
	var b strings.Builder
	b.WriteString("Your session's history is lost, and you begin anew. This is the supervisor's record of what " +
		"went before.\n")
	if a.Role == roster.RoleArbiter {
		fmt.Fprintf(&b, "\n## The task\n\n%s\n\n## The plan\n\n%s\n\n## Who lives\n\n%s\n",
			cmp.Or(st.Task.Text, nothingText), task.PlanText(st.Task.Plan), st.LivingText())
		if a.Document != nil {
			fmt.Fprintf(&b, "\n## What the Arbiter before you left, whose place you took\n\n%s",
				handoff.DocumentText(a.Document, a.Receipts, a.GeneratedWhy))
		}
		b.WriteString("\n## The ledger of decisions\n\n" + st.Rulings.LedgerText())
	} else {
		fmt.Fprintf(&b, "\n## Your brief\n\n%s\n\n## The plan\n\n%s\n", cmp.Or(a.Brief, nothingText),
			task.PlanText(st.Task.Plan))
	}
	b.WriteString("\n## What was said to and by you, as far as it is kept\n")
	b.WriteString(st.Conversation.Recollect(id, max(recallChars-b.Len(), conversation.QuotedTalk), st.DisplayName))
	b.WriteString("\nFiles in the workspace are as you left them: look before you build on anything. If no message " +
		"follows this one, say where you stand.")
	st.mail().Tell(id, conversation.KindRetry, b.String())
}

// restartAll starts those whose process is gone: the Arbiter at once, the others one
// after the other.
func (st *step) restartAll() { st.restartWhere(func(*roster.Agent) bool { return true }) }

// restartWhere does so with some of them.
func (st *step) restartWhere(want func(*roster.Agent) bool) {
	after := time.Duration(0)
	for i := range st.Agents {
		a := st.Agents[i]
		switch {
		case a.Status != roster.Down || !want(a):
		case a.Role == roster.RoleArbiter:
			st.restartProcess(a.ID)
		default:
			after += startGap
			st.do(effect.SetTimer{Key: restartKey(a.AgentRef), After: after})
		}
	}
}

// startGap spreads the starts of Orchestrators when several come back at once.
const startGap = 250 * time.Millisecond
