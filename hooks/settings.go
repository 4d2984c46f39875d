package hooks

import "encoding/json"

// TimeoutSeconds is how long the CLI waits for a hook. The policy answers at once; a slower hook is broken, and
// must not delay a session.
const TimeoutSeconds = 5

// Events are those that the policy needs a hook for, over both transports.
var Events = []Event{PostToolUse, PostToolUseFailure, UserPromptSubmit, PreCompact, PostCompact, SessionStart,
	SubagentStart, SubagentStop}

// OfTools reports whether an event is about a tool: its hooks have a pattern of tool names.
func (e Event) OfTools() bool { return e == PostToolUse || e == PostToolUseFailure }

// Settings returns settings of the CLI that run a shell command for every event, in the form that `claude
// --settings` takes.
func Settings(command string) json.RawMessage {
	type hook struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
	}
	type entry struct {
		Matcher string `json:"matcher,omitempty"`
		Hooks   []hook `json:"hooks"`
	}
	settings := struct {
		Hooks map[Event][]entry `json:"hooks"`
	}{Hooks: map[Event][]entry{}}
	for _, e := range Events {
		one := entry{Hooks: []hook{{"command", command, TimeoutSeconds}}}
		if e.OfTools() {
			one.Matcher = "*"
		}
		settings.Hooks[e] = []entry{one}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return json.RawMessage("{}") // impossible: it has only strings and numbers
	}
	return raw
}
