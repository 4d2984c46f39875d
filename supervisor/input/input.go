package input

import (
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Input is something that happened outside the loop, at a time. The state of a run is computed from its inputs
// alone, so an input contains everything that Apply needs to know and cannot compute (time, policy decisions,
// random marks).
type Input struct {
	At   time.Time
	Body Body
	From Origin // as the loop recorded it; Apply does not read it
}

// Channels by which a human's commands come. Nothing that an agent writes comes by them.
const (
	ChannelStdin  = "stdin"
	ChannelScreen = "screen"
	ChannelSocket = "socket" // another process of the same user that no agent started
)

// Body is one of the inputs below; InputName is the name under which it is recorded.
type Body interface{ InputName() string }

type (
	// Began is the first input of a run: the bridge answered `initialize`.
	Began struct {
		Options runconfig.Options
		Claude  bridge.ClaudeInfo
		Notice  string           // what the start found
		Images  []contract.Image `json:",omitempty"` // of the task
		// Distrust says that the workspace was trusted once and is not now, and why.
		Distrust string `json:",omitempty"`
	}
	// Resumed is the first input of every further process of a run.
	Resumed struct {
		Options runconfig.Options
		Claude  bridge.ClaudeInfo
		Word    string           // the message that the human gave with --resume; empty: none
		Images  []contract.Image `json:",omitempty"` // of Word
		Stay    bool             // a human watches: a complete run waits for another task
		Notice  string           // what the start found: damage, processes left over
		Salt    string           // for this process's ids: a history that lost its end counts again from there
		// Distrust is like Began's.
		Distrust string `json:",omitempty"`
		// Fenced are other hosts on which everything that an earlier process had started has ended.
		Fenced []string `json:",omitempty"`
	}
	// NoBridge is the first input if the bridge did not answer, or if a signal came before the run began.
	NoBridge struct {
		Options  runconfig.Options
		Category bridge.Category
		Message  string
		Signal   *Signal `json:",omitempty"` // then there is no category
	}
	// Command is a command from a frontend. Channel is how it came: one of the Channel… constants.
	Command struct {
		Command contract.Command
		Channel string
	}
	// InputEnded means that no human will answer from now on.
	InputEnded struct{}
	// Signal is a signal to this process, or the same request from a client. Fast marks the second one.
	Signal struct {
		Signal   string // INT, TERM, HUP
		Fast     bool
		ByClient bool `json:",omitempty"`
	}
	// AgentEvent is an event of an agent.
	AgentEvent struct{ Event bridge.Event }
	// Spawned and NotSpawned end a Spawn effect.
	Spawned struct {
		Agent  bridge.AgentRef
		Result bridge.SpawnResult
		Own    runconfig.Worktree `json:",omitzero"` // the agent's own directory
		// Changes is the value of State.Permission.Changes of the rules that it was started with.
		Changes int `json:",omitempty"`
	}
	// RulesGiven ends a GiveRules effect that did not succeed in full.
	RulesGiven struct {
		Agent       bridge.AgentRef
		Unsupported []string `json:",omitempty"` // why the CLI has no form for a rule
		Failed      string   `json:",omitempty"`
	}
	NotSpawned struct {
		Agent    bridge.AgentRef
		Category bridge.Category
		Message  string
		Stderr   string
		// Trust is set for CatTrust: the hash of the workspace as it is now; empty: it cannot be determined.
		Trust string `json:",omitempty"`
	}
	// TrustRecorded ends a PinTrust effect. Failed says why nothing was recorded.
	TrustRecorded struct {
		Hash   string
		Failed string `json:",omitempty"`
	}
	// NotSent ends a Send effect that failed; a successful one has no input.
	NotSent struct {
		Agent     bridge.AgentRef
		MessageID string
		Message   string
	}
	// ToolCalled is a call of one of our tools; Call is answered by AnswerTool.
	ToolCalled struct {
		Call   string
		Params bridge.ToolCallParams
	}
	// PermissionAsked is a tool that wants to run, with what the rules say.
	PermissionAsked struct {
		Params   bridge.PermissionParams
		Behavior string // allow, deny, ask
		By, Rule string
		Reason   string
		// Action is the SHA-256 of the exact action; the input here contains no secrets.
		Action string `json:",omitempty"`
		// Suggestions are rules that would cover it.
		Suggestions []string `json:",omitempty"`
		// Changes is the value of State.Permission.Changes for which the rules were evaluated.
		Changes int `json:",omitempty"`
	}
	// Reconsidered ends a Reconsider effect.
	Reconsidered struct {
		Resolutions []PermissionResolution `json:",omitempty"`
		Changes     int                    // like PermissionAsked's
	}
	// Remembered ends a Remember effect. Failed says why it is not kept.
	Remembered struct {
		Grant  Grant
		Failed string `json:",omitempty"`
	}
	// PermissionWithdrawn says that the agent no longer waits.
	PermissionWithdrawn struct{ Request string }
	// Timer is a timer set by SetTimer.
	Timer struct {
		Key string
		// Setting numbers the setting of the timer, from 1; 0: unknown, as in a journal.
		Setting uint64 `json:"-"`
	}
	// Stopped ends the Shutdown effect.
	Stopped struct{ Unstopped []string }
	// BridgeLost says that the bridge of a host ended unexpectedly; BridgeBack and BridgeFailed end an
	// OpenBridge effect. Host is empty for the host that Arbiter runs on.
	BridgeLost struct {
		Host    string `json:",omitempty"`
		Message string
		// Until is set for another host: when everything that the bridge started there has ended; zero: it has.
		Until time.Time `json:",omitzero"`
		// Halted says that somebody ended the bridge in order to stop everything: no process may run until a
		// human continues the run, whether or not the command arrived.
		Halted bool `json:",omitempty"`
		// HaltApplied: the run had already carried out that command, and perhaps the one to continue, too.
		HaltApplied bool `json:",omitempty"`
	}
	BridgeBack struct {
		Host   string `json:",omitempty"`
		Claude bridge.ClaudeInfo
		Dir    string `json:",omitempty"` // on another host: where the run's agents work, an absolute path there
		Cores  int    `json:",omitempty"` // of another host
		Swept  int    // processes that the lost one had left behind
	}
	BridgeFailed struct {
		Host     string `json:",omitempty"`
		Category bridge.Category
		Message  string
	}
	// Probed ends a Probe effect. Failed means that the bridge gave no answer.
	Probed struct {
		Agent  bridge.AgentRef
		Result bridge.ProbeResult
		Failed string
		Silent bool // it failed because the bridge did not answer in time
	}
	// Checked ends a RunCheck effect. Failed says why the check was not run.
	Checked struct {
		Serial  int    // of the document
		Number  int    // of the check, counted from 1
		Request string // like RunCheck's
		Result  bridge.CheckResult
		Failed  string
	}
	// Inspected ends an Inspect effect. Failed says why nothing was found.
	Inspected struct {
		Serial int
		Result bridge.InspectResult
		Failed string
	}
	// Configured ends a SetModel effect. Failed says why the model stays as it was.
	Configured struct {
		Agent  bridge.AgentRef
		Model  string
		All    bool   `json:",omitempty"`
		Failed string `json:",omitempty"`
	}
	// Decided is a decision with its input. It ends a Decide effect. A decision that the Arbiter's session, the
	// rules in its place or the human made is only recorded by it.
	Decided decider.Record
	// CallDecided is a tool call before the CLI decides on it. It is only informative.
	CallDecided struct {
		Params   bridge.JudgeParams // without the input of a long call that may run
		Action   string             // the SHA-256 of the exact action
		Behavior string             // pass: the CLI decides; deny, ask
		By, Rule string
		Reason   string
	}
	// PTYOpened ends an OpenPTY effect. Failed says why there is no terminal.
	PTYOpened struct {
		Agent  bridge.AgentRef
		Failed string               `json:",omitempty"`
		Result bridge.PTYOpenResult `json:",omitzero"`
	}
	// DaySpent says what all other runs of the user have cost on the present day, and what this run has cost,
	// according to its own record.
	DaySpent struct {
		Day               string // of the user's time zone: 2026-03-14
		OthersUSD, OwnUSD float64
	}
	// WokeFromSleep says that the machine slept, or its clock was moved, for a while.
	WokeFromSleep struct{ Slept time.Duration }
	// JournalFull says that nothing more can be recorded.
	JournalFull struct{ Message string }
	// OutputLost says that nothing reads the events any more.
	OutputLost struct{ Message string }
)

func (Began) InputName() string               { return "began" }
func (Resumed) InputName() string             { return "resumed" }
func (BridgeBack) InputName() string          { return "bridge_back" }
func (BridgeFailed) InputName() string        { return "bridge_failed" }
func (Probed) InputName() string              { return "probed" }
func (Checked) InputName() string             { return "checked" }
func (Inspected) InputName() string           { return "inspected" }
func (Configured) InputName() string          { return "configured" }
func (SnapshotTaken) InputName() string       { return "snapshot_taken" }
func (Reverted) InputName() string            { return "reverted" }
func (Merged) InputName() string              { return "merged" }
func (Decided) InputName() string             { return "decided" }
func (DaySpent) InputName() string            { return "day_spent" }
func (WokeFromSleep) InputName() string       { return "woke_from_sleep" }
func (CallDecided) InputName() string         { return "call_decided" }
func (Remembered) InputName() string          { return "remembered" }
func (PTYOpened) InputName() string           { return "pty_opened" }
func (JournalFull) InputName() string         { return "journal_full" }
func (NoBridge) InputName() string            { return "no_bridge" }
func (Command) InputName() string             { return "command" }
func (InputEnded) InputName() string          { return "input_ended" }
func (Signal) InputName() string              { return "signalled" }
func (AgentEvent) InputName() string          { return "agent_event" }
func (Spawned) InputName() string             { return "spawned" }
func (NotSpawned) InputName() string          { return "not_spawned" }
func (RulesGiven) InputName() string          { return "rules_given" }
func (TrustRecorded) InputName() string       { return "trust_recorded" }
func (NotSent) InputName() string             { return "not_sent" }
func (ToolCalled) InputName() string          { return "tool_called" }
func (PermissionAsked) InputName() string     { return "permission_asked" }
func (Reconsidered) InputName() string        { return "reconsidered" }
func (PermissionWithdrawn) InputName() string { return "permission_withdrawn" }
func (Timer) InputName() string               { return "timer" }
func (Stopped) InputName() string             { return "stopped" }
func (BridgeLost) InputName() string          { return "bridge_lost" }
func (OutputLost) InputName() string          { return "output_lost" }

// Origin is who an input is from. It is derived from the pipe by which the input came and from the state, and
// from nothing that the input says about itself: an agent cannot forge it.
type Origin struct {
	By      string // an agent's id, human, supervisor; unknown
	Session string // Claude's, of an agent in its present generation
	Gen     int    // generation of an agent
	Channel string // by which a human's command came: one of the Channel… constants
	Host    string // whose bridge it came by; empty: this host's, or none's. It is not recorded
}

// ChannelStart is the command line that began a process, with its message.
const ChannelStart = "start"

// Unknown stands for a sender that came by no known channel.
const Unknown = "unknown"

// SourceAgent is the agent whose pipe an input came by; false: it came by none.
func SourceAgent(f Body) (bridge.AgentRef, bool) {
	switch f := f.(type) {
	case AgentEvent:
		return f.Event.AgentRef, true
	case ToolCalled:
		return f.Params.AgentRef, true
	case PermissionAsked:
		return f.Params.AgentRef, true
	case CallDecided:
		return f.Params.AgentRef, true
	}
	return bridge.AgentRef{}, false
}

// appendTo appends the origin as members of a record.
func (o Origin) appendTo(raw []byte) []byte {
	member := func(name, value string) {
		if value != "" {
			raw = append(raw, `,"`+name+`":`...)
			raw = contract.AppendQuoted(raw, value)
		}
	}
	member("by", o.By)
	member("session", o.Session)
	if o.Gen != 0 {
		raw = append(raw, `,"gen":`...)
		raw = strconv.AppendInt(raw, int64(o.Gen), 10)
	}
	member("channel", o.Channel)
	return raw
}

// Narrates reports whether an input only reports what an agent does: it leads to events, and changes nothing
// that lasts. If the disk is too slow, the journal may drop such inputs. The start of a subagent is none: it is counted
// against a limit.
func Narrates(f Body) bool {
	if _, judged := f.(CallDecided); judged {
		return true
	}
	h, ok := f.(AgentEvent)
	if !ok {
		return false
	}
	switch h.Event.Body.(type) {
	case bridge.Assistant, bridge.Delta, bridge.ToolResult, bridge.SubagentStop, bridge.SubagentProgress,
		bridge.ToolUse, bridge.Error, bridge.Notice, bridge.Stderr, bridge.Unknown, bridge.PTY:
		return true
	}
	return false
}

// Recorded reports whether an input is recorded in the journal at all: pieces of text are not, because the
// whole text follows.
func Recorded(f Body) bool {
	h, ok := f.(AgentEvent)
	if !ok {
		return true
	}
	switch h.Event.Body.(type) {
	case bridge.Delta, bridge.PTY: // what a terminal shows is private
		return false
	}
	return true
}
