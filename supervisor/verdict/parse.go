package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

var (
	decisions = []string{AddressHuman, AddressOrchestrator, SelectMode, Continue, Retry, Complete, Handoff}
	kinds     = []string{KindIntroduction, KindQuestion, KindProgress, KindHandoff, KindDone}
)

// ParseArbiter reads the Arbiter's verdict. Its error is always a *[Problem].
func ParseArbiter(raw json.RawMessage) (Arbiter, error) {
	var v Arbiter
	if p := decode(raw, &v); p != nil {
		return Arbiter{}, p
	}
	v.To, v.Mode, v.Summary = strings.TrimSpace(v.To), strings.TrimSpace(v.Mode), strings.TrimSpace(v.Summary)
	var c corrections
	c.oneOf("decision", v.Decision, decisions)
	c.filled("message", v.Message)
	c.filled("reason", v.Reason)
	switch v.Decision {
	case AddressOrchestrator, Retry:
		if v.To == "" {
			c.add("to", "`to` is missing: %s needs the id of an Orchestrator, such as orch-1.", v.Decision)
		}
	case SelectMode:
		if v.Mode == "" {
			c.add("mode", "`mode` is missing: SELECT_MODE needs the name of a mode.")
		}
	case Complete:
		if v.Summary == "" {
			v.Summary = strings.TrimSpace(v.Message)
		}
	case Handoff:
		c.document(v.Handoff, "decision HANDOFF")
	}
	if p := c.problem(); p != nil {
		return Arbiter{}, p
	}
	v.Handoff.Normalize()
	return v, nil
}

// ParseOrchestrator reads an Orchestrator's verdict. Its error is always a *[Problem].
func ParseOrchestrator(raw json.RawMessage) (Orchestrator, error) {
	// A pointer distinguishes an absent expects_response from a false one.
	var in struct {
		ExpectsResponse *bool     `json:"expects_response"`
		Message         string    `json:"message"`
		Kind            string    `json:"kind"`
		Handoff         *Document `json:"handoff"`
	}
	if p := decode(raw, &in); p != nil {
		return Orchestrator{}, p
	}
	var c corrections
	if in.ExpectsResponse == nil {
		c.add("expects_response", "`expects_response` is missing: give true or false.")
	}
	c.filled("message", in.Message)
	c.oneOf("kind", in.Kind, kinds)
	switch in.Kind {
	case KindQuestion, KindHandoff, KindDone:
		if in.ExpectsResponse != nil && !*in.ExpectsResponse {
			c.add("expects_response", "`expects_response` must be true with kind %s: the Arbiter has to answer it.",
				in.Kind)
		}
	}
	if in.Kind == KindHandoff || in.Kind == KindDone {
		c.document(in.Handoff, "kind "+in.Kind)
	}
	if p := c.problem(); p != nil {
		return Orchestrator{}, p
	}
	in.Handoff.Normalize()
	return Orchestrator{*in.ExpectsResponse, in.Message, in.Kind, in.Handoff}, nil
}

// corrections collects all that is wrong, so that one round of correction is enough.
type corrections struct {
	field string
	texts []string
}

func (c *corrections) add(field, format string, args ...any) {
	if len(c.texts) == 0 {
		c.field = field
	}
	c.texts = append(c.texts, fmt.Sprintf(format, args...))
}

func (c *corrections) filled(field, value string) {
	if strings.TrimSpace(value) == "" {
		c.add(field, "`%s` is missing or empty.", field)
	}
}

func (c *corrections) oneOf(field, value string, allowed []string) {
	switch {
	case slices.Contains(allowed, value):
	case value == "":
		c.add(field, "`%s` is missing: give one of %s.", field, strings.Join(allowed, ", "))
	default:
		c.add(field, "`%s` is %s: give one of %s.", field, quote(value), strings.Join(allowed, ", "))
	}
}

func (c *corrections) document(d *Document, when string) {
	switch {
	case d == nil:
		c.add("handoff", "`handoff` is missing: %s needs the hand-off document.", when)
	case d.Empty():
		c.add("handoff", "`handoff` is empty: say what was accomplished, what remains and what a successor must know.")
	}
}

func (c *corrections) problem() *Problem {
	if len(c.texts) == 0 {
		return nil
	}
	return &Problem{Field: c.field, Text: strings.Join(c.texts, " ")}
}

// decode is strict where encoding/json is not: it refuses unknown fields, fields
// in another case, fields given twice, and anything after the object.
func decode(raw json.RawMessage, into any) *Problem {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return &Problem{Text: "no verdict: end the turn by calling StructuredOutput."}
	}
	if raw[0] != '{' {
		return &Problem{Text: "the verdict must be one JSON object."}
	}
	if p := checkKeys(raw); p != nil {
		return p
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &Problem{Field: wrong.Field, Text: fmt.Sprintf("`%s` is a JSON %s: give %s.", wrong.Field, wrong.Value,
			wanted(wrong.Type.Kind().String()))}
	default:
		// `json: unknown field "x"` is the only remaining error that has no type.
		return &Problem{Text: "the verdict does not fit its schema: " + strings.TrimPrefix(err.Error(), "json: ") + "."}
	}
}

func wanted(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	case "slice":
		return "an array"
	case "struct", "ptr":
		return "an object"
	default:
		return "a " + kind
	}
}

// checkKeys checks the keys of all objects of raw. Every field of a verdict is lower-case ASCII, so any other
// key could only match because encoding/json ignores case.
func checkKeys(raw []byte) *Problem {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	type frame struct {
		keys  map[string]bool // nil in an array
		value bool            // the next token of an object is a value
	}
	var stack []frame
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) && len(stack) == 0 {
			return nil
		}
		if err != nil {
			return &Problem{Text: "the verdict is not valid JSON."}
		}
		top := len(stack) - 1
		if top >= 0 && stack[top].keys != nil && !stack[top].value && tok != json.Delim('}') {
			key := tok.(string)
			if p := checkKey(key, stack[top].keys); p != nil {
				return p
			}
			stack[top].keys[key] = true
			stack[top].value = true
			continue
		}
		if top >= 0 {
			stack[top].value = false
		}
		switch tok {
		case json.Delim('{'):
			stack = append(stack, frame{keys: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, frame{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:top]
		}
		if len(stack) == 0 && dec.More() {
			return &Problem{Text: "the verdict must be one JSON object and nothing after it."}
		}
	}
}

func checkKey(key string, seen map[string]bool) *Problem {
	if seen[key] {
		return &Problem{Field: key, Text: "`" + key + "` is given twice: give it once."}
	}
	for _, r := range key {
		if (r < 'a' || r > 'z') && r != '_' {
			return &Problem{Field: key, Text: "there is no field " + quote(key) + ": use the names of the schema."}
		}
	}
	return nil
}

// quote shows a value to the model that wrote it, shortened.
func quote(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
