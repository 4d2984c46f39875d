package host

import (
	"errors"
	"fmt"
)

// ability is one feature of the CLI that the bridge relies on.
type ability struct {
	name string
	can  string // what the CLI does
	// without is the consequence if the CLI lacks the ability, and state is how bad that is.
	without string
	state   DoctorState
}

// abilities in the order in which they are reported.
var abilities = []ability{
	{"session", "a session speaks stream-json, and answers initialize", "no agent can be started", DoctorFail},
	{"delivery", "it confirms that it received a message", "messages could be lost, or arrive twice", DoctorFail},
	{
		"stream",
		"text arrives while it is written",
		"the text of an agent is not visible before its turn ends",
		DoctorWarn,
	},
	{"hooks", "it asks before every tool call (PreToolUse, by callback)",
		"arbiter's rules could not be enforced", DoctorFail},
	{"denials", "a denied call does not run", "arbiter's rules could not be enforced", DoctorFail},
	{"permissions", "a call that needs a permission waits for it (can_use_tool)",
		"nobody could be asked for a permission", DoctorFail},
	{"tools", "it calls tools of arbiter (MCP, in arbiter's process)", "the Arbiter could not summon Orchestrators",
		DoctorFail},
	{"steering", "a message during a turn reaches the model in that turn",
		"it is read with the next message only", DoctorWarn},
	{"ping", "it answers during a turn", "a session that hangs is noticed late", DoctorWarn},
	{"warnings", "the model learns during a turn how full its context is (PostToolUse)",
		"agents would not hand off in time", DoctorFail},
	{"context", "each answer says how full the context is", "agents would not hand off in time", DoctorFail},
	{"context usage", "it says how full its context is (get_context_usage)",
		"the effective context window is not known", DoctorWarn},
	{"subagents", "subagents are reported, and waited for", "their work is not visible", DoctorWarn},
	{"verdicts", "a turn ends in a verdict (JSON Schema)", "no result could be passed on", DoctorFail},
	{"transcripts", "the transcript is in the expected place", "after a crash nothing would be known about a session",
		DoctorFail},
	{"interrupts", "an interrupt ends the turn, not the session", "an agent could be stopped only by ending it",
		DoctorFail},
	{"side questions", "a side question is answered outside the history", "/ask is not available", DoctorWarn},
	{"ending", "it exits cleanly, and leaves no process", "processes that it leaves are killed", DoctorWarn},
	{"resume", "a session is resumed with its history", "no run could be resumed", DoctorFail},
	{"delivery status", "the transcript shows whether a message was delivered",
		"after a crash a message may arrive twice", DoctorWarn},
	{"plain text", "a message that begins with / is text", "text of agents would run as commands", DoctorFail},
	{
		"queries",
		"one question is answered without a session",
		"--decider stateless and hybrid are not available",
		DoctorWarn,
	},
	{"frames", "it sends no frame that arbiter does not know", "arbiter ignores them", DoctorNote},
}

// Observed is the result of a trial: by ability, nil or why it was not seen. A missing ability was not tried.
type Observed map[string]error

// longer is the command that gives a trial more time.
const longer = "arbiter doctor --trial-timeout 2m"

// errLate says that there was not enough time to try an ability.
var errLate = errors.New("there was no time for it")

// Abilities judges what was observed. tested is the version to fall back to.
func Abilities(o Observed, tested string) []Finding {
	l := list{area: AreaAbilities}
	if err := o["session"]; err != nil {
		a := abilities[0]
		if errors.Is(err, errLate) {
			l.add(a.name, DoctorWarn, "not known: "+err.Error(), longer)
			return l.all
		}
		l.add(a.name, a.state, fmt.Sprintf("%v; the others were not tried", err), npmInstall+"@"+tested)
		return l.all
	}
	for _, a := range abilities {
		err, tried := o[a.name]
		switch {
		case !tried:
			l.add(a.name, DoctorNote, "was not tried: "+a.can, "")
		case err == nil:
			l.add(a.name, DoctorOK, a.can, "")
		case errors.Is(err, errLate):
			l.add(a.name, DoctorWarn, "not known, "+err.Error()+": "+a.can, longer)
		default:
			l.add(a.name, a.state, fmt.Sprintf("cannot be relied on (%v): %s", err, a.without), npmInstall+"@"+tested)
		}
	}
	return l.all
}

// Unstarted returns the observations for a bridge that could not be started.
func Unstarted(why error) Observed { return Observed{"session": why} }
