package decider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of an answer: of the whole in bytes, of its fields in characters.
const (
	maxAnswer  = 256 << 10
	maxReason  = 2_000
	maxMessage = 16_000
	maxSummary = 8_000
	maxQuoted  = 40
	maxStarts  = 128 // braces that are tried as the beginning of the object
)

// AnswerError says what is wrong with an answer, in words for the model that gave it.
type AnswerError struct{ Problem string }

func (e *AnswerError) Error() string { return "decider: the answer cannot be used: " + e.Problem }

// parseDecision reads the answer of a model. Around the JSON object there may be text and fences; of several
// objects the last one with a `decision` counts. The object must contain one of the point's decisions, a
// reason, an agent that exists, and fields within their bounds. Unknown members are ignored, as is a mode
// without SELECT_MODE. With COMPLETE the summary replaces a missing reason, and the reason a missing summary:
// ADR-0005 has it both ways. The error is always an *[AnswerError].
func parseDecision(raw string, p DecisionPoint, agents []AgentDescription) (Decision, error) {
	switch {
	case kinds(p) == nil:
		return Decision{}, &AnswerError{"nothing is decided at the point " + quote(string(p)) + "."}
	case strings.TrimSpace(raw) == "":
		return Decision{}, &AnswerError{"it is empty: answer with one JSON object."}
	case len(raw) > maxAnswer:
		return Decision{}, &AnswerError{fmt.Sprintf("it is longer than %d bytes.", maxAnswer)}
	case !utf8.ValidString(raw):
		return Decision{}, &AnswerError{"it is not valid UTF-8."}
	}
	object := findObject(raw)
	if object == nil {
		return Decision{}, &AnswerError{"there is no valid JSON object with `decision` in it."}
	}
	var c complaints
	d := Decision{
		Decision: c.text(object, "decision", 0),
		Mode:     c.text(object, "mode", 0),
		Reason:   c.text(object, "reason", maxReason),
		Message:  c.text(object, "message", maxMessage),
		Summary:  c.text(object, "summary", maxSummary),
	}
	if c.texts == nil {
		c.check(&d, p, agents)
	}
	if c.texts != nil {
		return Decision{}, &AnswerError{strings.Join(c.texts, " ")}
	}
	return d, nil
}

// complaints gathers all that is wrong, so that one correction is enough.
type complaints struct{ texts []string }

func (c *complaints) add(format string, args ...any) {
	c.texts = append(c.texts, fmt.Sprintf(format, args...))
}

// text reads a member that must be a string; absent and null are empty. most 0: any length.
func (c *complaints) text(object map[string]json.RawMessage, name string, most int) string {
	raw, ok := object[name]
	if !ok || string(raw) == "null" {
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		c.add("`%s` is not a string.", name)
		return ""
	}
	s = strings.TrimSpace(s)
	if most > 0 && utf8.RuneCountInString(s) > most {
		c.add("`%s` is longer than %d characters.", name, most)
	}
	return s
}

// check fills in fields from the fields that can replace them, and drops a mode that has no effect.
func (c *complaints) check(d *Decision, p DecisionPoint, agents []AgentDescription) {
	may := kinds(p)
	switch {
	case d.Decision == "":
		c.add("`decision` is empty: give one of %s.", strings.Join(may, ", "))
	case !slices.Contains(may, d.Decision):
		c.add("`decision` is %s: give one of %s.", quote(d.Decision), strings.Join(may, ", "))
	}
	if d.Decision == Complete {
		if d.Reason == "" {
			d.Reason = clip(d.Summary, maxReason)
		}
		if d.Summary == "" {
			d.Summary = d.Reason
		}
	} else {
		d.Summary = ""
	}
	if d.Reason == "" {
		c.add("`reason` is missing or empty.")
	}
	if d.Decision != SelectMode {
		d.Mode = ""
		return
	}
	switch {
	case len(agents) == 0:
		c.add("there is no agent to select.")
	case d.Mode == "":
		c.add("`mode` is missing: SELECT_MODE needs one of %s.", strings.Join(names(agents), ", "))
	case !known(agents, d.Mode):
		c.add("`mode` is %s, and there is no such agent: give one of %s.", quote(d.Mode),
			strings.Join(names(agents), ", "))
	}
}

// findObject finds the last object with a `decision` that is not inside another such object. An object that
// begins after the last mention of the name cannot be one.
func findObject(text string) map[string]json.RawMessage {
	const name = `"decision"`
	var found map[string]json.RawMessage
	for starts := 0; starts < maxStarts && strings.Contains(text, name); starts++ {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		var object map[string]json.RawMessage
		dec := json.NewDecoder(strings.NewReader(text))
		if dec.Decode(&object) == nil && object["decision"] != nil {
			found, text = object, text[dec.InputOffset():]
			continue
		}
		text = text[1:]
	}
	return found
}

// quote shows a value to the model, shortened.
func quote(s string) string { return fmt.Sprintf("%q", clip(s, maxQuoted)) }

// clip shortens a text to at most n characters.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return strings.TrimSpace(string(r[:n-1])) + "…"
	}
	return s
}

const schemaFormat = `{
 "type": "object",
 "properties": {
  "decision": {"type": "string", "enum": ["%s"], "description": "What happens next."},
  "mode": {"type": "string", "description": "The name of the agent that works next, one of those listed; with SELECT_MODE."},
  "reason": {"type": "string", "description": "Why, in one or two sentences that name the facts."},
  "message": {"type": "string", "description": "What the agent is told: its brief, or what to do differently."},
  "summary": {"type": "string", "description": "What was reached; with COMPLETE."}
 },
 "required": ["decision", "reason"],
 "additionalProperties": false
}`

// schema is the JSON Schema of the answer at a point; nil if nothing is decided there. It is one flat object:
// the API refuses oneOf, anyOf and allOf at the top. parseDecision checks what depends on another field.
func schema(p DecisionPoint) json.RawMessage {
	may := kinds(p)
	if may == nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(schemaFormat, strings.Join(may, `", "`)))
}
