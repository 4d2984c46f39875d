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
	v.Decision = strings.ToUpper(spelled.Replace(strings.TrimSpace(v.Decision)))
	v.To, v.Mode, v.Summary = strings.TrimSpace(v.To), strings.TrimSpace(v.Mode), strings.TrimSpace(v.Summary)
	var c corrections
	c.oneOf("decision", v.Decision, decisions)
	c.filled("message", v.Message)
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
	var in Orchestrator
	if p := decode(raw, &in); p != nil {
		return Orchestrator{}, p
	}
	in.Kind = strings.ToLower(strings.TrimSpace(in.Kind))
	var c corrections
	c.filled("message", in.Message)
	c.oneOf("kind", in.Kind, kinds)
	switch in.Kind {
	case KindQuestion, KindHandoff, KindDone:
		in.ExpectsResponse = true // whatever was said: the Arbiter has to answer it
	}
	if in.Kind == KindHandoff || in.Kind == KindDone {
		c.document(in.Handoff, "kind "+in.Kind)
	}
	if p := c.problem(); p != nil {
		return Orchestrator{}, p
	}
	in.Handoff.Normalize()
	return in, nil
}

// spelled are spellings of a decision that mean the same.
var spelled = strings.NewReplacer(" ", "_", "-", "_")

// FromText returns the verdict that a turn without one has given as its text: one JSON object, with or without a fence
// around it. Any other text is nil.
func FromText(text string) json.RawMessage {
	text = strings.TrimSpace(text)
	if inner, fenced := strings.CutPrefix(text, "```"); fenced {
		_, inner, _ = strings.Cut(inner, "\n")
		if text, fenced = strings.CutSuffix(strings.TrimSpace(inner), "```"); !fenced {
			return nil
		}
		text = strings.TrimSpace(text)
	}
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return nil
	}
	return json.RawMessage(text)
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
		c.add(field, "`%s` is missing or empty: say it to the one who reads your verdict.", field)
	}
}

func (c *corrections) oneOf(field, value string, allowed []string) {
	switch {
	case slices.Contains(allowed, value):
	case value == "":
		c.add(field, "`%s` is missing: give one of %s.", field, strings.Join(allowed, ", "))
	default:
		c.add(field, "`%s` is %s: give one of %s.", field, Quote(value), strings.Join(allowed, ", "))
	}
}

func (c *corrections) document(d *Document, when string) {
	switch {
	case d == nil:
		c.add("handoff", "`handoff` is missing: %s needs the hand-off document.", when)
	case d.Empty():
		c.add("handoff", "`handoff` is empty: write into it what was accomplished, what remains and what a successor must "+
			"know.")
	}
}

func (c *corrections) problem() *Problem {
	if len(c.texts) == 0 {
		return nil
	}
	return &Problem{Field: c.field,
		Text: strings.Join(c.texts, " ") + " Give your verdict again, and change nothing else in it."}
}

// decode reads one object. Fields that the schema does not have are dropped: a model that adds one has still said what
// it decides. decode is strict where encoding/json is not: a name in another case is no field of the schema, and it
// refuses fields given twice and anything after the object.
func decode(raw json.RawMessage, into any) *Problem {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return &Problem{Text: "no verdict: end the turn by calling StructuredOutput. Nothing else that you write is read."}
	}
	if raw[0] != '{' {
		return &Problem{Text: "the verdict must be one JSON object."}
	}
	raw, p := known(raw)
	if p != nil {
		return p
	}
	err := json.Unmarshal(raw, into)
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

// known returns a verdict, whose keys it checks, without the names that only match because encoding/json ignores
// case (every field is lower-case ASCII), and with the proofs of its document as checks and claims. A verdict that is
// the only member of another object, or a string in it, is taken out of it.
func known(raw []byte) ([]byte, *Problem) {
	if p := checkKeys(raw); p != nil {
		return nil, p
	}
	var object map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&object) != nil {
		return raw, nil
	}
	drop(object)
	if inner := wrapped(object); inner != nil {
		return known(inner)
	}
	if document, ok := object["handoff"].(map[string]any); ok {
		unfold(document)
	}
	out, err := json.Marshal(object)
	if err != nil {
		return raw, nil
	}
	return out, nil
}

// drop removes the names that are none of the schema's.
func drop(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			drop(item)
		}
	case map[string]any:
		for name, value := range v {
			if strings.ContainsFunc(name, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
				delete(v, name)
			}
			drop(value)
		}
	}
}

// wrapped is the object that is the only member of another one; nil: there is none.
func wrapped(object map[string]any) json.RawMessage {
	if len(object) != 1 {
		return nil
	}
	for _, inner := range object {
		switch inner := inner.(type) {
		case string:
			return FromText(inner)
		case map[string]any:
			raw, err := json.Marshal(inner)
			if err == nil {
				return raw
			}
		}
	}
	return nil
}

// unfold makes checks and claims of the proofs of a document: each claim is proved by the check of its own proof.
func unfold(document map[string]any) {
	proofs, _ := document["proofs"].([]any)
	checks, _ := document["checks"].([]any)
	claims, _ := document["claims"].([]any)
	for _, p := range proofs {
		proof, ok := p.(map[string]any)
		if !ok {
			continue
		}
		claim := map[string]any{"claim": proof["claim"]}
		if command, ok := proof["command"].(string); ok && strings.TrimSpace(command) != "" {
			checks = append(checks, map[string]any{"command": command, "expect": proof["expect"]})
			claim["check"], claim["verified"] = len(checks), true
		}
		if proof["claim"] != nil {
			claims = append(claims, claim)
		}
	}
	if len(proofs) > 0 {
		document["checks"], document["claims"] = checks, claims
	}
}

// checkKeys checks the keys of all objects of raw: none is given twice.
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
			if stack[top].keys[key] {
				return &Problem{Field: key, Text: "`" + key + "` is given twice: give it once."}
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

// Quote shows a value to its author, shortened.
func Quote(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
