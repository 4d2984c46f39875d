package supervisor

// This file defines which party may call which method of a run, as one table. Calls that are not in it are
// denied.

import (
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Party is a role of a sender that can request something from a run. The pipe it sends through determines it.
type Party string

const (
	HumanStdin     Party = "human-stdin"
	HumanScreen    Party = "human-screen"
	HumanSocket    Party = "human-socket"
	TheArbiter     Party = "arbiter"
	AnOrchestrator Party = "orchestrator"
	ASubagent      Party = "subagent" // of either, within its process
	TheSupervisor  Party = "supervisor"
	ADescendant    Party = "descendant" // a process that an agent started, at the control socket

	RightsNobody Party = ""
)

// RightsMethod is one thing that can be requested from a run.
type RightsMethod string

// Methods that are not commands, tools or verdicts.
const (
	RightsHook    RightsMethod = "hook"    // the hook of an agent's own session, with its token
	RightsApprove RightsMethod = "approve" // allow or deny what a permission request asks for

	ToHuman        RightsMethod = "message/human"
	ToArbiter      RightsMethod = "message/arbiter"
	ToOrchestrator RightsMethod = "message/orchestrator"

	RightsMalformed RightsMethod = OfCommand + "malformed"
)

// Prefixes of the other methods.
const (
	OfCommand = "command/"
	OfTool    = "tool/"
	OfVerdict = "verdict/"
	OfWord    = "word/" // the kind of an Orchestrator's verdict
)

// RightsCommand returns the method of a command; empty for none.
func RightsCommand(c contract.CommandBody) RightsMethod {
	switch c.(type) {
	case nil:
		return ""
	case contract.Malformed: // it is rejected
		return RightsMalformed
	}
	return RightsMethod(OfCommand + c.CommandType())
}

// Tool returns the method of a call of one of our own tools.
func Tool(tool string) RightsMethod { return RightsMethod(OfTool + tool) }

// rights is the whole table: what is not in it is denied. Only a human answers a
// permission request, and only a human commands.
var rights = sync.OnceValue(func() map[Party][]RightsMethod {
	human := all(OfCommand, "message", "permission", "interrupt", "edit_message", "withdraw_message", "attach",
		"detach", "halt", "kill", "pause", "continue", "force_agent", "skip_step", "retry", "reset", "set_plan",
		"set_acceptance", "choose", "configure", "revert", "cancel", "malformed")
	human = append(human, RightsApprove, ToArbiter, ToOrchestrator)
	return map[Party][]RightsMethod{
		HumanStdin:  human,
		HumanScreen: human,
		HumanSocket: human,
		TheArbiter: slices.Concat(
			all(OfTool, "spawn_orchestrator", "release_orchestrator", "set_plan", "set_acceptance", "status"),
			all(OfVerdict, verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode, verdict.Continue,
				verdict.Retry, verdict.Complete, verdict.Handoff),
			[]RightsMethod{ToHuman, ToOrchestrator},
		),
		AnOrchestrator: slices.Concat(
			all(OfTool, "report_progress", "update_plan", "ask_predecessor"),
			all(OfWord, verdict.KindIntroduction, verdict.KindQuestion, verdict.KindProgress, verdict.KindHandoff,
				verdict.KindDone),
			[]RightsMethod{ToArbiter},
		),
		ASubagent:     nil, // it talks to its caller
		TheSupervisor: {ToHuman, ToArbiter, ToOrchestrator},
		ADescendant:   {RightsHook},
	}
})

func all(prefix string, names ...string) []RightsMethod {
	var list []RightsMethod
	for _, n := range names {
		list = append(list, RightsMethod(prefix+n))
	}
	return list
}

// May reports whether a party may do something. An unknown party, or an unknown method, may not.
func May(who Party, what RightsMethod) bool { return slices.Contains(rights()[who], what) }
