package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// object is a JSON object split into its members, values unread. Keys count as
// they are written: encoding/json folds case when it fills structs, so that a
// later "Is_Error" would overwrite "is_error", and what decides something must
// not hang on that. It also spares reading what nobody asks for: a result frame
// has forty fields, half of them objects.
type object []member

type member struct{ key, value []byte }

// get returns a member's value, the last one if the key is repeated.
func (o object) get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if string(o[i].key) == name {
			return o[i].value
		}
	}
	return nil
}

var (
	errNoObject = errors.New("not a JSON object")
	errNoList   = errors.New("not a JSON list")
)

// split reads the members of a JSON object; short ones have few. A value is checked by
// who reads it. All refers to data.
func split(data []byte) (object, error) {
	obj := make(object, 0, min(2+len(data)/32, 16))
	if !jsonl.Members(data, func(key, value []byte) bool {
		obj = append(obj, member{key, value})
		return true
	}) {
		return nil, errNoObject
	}
	return obj, nil
}

// fieldReader reads known fields of an object and keeps the first error: a
// known field of a wrong type degrades the whole frame, an absent one does not.
type fieldReader struct {
	obj object
	err error
}

func (r *fieldReader) fail(name string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", name, err)
	}
}

// raw returns a copy of a field's value, nil if it is absent or null.
func (r *fieldReader) raw(name string) json.RawMessage {
	raw := r.obj.get(name)
	if jsonl.IsNull(raw) {
		return nil
	}
	if !json.Valid(raw) {
		r.fail(name, errors.New("not JSON"))
		return nil
	}
	return bytes.Clone(raw)
}

func (r *fieldReader) into(name string, dst any) bool {
	raw := r.obj.get(name)
	if jsonl.IsNull(raw) {
		return false
	}
	err := json.Unmarshal(raw, dst)
	r.fail(name, err)
	return err == nil
}

func (r *fieldReader) str(name string) string {
	raw := r.obj.get(name)
	if jsonl.IsNull(raw) {
		return ""
	}
	s, err := jsonl.String(raw)
	r.fail(name, err)
	return s
}

func (r *fieldReader) boolean(name string) bool {
	raw := r.obj.get(name)
	if jsonl.IsNull(raw) {
		return false
	}
	b, err := strconv.ParseBool(string(raw))
	if err == nil && string(raw) != strconv.FormatBool(b) { // JSON has two words only
		err = strconv.ErrSyntax
	}
	r.fail(name, err)
	return b && err == nil
}

func (r *fieldReader) number(name string) (n float64) {
	if n, plain := jsonl.Natural(r.obj.get(name)); plain {
		return float64(n)
	}
	r.into(name, &n)
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
	raw := r.obj.get(name)
	if jsonl.IsNull(raw) {
		return nil
	}
	if !jsonl.Elements(raw, func(value []byte) {
		b := &fieldReader{}
		if !jsonl.IsNull(value) {
			b.obj, b.err = split(value)
		}
		list = append(list, block{Type: b.str("type"), Text: b.str("text"), ID: b.str("id"), Name: b.str("name"),
			Input: b.raw("input"), ToolUseID: b.str("tool_use_id"), Content: b.raw("content"),
			IsError: b.boolean("is_error")})
		r.join(b)
	}) {
		r.fail(name, errNoList)
	}
	return list
}

// usage reads an account of tokens, nil if it is absent or null.
func (r *fieldReader) usage(name string) *bridge.Usage {
	if jsonl.IsNull(r.obj.get(name)) {
		return nil
	}
	u := r.object(name)
	defer r.join(u)
	return &bridge.Usage{Input: u.integer("input_tokens"), Output: u.integer("output_tokens"),
		CacheRead: u.integer("cache_read_input_tokens"), CacheCreation: u.integer("cache_creation_input_tokens")}
}

// object descends into a nested object; absent gives an empty one. The nested
// reader's error has to be taken over with join.
func (r *fieldReader) object(name string) *fieldReader {
	sub := &fieldReader{}
	if raw := r.obj.get(name); !jsonl.IsNull(raw) {
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
