// Package rights defines which party may call which method of a run, as one table. Calls that are not in it are denied.
package rights

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"sync"
)

// Party is a role of a sender that can request something from a run. The pipe it sends through determines it.
type Party string

// The parties.
const (
	HumanStdin     Party = "human-stdin"
	HumanScreen    Party = "human-screen"
	HumanSocket    Party = "human-socket"
	TheArbiter     Party = "arbiter"
	AnOrchestrator Party = "orchestrator"
	ASubagent      Party = "subagent" // of either, within its process
	TheSupervisor  Party = "supervisor"
	ADescendant    Party = "descendant" // a process that an agent started, at the control socket

	Nobody Party = ""
)

// Method is one thing that can be requested from a run.
type Method string

// Methods that are not commands, tools or verdicts.
const (
	Hook    Method = "hook"    // the hook of an agent's own session, with its token
	Approve Method = "approve" // allow or deny what a permission request asks for

	ToHuman        Method = "message/human"
	ToArbiter      Method = "message/arbiter"
	ToOrchestrator Method = "message/orchestrator"

	Malformed Method = OfCommand + "malformed"
)

// Prefixes of the other methods.
const (
	OfCommand = "command/"
	OfTool    = "tool/"
	OfVerdict = "verdict/"
	OfWord    = "word/" // the kind of an Orchestrator's verdict
)

// Command returns the method of a command; empty for none.
func Command(c contract.CommandBody) Method {
	switch c.(type) {
	case nil:
		return ""
	case contract.Malformed: // it is rejected
		return Malformed
	}
	return Method(OfCommand + c.CommandType())
}

// Tool returns the method of a call of one of our own tools.
func Tool(tool string) Method { return Method(OfTool + tool) }

// rights is the whole table: what is not in it is denied. Only a human answers a
// permission request, and only a human commands.
var rights = sync.OnceValue(func() map[Party]map[Method]bool {
	human := all(OfCommand, "message", "permission", "interrupt", "edit_message", "withdraw_message", "attach",
		"detach", "halt", "kill", "pause", "continue", "force_agent", "skip_step", "retry", "reset", "set_plan",
		"set_acceptance", "choose", "configure", "revert", "cancel", "malformed")
	human = append(human, Approve, ToArbiter, ToOrchestrator)
	return map[Party]map[Method]bool{
		HumanStdin:  rightsOf(human),
		HumanScreen: rightsOf(human),
		HumanSocket: rightsOf(human),
		TheArbiter: rightsOf(
			all(OfTool, "spawn_orchestrator", "release_orchestrator", "set_plan", "set_acceptance", "status"),
			all(OfVerdict, verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode, verdict.Continue,
				verdict.Retry, verdict.Complete, verdict.Handoff),
			[]Method{ToHuman, ToOrchestrator},
		),
		AnOrchestrator: rightsOf(
			all(OfTool, "report_progress", "update_plan", "ask_predecessor"),
			all(OfWord, verdict.KindIntroduction, verdict.KindQuestion, verdict.KindProgress, verdict.KindHandoff,
				verdict.KindDone),
			[]Method{ToArbiter},
		),
		ASubagent:     rightsOf(), // it talks to its caller
		TheSupervisor: rightsOf([]Method{ToHuman, ToArbiter, ToOrchestrator}),
		ADescendant:   rightsOf([]Method{Hook}),
	}
})

func all(prefix string, names ...string) []Method {
	var list []Method
	for _, n := range names {
		list = append(list, Method(prefix+n))
	}
	return list
}

func rightsOf(lists ...[]Method) map[Method]bool {
	may := map[Method]bool{}
	for _, l := range lists {
		for _, m := range l {
			may[m] = true
		}
	}
	return may
}

// May reports whether a party may do something. An unknown party, or an unknown method, may not.
func May(who Party, what Method) bool { return rights()[who][what] }

// Table returns the whole table, for reports: the methods of each party, in no order.
func Table() map[Party][]Method {
	table := map[Party][]Method{}
	for who, may := range rights() {
		table[who] = []Method{}
		for what := range may {
			table[who] = append(table[who], what)
		}
	}
	return table
}
