package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// DisplayName is the name of a party in prose.
func (r *Roster) DisplayName(id string) string {
	switch id {
	case contract.Arbiter:
		return "the Arbiter"
	case contract.Human:
		return "the human"
	case contract.Supervisor:
		return "the supervisor"
	}
	if a, ok := r.Agent(id); ok {
		return a.Name
	}
	return id
}

// AnyTakenOver reports whether a human has an agent's session.
func (r *Roster) AnyTakenOver() bool { return r.TakenOver() != "" }

// TakenOver lists the agents whose sessions a human has.
func (r *Roster) TakenOver() string {
	var names []string
	for _, a := range r.Agents {
		if a.Takeover != nil {
			names = append(names, a.ID)
		}
	}
	return strings.Join(names, ", ")
}

// WaitingAgents lists the Orchestrators that wait for a message.
func (r *Roster) WaitingAgents() []string {
	var ids []string
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator && a.Alive() && a.Standing == AgentWaiting {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// SpentWith adds the cost of the running turns to a sum.
func (r *Roster) SpentWith(usd float64) float64 {
	for _, a := range r.Agents {
		usd += a.Live.CostUSD
	}
	return usd
}

// AnyReturning reports whether an Orchestrator will be restarted that works or waits.
func (r *Roster) AnyReturning() bool {
	for _, a := range r.Agents {
		if a.Role == RoleOrchestrator && !a.Dismissed &&
			(a.Standing == AgentWorking || a.Standing == AgentWaiting) {
			return true
		}
	}
	return false
}

// SharingText warns an Orchestrator of the others in the same working tree.
func (r *Roster) SharingText(self string) string {
	var others []string
	for _, a := range r.Agents {
		shares := a.ID != self && a.Role == RoleOrchestrator && a.Isolation == ""
		if shares && a.Alive() && a.Standing != HandedOff {
			others = append(others, a.Name+" ("+a.ID+")")
		}
	}
	if len(others) == 0 {
		return ""
	}
	return contract.BriefCompany + "\n\nIn the same working tree: " + strings.Join(others, ", ") +
		". Keep to the files of your brief, expect changes you did not make, and never undo them."
}

// ForSuccessor lists the Orchestrators for an Arbiter that does not know them.
func (r *Roster) ForSuccessor() string {
	var b strings.Builder
	list, others := r.Shown()
	b.WriteString(OthersText(others))
	for _, a := range list {
		where := string(a.Standing)
		if !a.Alive() {
			where += ", gone"
		}
		fmt.Fprintf(&b, "- %s, %s: %s", a.ID, a.Name, where)
		if a.Mode != "" {
			fmt.Fprintf(&b, ", as %s", a.Mode)
		}
		if a.Predecessor != "" {
			fmt.Fprintf(&b, ", successor of %s", a.Predecessor)
		}
		if a.Alive() {
			fmt.Fprintf(&b, ". Its brief: %s", strings.ReplaceAll(words.Head(a.Brief, 1500), "\n", "\n  "))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "(none was summoned)"
	}
	return b.String()
}

// Unfinished reports whether an Orchestrator, in the state before its end, leaves work that it has not reported
// on.
func (a *Agent) Unfinished() bool {
	return a.Role == RoleOrchestrator && a.HasHistory &&
		(a.Standing == AgentWorking || a.Standing == AgentWaiting)
}

// SpawnedBefore finds the Orchestrator that the same call of the Arbiter spawned before the Arbiter's process
// ended. The turn continues in another process, and the call is repeated.
func (r *Roster) SpawnedBefore(prompt, mode string) (Agent, bool) {
	for i := range r.Agents {
		a := r.Agents[i]
		if a.SpawnedIn != "" && slices.Contains(r.Agents[0].InterruptedTurn, a.SpawnedIn) && a.Brief == prompt &&
			a.Mode == mode && a.Alive() {
			r.Edit(a.ID).SpawnedIn = "" // a further call means another Orchestrator
			return *r.Agents[i], true
		}
	}
	return Agent{}, false
}
