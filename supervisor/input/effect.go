package input

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Effect is an action that a step, a call of supervisor.Apply, requests: [Emit], for example. The loop carries the
// effects out, in the order in which they were collected, once the input that they follow from is on disk, and accepts
// no others. A part of the supervisor's state defines the effects that only it emits; those that every part uses are
// here.
type Effect any

type (
	// Emit sends an event to every frontend.
	Emit struct{ Event contract.Event }
	// SetTimer sets a timer. Setting a key again replaces its timer; After 0 stops it.
	SetTimer struct {
		Key   string
		After time.Duration
	}
)

// Collector collects the effects of one step. The step owns it: it is not safe for concurrent use.
type Collector struct {
	Now time.Time // the time of the input

	effects []Effect
}

// Effects returns what was collected, in order.
func (c *Collector) Effects() []Effect { return c.effects }

// Do adds an effect.
func (c *Collector) Do(e Effect) { c.effects = append(c.effects, e) }

// Emit adds an event about an agent, the human or the supervisor.
func (c *Collector) Emit(id string, body contract.Body) {
	c.Do(Emit{contract.Event{ID: id, Body: body}})
}

// Notice adds a notice of the supervisor.
func (c *Collector) Notice(text string) { c.Emit(contract.Supervisor, contract.Notice{Text: text}) }

// Accept answers a command that was accepted. Each command gets exactly one answer.
func (c *Collector) Accept(ref, message string) {
	c.Emit(contract.Human, contract.Accepted{Ref: ref, Message: message})
}

// Reject answers a command that was rejected, and says why.
func (c *Collector) Reject(ref, format string, args ...any) {
	c.Emit(contract.Human, contract.Rejected{Ref: ref, Message: fmt.Sprintf(format, args...)})
}

// StopTimer stops the timer of a key, if it is set.
func (c *Collector) StopTimer(key string) { c.Do(SetTimer{Key: key}) }

// Effects of the run. They are carried out outside of Apply, in the order given for one agent. Their outcomes
// come back as inputs (package input) that contain the agent's generation; an arrow names the input.
type (
	// Spawn starts an agent → Spawned or NotSpawned. Place is the directory that is created for it before;
	// zero: none.
	Spawn struct {
		Params bridge.SpawnParams
		Place  runconfig.Place
	}
	// Send writes a message to an agent → NotSent on failure.
	Send struct {
		Params bridge.MessageParams
		Images []contract.Image // that the loop loads into Params
	}
	// Interrupt stops an agent's turn; the turn's end comes as an event.
	Interrupt struct{ Agent bridge.AgentRef }
	// Kill ends an agent; its `done` comes as an event.
	Kill struct {
		Agent bridge.AgentRef
		Now   bool
	}
	// AnswerTool answers a ToolCalled.
	AnswerTool struct {
		Call    string
		Text    string
		IsError bool
	}
	// AskAgent puts a side question to one agent and answers the tool call with it.
	AskAgent struct {
		Call     string
		Agent    bridge.AgentRef
		Question string
	}
	// RunCheck runs a check of a hand-off document, if the permission policy allows it, or the human where the
	// policy asks → Checked.
	RunCheck struct {
		Serial, Number int
		Host           string          // where it runs
		Agent          bridge.AgentRef // author of the document: the permission is requested in its name
		Request        string          // of the permission
		Params         bridge.CheckParams
		Again          bool // it has run before, when the document was handed over
		Criterion      bool // it is an acceptance criterion
		Permitted      bool // the human wrote the command: it runs without asking
	}
	// Drop cancels a check, by its request, or all checks and the question to a decider: the processes that
	// they have started are ended at once, and their results are not awaited.
	Drop struct{ Request string }
	// Inspect inspects an agent's work from outside → Inspected.
	Inspect struct {
		Serial int
		Host   string // where the agent works
		Params bridge.InspectParams
	}
	// Configure changes the reminder that an agent reads after a compaction.
	Configure struct{ Params bridge.ConfigureParams }
	// SetModel changes an agent's model, which the CLI tries first. All says that the model is for every agent.
	SetModel struct {
		Agent bridge.AgentRef
		Model string
		All   bool
	}
	// Decide asks the run's decider → Decided. Note records a decision that was made already.
	Decide struct{ Question decider.Record }
	Note   struct{ Decision decider.Record }
	// Probe looks for signs of activity → Probed.
	Probe struct{ Agent bridge.AgentRef }
	// DropBridge ends the bridge of a host: it does not answer, cannot be used, or is not needed → BridgeLost.
	DropBridge struct{ Host string }
	// OpenBridge starts a bridge on a host, in place of one that was lost or never existed → BridgeBack or
	// BridgeFailed.
	OpenBridge struct{ Host string }
	// KeepWindow keeps for later runs how many tokens a model takes at most, as its refusal said.
	KeepWindow struct {
		Model  string
		Tokens int
	}
	// PinTrust records that the human trusts the workspace as it is now, or the files that agents on another
	// host load → TrustRecorded.
	PinTrust struct{ Host, Hash string }
	// Shutdown ends all agents → Stopped.
	Shutdown struct{ Fast bool }
	// OpenPTY opens an agent's session in a terminal → PTYOpened; its end comes as `done`.
	OpenPTY struct{ Params bridge.PTYOpenParams }
	// ClosePTY ends that terminal.
	ClosePTY struct{ Agent bridge.AgentRef }
	// Finish ends the loop. It is the last effect of a run.
	Finish struct{ Exit contract.Exit }
)
