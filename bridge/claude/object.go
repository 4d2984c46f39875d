package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// object is a JSON object split into its members, with undecoded values. Keys are case-sensitive:
// encoding/json ignores case when it fills structs, so that a later "Is_Error" would overwrite "is_error",
// and decisions must not depend on that. If a key is repeated, the last value counts.
type object map[string]json.RawMessage

var errNoObject = errors.New("not a JSON object")

func split(data []byte) (object, error) {
	members, err := jsonl.Members(data)
	if err != nil {
		return nil, errNoObject
	}
	obj := make(object, len(members))
	for _, m := range members {
		obj[m.Key] = m.Value
	}
	return obj, nil
}

// fieldReader reads known fields of an object and keeps the first error: if a known field has a wrong type,
// the whole frame counts as unreadable; an absent field is not an error.
type fieldReader struct {
	obj object
	err error
}

func (r *fieldReader) fail(name string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", name, err)
	}
}

// raw returns a field's value, nil if it is absent or null.
func (r *fieldReader) raw(name string) json.RawMessage {
	if raw := r.obj[name]; !jsonl.IsNull(raw) {
		return raw
	}
	return nil
}

// into decodes a field; absent and null leave dst as it is.
func (r *fieldReader) into(name string, dst any) {
	if raw := r.raw(name); raw != nil {
		r.fail(name, json.Unmarshal(raw, dst))
	}
}

func (r *fieldReader) str(name string) string {
	raw := r.raw(name)
	if raw == nil {
		return ""
	}
	s, err := jsonl.String(raw)
	r.fail(name, err)
	return s
}

func (r *fieldReader) boolean(name string) (b bool) {
	r.into(name, &b)
	return b
}

func (r *fieldReader) number(name string) float64 {
	raw := r.raw(name)
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseFloat(string(raw), 64) // it accepts more than JSON does, but raw is valid JSON
	if err != nil {
		r.fail(name, fmt.Errorf("not a number: %.40q", raw))
		return 0
	}
	return n
}

// integer reads counters, some of which are written with a fraction.
func (r *fieldReader) integer(name string) int { return int(r.number(name)) }

func (r *fieldReader) strings(name string) (list []string) {
	r.into(name, &list)
	return list
}

// blocks reads a list of content blocks.
func (r *fieldReader) blocks(name string) (list []block) {
	var objects []object
	r.into(name, &objects)
	for _, obj := range objects {
		b := &fieldReader{obj: obj}
		list = append(list, block{Type: b.str("type"), Text: b.str("text"), ID: b.str("id"), Name: b.str("name"),
			Input: b.raw("input"), ToolUseID: b.str("tool_use_id"), Content: b.raw("content"),
			IsError: b.boolean("is_error")})
		r.join(b)
	}
	return list
}

// usage reads token counts; nil if they are absent or null.
func (r *fieldReader) usage(name string) *bridge.Usage {
	if r.raw(name) == nil {
		return nil
	}
	u := r.object(name)
	defer r.join(u)
	return &bridge.Usage{Input: u.integer("input_tokens"), Output: u.integer("output_tokens"),
		CacheRead: u.integer("cache_read_input_tokens"), CacheCreation: u.integer("cache_creation_input_tokens")}
}

// object descends into a nested object; an absent one gives an empty reader. The caller must pass on the
// nested reader's error with join.
func (r *fieldReader) object(name string) *fieldReader {
	sub := &fieldReader{}
	if raw := r.raw(name); raw != nil {
		var err error
		sub.obj, err = split(raw)
		r.fail(name, err)
	}
	return sub
}

func (r *fieldReader) join(sub *fieldReader) {
	if r.err == nil {
		r.err = sub.err
	}
}
