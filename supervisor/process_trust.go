package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// nobodyLooks is the reason why a run continues without the workspace's settings when no human is present.
const nobodyLooks = "no human is present to look at it"

// Distrusted keeps an agent down whose workspace has changed since it was trusted, until the human has checked
// it. Without a human, the run continues without the workspace's settings.
func (c *ProcessContext) Distrusted(id string, f input.NotSpawned, humanPresent bool) {
	a := c.Roster.Edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall = AgentDown, c.Out.Now, "", nil
	a.Watch, a.Backoff = AgentWatch{}, nil
	c.FailTakeover(a, f.Message)
	a.NewSession = a.NewSession || a.Generation == 1 // there is no session yet
	c.Out.Emit(id, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatTrust)})
	asked := c.Lifecycle.TrustQuestion
	switch {
	case !c.trusts(a.Host) || f.Trust != "" && f.Trust == c.trusted(a.Host):
		c.Restart(id) // the decision came while it started
	case asked != nil && asked.Host == a.Host && asked.Hash == f.Trust:
	case asked != nil && asked.Host != a.Host && a.Host != LifecycleHere: // asked when the other one is answered
	case !humanPresent:
		c.Question.Recovery.Fail(c.Out, contract.Supervisor, bridge.CatTrust, f.Message, []string{})
		c.goWithout(a.Host, nobodyLooks)
	default:
		q := &TrustQuestion{Host: a.Host, Hash: f.Trust, At: c.Out.Now}
		c.Lifecycle.TrustQuestion = q
		c.Question.Recovery.Fail(c.Out, contract.Supervisor, bridge.CatTrust, f.Message, q.Choices())
	}
}

// trusts reports whether agents on a host start with the workspace's own settings.
func (c *ProcessContext) trusts(host string) bool {
	return c.Options.Trusted && !c.Lifecycle.Bridge(host).Untrusted
}

// trusted is the hash of what the human trusts on a host.
func (c *ProcessContext) trusted(host string) string {
	if host == LifecycleHere {
		return c.Options.TrustHash
	}
	return c.Lifecycle.Bridge(host).TrustHash
}

// ChooseTrust handles the human's choice about the workspace, except cancel. The question stays open even if
// other options were offered since.
func (c *ProcessContext) ChooseTrust(ref, option string) {
	q := c.Lifecycle.TrustQuestion
	switch option {
	case ChooseTrust:
		if q.Host == LifecycleHere {
			c.Out.Accept(ref, "the workspace is trusted as it is now")
			c.Options.TrustHash = q.Hash
		} else {
			c.Out.Accept(ref, "what agents on host "+q.Host+" bring along is trusted as it is now")
			c.Lifecycle.Trust(q.Host, q.Hash)
		}
		c.Out.Do(effect.PinTrust{Host: q.Host, Hash: q.Hash})
		c.trustDecided()
	case ChooseWithout:
		c.Out.Accept(ref, "the workspace's own settings are no longer loaded")
		c.goWithout(q.Host, "the human chose so")
	}
}

// NobodyTrusts decides open questions of trust when no human is present any more.
func (c *ProcessContext) NobodyTrusts() {
	if q := c.Lifecycle.TrustQuestion; q != nil {
		c.goWithout(q.Host, nobodyLooks)
	}
}

// goWithout continues without the workspace's own settings: on another host until this process of Arbiter ends;
// for [LifecycleHere], on all hosts for the rest of the run.
func (c *ProcessContext) goWithout(host, why string) {
	where := ""
	if host == LifecycleHere {
		c.Options.Trusted, c.Options.TrustHash = false, ""
	} else {
		c.Lifecycle.Distrust(host)
		where = " on host " + host
	}
	c.Out.Emit(contract.Supervisor, contract.Notice{Text: "the workspace's own settings, hooks, agents and MCP servers " +
		"are not loaded" + where + " from now on: " + why})
	c.trustDecided()
}

// trustDecided starts the agents that waited for the decision.
func (c *ProcessContext) trustDecided() {
	if slices.Contains(c.Question.Recovery.Options, ChooseWithout) {
		c.Question.Recovery = QuestionRecovery{}
	}
	c.Lifecycle.TrustQuestion = nil
	c.RestartAll()
}

// ReportDistrust reports that a process run of Arbiter begins without the workspace's own settings, although they
// were trusted before.
func ReportDistrust(out *effect.Collector, text string) {
	if text == "" {
		return
	}
	out.Emit(contract.Supervisor, contract.Error{Category: bridge.CatTrust, Message: text, RecoveryOptions: []string{}})
	out.Emit(contract.Supervisor, contract.Notice{Text: "the run continues without the workspace's own settings"})
}
