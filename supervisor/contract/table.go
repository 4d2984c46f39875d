package contract

import "reflect"

// trait is what a face does with an event that it need not show or pass on like any other.
type trait uint8

const (
	// narrates: it only tells what an agent is doing. Where nobody keeps up, it may be left
	// out. What a script or a person acts on may not.
	narrates trait = 1 << iota
	fine           // too fine for prose: lines and files leave it out
	urgent         // somebody waits for a human to hear it, or it is the last that is said
)

// events has a row for each event: what it means, and what faces do with it. The schema,
// the decoder, CONTRACT.md and the faces go by it.
var events = []struct {
	body   Body
	about  string
	traits trait
}{
	{Session{}, "The first line: the run, and what it runs on.", 0},
	{State{}, "The task machine moved.", fine},
	{Spawn{}, "An agent was started; id is the new agent.", 0},
	{Message{}, "Something one party says to another.", 0},
	{Delivered{}, "The CLI proved to have taken a message up.", fine},
	{Assistant{}, "Prose of an agent or of its subagent.", narrates},
	{Delta{}, "A piece of text as it arrives, for screens.", narrates | fine},
	{ToolUse{}, "An agent calls one of Claude's tools.", narrates},
	{ToolResult{}, "Such a call ended.", narrates},
	{ToolCall{}, "An agent calls one of arbiter's own tools.", 0},
	{SubagentStart{}, "A subagent was started.", narrates},
	{SubagentStop{}, "A subagent ended.", narrates},
	{SubagentProgress{}, "What a running subagent has used, and does.", narrates | fine},
	{Turn{}, "An agent's turn ended.", fine},
	{Context{}, "A new reading of an agent's context.", narrates | fine},
	{ContextWarning{}, "An agent's context reached a level.", 0},
	{Compact{}, "An agent's context was compacted.", 0},
	{Check{}, "A check of a hand-off document that the supervisor has run itself.", 0},
	{Handoff{}, "A hand-off document was passed on.", 0},
	{Decision{}, "A ruling, and who made it.", 0},
	{Plan{}, "The whole plan after a change.", 0},
	{PermissionRequest{}, "A tool waits for a permission command.", urgent},
	{Permission{}, "How a permission was decided.", urgent},
	{Takeover{}, "A human has an agent's session in a terminal, or gave it back.", urgent},
	{Withdrawn{}, "A message was taken back by the human before it was sent.", 0},
	{Halted{}, "Everything was stopped at once.", urgent},
	{Question{}, "A human is asked; a message command answers.", urgent},
	{Accepted{}, "A command was taken up and is durable.", fine},
	{Rejected{}, "A command was refused.", urgent},
	{Retry{}, "API trouble is being waited out.", narrates},
	{Restart{}, "A process is being started again.", 0},
	{Error{}, "Trouble a person should know of.", urgent},
	{Notice{}, "Something was met and survived.", narrates},
	{Done{}, "An agent ended.", 0},
	{Result{}, "The last line: how the run ended.", urgent},
}

var traits = func() map[reflect.Type]trait {
	all := make(map[reflect.Type]trait, len(events))
	for _, e := range events {
		all[reflect.TypeOf(e.body)] = e.traits
	}
	return all
}()

// Narrates says whether an event may be left out where nobody keeps up.
func Narrates(b Body) bool { return traits[reflect.TypeOf(b)]&narrates != 0 }

// Fine says whether an event is too fine to be told in prose.
func Fine(b Body) bool { return traits[reflect.TypeOf(b)]&fine != 0 }

// Urgent says whether a human should hear of an event before others, and in any case.
func Urgent(b Body) bool { return traits[reflect.TypeOf(b)]&urgent != 0 }

// Events has an empty body of each event.
func Events() []Body {
	bodies := make([]Body, len(events))
	for i, e := range events {
		bodies[i] = e.body
	}
	return bodies
}

// EventNames lists the names of all events.
func EventNames() []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.body.EventName()
	}
	return names
}
