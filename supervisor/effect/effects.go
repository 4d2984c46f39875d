package effect

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// The effects that are this package's own; package effect has those of every part. Effects run outside of Apply, in the
// order given for one agent, and come back as inputs that name the agent's generation.
type (
	// Spawn starts an agent → Spawned or NotSpawned. Place is the directory that it gets before; zero: it needs none.
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
	// RunCheck runs a check of a hand-off document, if the permission policy lets it,
	// and the human where that asks → Checked.
	RunCheck struct {
		Serial, Number int
		Host           string          // where it runs
		Agent          bridge.AgentRef // whose document it is: the permission is asked in its name
		Request        string          // of the permission
		Params         bridge.CheckParams
		Again          bool // it has been run before, when the document was handed over
		Criterion      bool // it is an acceptance criterion
		Permitted      bool // the human gave the command: it runs without asking
	}
	// Drop gives up a check, by its request, or all checks and what a decider is asked:
	// what they have started is ended at once, and their results are not awaited.
	Drop struct{ Request string }
	// Survey looks at an agent's work from outside → Surveyed.
	Survey struct {
		Serial int
		Host   string // where the agent works
		Params bridge.InspectParams
	}
	// Configure changes what an agent is reminded of after a compaction.
	Configure struct{ Params bridge.ConfigureParams }
	// SetModel changes an agent's model, which the CLI tries first. All says that it is
	// meant for every agent.
	SetModel struct {
		Agent bridge.AgentRef
		Model string
		All   bool
	}
	// Decide asks the run's decider → Decided. Note has the input recorded as it is: a
	// decision that was made already.
	Decide struct{ Question decider.Record }
	Note   struct{ Decision decider.Record }
	// Probe looks for signs of life → Probed.
	Probe struct{ Agent bridge.AgentRef }
	// DropBridge ends the bridge of a host that does not answer; it is then lost.
	DropBridge struct{ Host string }
	// OpenBridge starts a bridge on a host, in place of one that is gone or was never there →
	// BridgeBack or BridgeFailed.
	OpenBridge struct{ Host string }
	// PinTrust records that the human trusts the workspace, or what agents on another host bring along, as it is now
	// → TrustRecorded.
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

func (Spawn) Effect()      {}
func (Send) Effect()       {}
func (Interrupt) Effect()  {}
func (Kill) Effect()       {}
func (AnswerTool) Effect() {}
func (AskAgent) Effect()   {}
func (Decide) Effect()     {}
func (Note) Effect()       {}
func (Probe) Effect()      {}
func (RunCheck) Effect()   {}
func (Drop) Effect()       {}
func (Survey) Effect()     {}
func (Configure) Effect()  {}
func (SetModel) Effect()   {}
func (OpenBridge) Effect() {}
func (DropBridge) Effect() {}
func (PinTrust) Effect()   {}
func (Shutdown) Effect()   {}
func (OpenPTY) Effect()    {}
func (ClosePTY) Effect()   {}
func (Finish) Effect()     {}
