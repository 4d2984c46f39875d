package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Party is a role of somebody who can ask something of a run, told by the pipe it speaks
// through.
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

	nobody Party = ""
)

// Method is one thing that can be asked of a run.
type Method string

// Methods that are no command, no tool and no verdict.
const (
	MethodHook    Method = "hook"    // the hook of an agent's own session, with its token
	MethodApprove Method = "approve" // allow what a permission request asks for, or deny it

	toHuman        Method = "message/human"
	toArbiter      Method = "message/arbiter"
	toOrchestrator Method = "message/orchestrator"

	malformed Method = ofCommand + "malformed"
)

// The beginnings of the others.
const (
	ofCommand = "command/"
	ofTool    = "tool/"
	ofVerdict = "verdict/"
	ofWord    = "word/" // the kind of an Orchestrator's verdict
)

// methodOf is that of a command.
func methodOf(c contract.CommandBody) Method {
	switch c.(type) {
	case nil:
		return ""
	case contract.Malformed: // it is answered by a rejection
		return malformed
	}
	return Method(ofCommand + c.CommandType())
}

// toolMethod is that of a call of one of our own tools.
func toolMethod(tool string) Method { return Method(ofTool + tool) }

// rights is the whole table: what is not in it is denied. Nobody but a human answers a
// permission request, and nobody but a human commands.
var rights = func() map[Party]map[Method]bool {
	human := all(ofCommand, "message", "permission", "interrupt", "edit_message", "withdraw_message", "attach", "detach",
		"halt", "kill", "pause", "continue", "force_agent", "skip_step", "retry", "reset", "set_plan", "choose", "configure",
		"cancel", "malformed")
	human = append(human, MethodApprove, toArbiter, toOrchestrator)
	return map[Party]map[Method]bool{
		HumanStdin:  rightsOf(human),
		HumanScreen: rightsOf(human),
		HumanSocket: rightsOf(human),
		TheArbiter: rightsOf(
			all(ofTool, "spawn_orchestrator", "release_orchestrator", "set_plan", "status"),
			all(ofVerdict, verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode, verdict.Continue, verdict.Retry, verdict.Complete, verdict.Handoff),
			[]Method{toHuman, toOrchestrator},
		),
		AnOrchestrator: rightsOf(
			all(ofTool, "report_progress", "update_plan", "ask_predecessor"),
			all(ofWord, verdict.KindIntroduction, verdict.KindQuestion, verdict.KindProgress, verdict.KindHandoff, verdict.KindDone),
			[]Method{toArbiter},
		),
		ASubagent:     rightsOf(), // it speaks to whoever called it
		TheSupervisor: rightsOf([]Method{toHuman, toArbiter, toOrchestrator}),
		ADescendant:   rightsOf([]Method{MethodHook}),
	}
}()

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

// may says whether somebody may do something. Who or what is unknown may not.
func may(who Party, what Method) bool { return rights[who][what] }

// partyBy is the party of a human by the channel of a command; empty for any other channel.
func partyBy(channel string) Party {
	switch channel {
	case ChannelStdin:
		return HumanStdin
	case ChannelScreen:
		return HumanScreen
	case ChannelSocket:
		return HumanSocket
	}
	return nobody
}

// partyOf is the party of an agent, or of its subagent.
func partyOf(a *Agent, subagent string) Party {
	switch {
	case subagent != "":
		return ASubagent
	case a.Role == RoleArbiter:
		return TheArbiter
	case a.Role == RoleOrchestrator:
		return AnOrchestrator
	}
	return nobody
}

// partyNamed is the party that a message is from; of a human any channel's will do, since
// the word itself came by one.
func (s *State) partyNamed(id string) Party {
	switch id {
	case contract.Human:
		return HumanStdin
	case contract.Supervisor:
		return TheSupervisor
	}
	if a, ok := s.agent(id); ok {
		return partyOf(&a, "")
	}
	return nobody
}

// mayWrite says whether one may send a message to another.
func (s *State) mayWrite(from, to string) bool {
	what := toHuman
	if to != contract.Human {
		switch s.partyNamed(to) {
		case TheArbiter:
			what = toArbiter
		case AnOrchestrator:
			what = toOrchestrator
		default:
			return false
		}
	}
	return may(s.partyNamed(from), what)
}

// barred answers a command of somebody who may not give it, and says whether it did.
func (st *step) barred(f Commanded) bool {
	who, what := partyBy(f.Channel), methodOf(f.Command.Body)
	switch {
	case who == nobody && what == malformed:
		return false // it is rejected, with what is wrong with it
	case !may(who, what):
		st.reject(f.Command.Ref, "%s is taken from stdin, the screen and the control socket only", what)
		return true
	}
	return false
}

// approves says whether an answer to a permission request is a human's.
func approves(channel string) bool {
	return may(partyBy(channel), MethodApprove)
}

// mayNot says to a model that a tool is not for it.
func mayNot(a *Agent, p bridge.ToolCallParams) error {
	if p.Subagent != "" {
		return fmt.Errorf("a subagent may not call %s: tell whoever started you", p.Tool)
	}
	return fmt.Errorf("%s has no tool %s", a.ID, p.Tool)
}

// exactly has an answer to a permission request name the very action it is about, so
// that the record of it says what was approved, and not only where to look.
func (s *State) exactly(f Fact) Fact {
	c, ok := f.(Commanded)
	if !ok {
		return f
	}
	answer, ok := c.Command.Body.(contract.Permit)
	if !ok || answer.Action != "" {
		return f
	}
	if p, known := s.Permission.Find(answer.Request); known {
		answer.Action = p.Key()
		c.Command.Body = answer
		return c
	}
	return f
}

// mayRule says why an agent's verdict is not for it to give; nil: it is.
func mayRule(a *Agent, of, what string) error {
	if may(partyOf(a, ""), Method(of+what)) {
		return nil
	}
	return &verdict.Problem{Text: fmt.Sprintf("%s is not for you to decide. Give your verdict again.", what)}
}
