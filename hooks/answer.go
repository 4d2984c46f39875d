package hooks

import "encoding/json"

// Answer is the reply to the CLI. The zero value says nothing.
type Answer struct {
	Event Event
	// Context is added to what the model reads next.
	Context string
	// Block refuses what the event announces, for the Reason given.
	Block  bool
	Reason string
}

// JSON returns the answer in the CLI's form, on one line without a line end; {} for an empty answer. A block
// has no hookSpecificOutput: PreCompact does not accept one (observed with CLI 2.1.329).
func (a Answer) JSON() json.RawMessage {
	type specific struct {
		Event   Event  `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	var out struct {
		Decision string    `json:"decision,omitempty"`
		Reason   string    `json:"reason,omitempty"`
		Specific *specific `json:"hookSpecificOutput,omitempty"`
	}
	switch {
	case a.Block:
		out.Decision, out.Reason = "block", a.Reason
	case a.Context != "":
		out.Specific = &specific{Event: a.Event, Context: a.Context}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("{}") // impossible: it has only strings
	}
	return raw
}
