package supervisor

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Effect is something apply wants done. Effects run outside of it, in the order
// given for one agent, and come back as inputs that name the agent's generation.
type Effect interface{ effect() }

type (
	// Emit tells every face.
	Emit struct{ Event contract.Event }
	// Spawn starts an agent → Spawned or NotSpawned.
	Spawn struct{ Params bridge.SpawnParams }
	// Send writes a message to an agent → NotSent on failure.
	Send struct{ Params bridge.MessageParams }
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
	// AnswerPermission answers a PermissionAsked.
	AnswerPermission struct {
		Request string
		Result  bridge.PermissionResult
	}
	// Reconsider holds the requests that wait for a human against mode, rules and grants
	// → Reconsidered.
	Reconsider struct{}
	// RunCheck runs a check of a hand-off document, if the permission policy lets it,
	// and the human where that asks → Checked.
	RunCheck struct {
		Serial, Number int
		Agent          bridge.AgentRef // whose document it is: the permission is asked in its name
		Request        string          // of the permission
		Params         bridge.CheckParams
		Again          bool // it has been run before, when the document was handed over
	}
	// Drop gives up a check, by its request, or all checks and what a decider is asked:
	// what they have started is ended at once, and what came of them is not awaited.
	Drop struct{ Request string }
	// Survey looks at an agent's work from outside → Surveyed.
	Survey struct {
		Serial int
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
	// Decide asks the run's decider → Decided. Note has the fact recorded as it is: a
	// decision that was made already.
	Decide struct{ Question Decided }
	Note   struct{ Decision Decided }
	// Probe looks for signs of life → Probed.
	Probe struct{ Agent bridge.AgentRef }
	// DropBridge ends a bridge that does not answer; it is then lost.
	DropBridge struct{}
	// OpenBridge starts another bridge in place of the one that is gone →
	// BridgeBack or BridgeFailed.
	OpenBridge struct{}
	// PinTrust records that the human trusts the workspace as it is now → TrustRecorded.
	PinTrust struct{ Hash string }
	// SetTimer rings after a while; setting a key again replaces it, After 0 stops it.
	SetTimer struct {
		Key   string
		After time.Duration
	}
	// Shutdown ends all agents → Stopped.
	Shutdown struct{ Fast bool }
	// OpenPTY opens an agent's session in a terminal → PTYOpened; its end comes as `done`.
	OpenPTY struct{ Params bridge.PTYOpenParams }
	// ClosePTY ends that terminal.
	ClosePTY struct{ Agent bridge.AgentRef }
	// Remember keeps what a human always allows in this workspace → Remembered.
	Remember struct{ Grant Grant }
	// Finish ends the loop. It is the last effect of a run.
	Finish struct{ Exit contract.Exit }
)

func (Emit) effect()             {}
func (Spawn) effect()            {}
func (Send) effect()             {}
func (Interrupt) effect()        {}
func (Kill) effect()             {}
func (AnswerTool) effect()       {}
func (AskAgent) effect()         {}
func (AnswerPermission) effect() {}
func (Reconsider) effect()       {}
func (Decide) effect()           {}
func (Note) effect()             {}
func (Probe) effect()            {}
func (RunCheck) effect()         {}
func (Drop) effect()             {}
func (Survey) effect()           {}
func (Configure) effect()        {}
func (SetModel) effect()         {}
func (OpenBridge) effect()       {}
func (DropBridge) effect()       {}
func (PinTrust) effect()         {}
func (SetTimer) effect()         {}
func (Shutdown) effect()         {}
func (OpenPTY) effect()          {}
func (ClosePTY) effect()         {}
func (Remember) effect()         {}
func (Finish) effect()           {}
