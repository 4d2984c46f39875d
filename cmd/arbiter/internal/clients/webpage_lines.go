package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// mostText bounds one text of an event, in bytes. A longer text is cut and marked.
	mostText = 24 << 10
	// mostResult bounds the result of a tool, which the page shows folded.
	mostResult = 4 << 10
	// mostAsked bounds a text of an item that waits. It is large, because a person decides on the basis of that
	// text.
	mostAsked = 256 << 10
)

// bounds lists the events that the page shows, each with the limit for its texts. Other events are covered by the
// status, or are bookkeeping.
var bounds = map[string]int{
	"session": 1 << 10, "state": 1 << 10, "spawn": mostText, "message": mostText, "assistant": mostText,
	"delta": mostText, "tool_use": mostText, "tool_result": mostResult, "subagent_start": 1 << 10,
	"subagent_stop": 1 << 10, "turn": 1 << 10, "context": 1 << 10, "compact": 1 << 10, "check": mostResult,
	"acceptance": mostResult, "handoff": mostText, "decision": mostText, "plan": mostText, "permission": mostText,
	"permission_request": mostText, "takeover": mostText, "withdrawn": 1 << 10, "halted": 1 << 10, "question": mostText,
	"retry": mostResult, "restart": mostResult, "error": mostText, "notice": mostText, "workspace": 1 << 10,
	"changes": mostText, "overlap": 1 << 10, "merge": mostText, "done": mostResult, "result": mostText,
}

// pageLine prepares an event's line for the page; nil if the page does not show it. An event that cannot be decoded
// becomes a notice, so that nothing is omitted silently.
func pageLine(line []byte) json.RawMessage {
	most, shown := bounds[contract.EventNameOf(line)]
	if !shown {
		return nil
	}
	raw, err := clean(line, most)
	if err != nil {
		raw, err = json.Marshal(map[string]string{
			"event": "notice", "id": contract.Supervisor, "text": "An event cannot be shown: " + err.Error(),
		})
	}
	if err != nil {
		return nil // cannot happen: two strings
	}
	return raw
}

// pageStatus returns a run's status in the form for the page.
func pageStatus(st control.Status) (json.RawMessage, error) {
	for i := range st.Agents {
		st.Agents[i].Session = ""
	}
	raw, err := json.Marshal(st)
	if err != nil {
		return nil, err
	}
	return clean(raw, mostAsked)
}

// clean sanitizes and bounds every text in a JSON value, including names of members.
func clean(raw []byte, most int) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(cleaned(value, most))
}

func cleaned(value any, most int) any {
	switch v := value.(type) {
	case string:
		return cleanText(v, most)
	case []any:
		for i := range v {
			v[i] = cleaned(v[i], most)
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for name, member := range v {
			clean[cleanText(name, 200)] = cleaned(member, most)
		}
		return clean
	}
	return value
}

func cleanText(text string, most int) string {
	cut := 0
	if len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text, cut = text[:end], len(text)-end
	}
	text = sanitize.Text(text)
	if cut > 0 {
		text += fmt.Sprintf("\n… %d more bytes are not shown here; arbiter replay prints them.", cut)
	}
	return text
}
