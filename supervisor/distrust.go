package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/question"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// trustRecorded tells what was not recorded; the run goes on with it all the same.
func (st *step) trustRecorded(f input.TrustRecorded) {
	if f.Failed != "" {
		st.emit(contract.Supervisor, contract.Notice{Text: "that the workspace is trusted counts for this run only: " +
			f.Failed})
	}
}

// distrusted keeps an agent down whose workspace is not as it was trusted, until the human
// has looked at it. Where nobody can, the run goes on without the workspace's settings.
func (st *step) distrusted(id string, f input.NotSpawned) {
	a := st.Edit(id)
	a.Status, a.Since, a.CurrentTool, a.ToolCall, a.Watch, a.Backoff = roster.Down, st.at, "", nil, roster.Watch{}, nil
	st.processes().FailTakeover(a, f.Message)
	a.NewSession = a.NewSession || a.Generation == 1 // there is no session yet
	st.emit(id, contract.Done{SessionID: a.SessionID, Reason: string(bridge.CatTrust)})
	asked := st.Lifecycle.TrustQuestion
	switch {
	case !st.trusts(a.Host) || f.Trust != "" && f.Trust == st.pinned(a.Host):
		st.processes().Restart(id) // it was decided while it started
	case asked != nil && asked.Host == a.Host && asked.Hash == f.Trust:
	case asked != nil && asked.Host != a.Host && a.Host != lifecycle.Here: // it is asked when that is answered
	case !st.HumanPresent:
		st.fail(contract.Supervisor, bridge.CatTrust, f.Message, []string{})
		st.goWithout(a.Host, "nobody is present to look at it")
	default:
		st.Lifecycle.TrustQuestion = &lifecycle.TrustQuestion{Host: a.Host, Hash: f.Trust, At: st.at}
		st.fail(contract.Supervisor, bridge.CatTrust, f.Message, st.TrustOptions())
	}
}

// trusts reports whether agents on a host start with the workspace's own settings.
func (s *State) trusts(host string) bool {
	return s.Options.Trusted && !s.Lifecycle.Bridge(host).Untrusted
}

// pinned is the hash of what the human trusts on a host.
func (s *State) pinned(host string) string {
	if host == lifecycle.Here {
		return s.Options.TrustHash
	}
	return s.Lifecycle.Bridge(host).TrustHash
}

// goWithout goes on without the workspace's own settings: on another host until this process of arbiter ends, here
// and everywhere for the rest of the run.
func (st *step) goWithout(host, why string) {
	where := ""
	if host == lifecycle.Here {
		st.Options.Trusted, st.Options.TrustHash = false, ""
	} else {
		st.Lifecycle.Distrust(host)
		where = " on host " + host
	}
	st.emit(contract.Supervisor, contract.Notice{Text: "the workspace's own settings, hooks, agents and MCP servers " +
		"are not loaded" + where + " from here on: " + why})
	st.decidedTrust()
}

// decidedTrust starts those who waited for it.
func (st *step) decidedTrust() {
	if slices.Contains(st.Question.Recovery.Options, chooseWithout) {
		st.Question.Recovery = question.Recovery{}
	}
	st.Lifecycle.TrustQuestion = nil
	st.processes().RestartAll()
}

// trustAlone decides what nobody can look at any more.
func (st *step) trustAlone() {
	if q := st.Lifecycle.TrustQuestion; q != nil {
		st.goWithout(q.Host, "nobody is present to look at it")
	}
}

// tellDistrust says that a life begins without what the workspace brings along, although
// it was trusted once.
func (st *step) tellDistrust(text string) {
	if text == "" {
		return
	}
	st.emit(contract.Supervisor, contract.Error{Category: bridge.CatTrust, Message: text, RecoveryOptions: []string{}})
	st.emit(contract.Supervisor, contract.Notice{Text: "the run goes on without the workspace's own settings"})
}
