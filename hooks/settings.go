package hooks

import "encoding/json"

// Registration is one event to register a hook for.
type Registration struct {
	Event Event
	// Matcher is a pattern of tool names; empty for events that have none.
	Matcher string
}

// TimeoutSeconds is how long the CLI waits for a hook. The policy answers
// at once; what takes longer is broken, and must not hold a session.
const TimeoutSeconds = 5

// Registrations are the hooks that the policy needs, of either transport.
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

// Settings renders the CLI's settings that run a shell command for every event:
// what `claude --settings` takes.
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
		return json.RawMessage("{}") // strings and numbers alone: it cannot be
	}
	return raw
}
