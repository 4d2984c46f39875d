package hooks

import "encoding/json"

// Registration is one event to register a hook for.
type Registration struct {
	Event Event
	// Matcher is a pattern of tool names; empty for events that have none.
	Matcher string
}

// TimeoutSeconds is how long the CLI waits for a hook. The policy answers at once; a slower hook is broken, and
// must not delay a session.
const TimeoutSeconds = 5

// Registrations returns the hooks that the policy needs, for both transports.
func Registrations() []Registration {
	return []Registration{
		{Event: PostToolUse, Matcher: "*"},
		{Event: PostToolUseFailure, Matcher: "*"},
		{Event: UserPromptSubmit},
		{Event: PreCompact},
		{Event: PostCompact},
		{Event: SessionStart},
		{Event: SubagentStart},
		{Event: SubagentStop},
	}
}

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
	for _, r := range Registrations() {
		settings.Hooks[r.Event] = []entry{{Matcher: r.Matcher, Hooks: []hook{{"command", command, TimeoutSeconds}}}}
	}
	raw, err := json.Marshal(settings)
	if err != nil {
		return json.RawMessage("{}") // impossible: it has only strings and numbers
	}
	return raw
}
