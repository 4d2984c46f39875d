package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// object is a JSON object split into its members, values unread. Keys count as
// they are written: encoding/json folds case when it fills structs, so that a
// later "Is_Error" would overwrite "is_error", and what decides something must
// not hang on that. It also spares reading what nobody asks for: a result frame
// has forty fields, half of them objects.
type object []member

type member struct {
	key   string
	value json.RawMessage
}

// get returns a member's value, the last one if the key is repeated.
func (o object) get(name string) json.RawMessage {
	for i := len(o) - 1; i >= 0; i-- {
		if o[i].key == name {
			return o[i].value
		}
	}
	return nil
}

var errNoObject = errors.New("not a JSON object")

// split reads the members of a JSON object. It checks the structure around the
// values; a value is checked by who reads it. The values refer to data.
func split(data []byte) (object, error) {
	i := blank(data, 0)
	if i >= len(data) || data[i] != '{' {
		return nil, errNoObject
	}
	obj := make(object, 0, 16)
	i = blank(data, i+1)
	if i < len(data) && data[i] == '}' {
		return obj, atEnd(data, i+1)
	}
	for {
		end := skipString(data, i)
		if end < 0 {
			return nil, errNoObject
		}
		key, err := unquote(data[i:end])
		if err != nil {
			return nil, err
		}
		i = blank(data, end)
		if i >= len(data) || data[i] != ':' {
			return nil, errNoObject
		}
		i = blank(data, i+1)
		end = skipValue(data, i)
		if end < 0 {
			return nil, errNoObject
		}
		obj = append(obj, member{key: key, value: data[i:end]})
		i = blank(data, end)
		switch {
		case i < len(data) && data[i] == ',':
			i = blank(data, i+1)
		case i < len(data) && data[i] == '}':
			return obj, atEnd(data, i+1)
		default:
			return nil, errNoObject
		}
	}
}

func atEnd(data []byte, i int) error {
	if blank(data, i) != len(data) {
		return errNoObject
	}
	return nil
}

func blank(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i, -1 if none does.
func skipString(data []byte, i int) int {
	if i >= len(data) || data[i] != '"' {
		return -1
	}
	for i++; i < len(data); i++ {
		quote := bytes.IndexByte(data[i:], '"')
		if quote < 0 {
			return -1
		}
		escape := bytes.IndexByte(data[i:i+quote], '\\')
		if escape < 0 {
			return i + quote + 1
		}
		i += escape + 1 // the loop steps over what is escaped
	}
	return -1
}

// skipValue returns the index after the value that starts at i, -1 if it has no end.
func skipValue(data []byte, i int) int {
	if i >= len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return skipString(data, i)
	case '{', '[':
	default: // a number or a word
		end := i
		for end < len(data) && data[end] != ',' && data[end] != '}' && data[end] != ']' && data[end] > ' ' {
			end++
		}
		if end == i {
			return -1
		}
		return end
	}
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			if i = skipString(data, i) - 1; i < 0 {
				return -1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// unquote reads a JSON string; plain ones, which nearly all are, cheaply.
func unquote(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", fmt.Errorf("not a string: %.40q", raw)
	}
	body := raw[1 : len(raw)-1]
	plain := utf8.Valid(body)
	for i := 0; plain && i < len(body); i++ {
		plain = body[i] != '\\' && body[i] != '"' && body[i] >= ' '
	}
	if plain {
		return string(body), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
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
	if isNull(raw) {
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
	if isNull(raw) {
		return false
	}
	err := json.Unmarshal(raw, dst)
	r.fail(name, err)
	return err == nil
}

func (r *fieldReader) str(name string) string {
	raw := r.obj.get(name)
	if isNull(raw) {
		return ""
	}
	s, err := unquote(raw)
	r.fail(name, err)
	return s
}

func (r *fieldReader) boolean(name string) bool {
	raw := r.obj.get(name)
	if isNull(raw) {
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
	r.into(name, &n)
	return n
}

// integer reads counters, some of which are written with a fraction.
func (r *fieldReader) integer(name string) int { return int(r.number(name)) }

func (r *fieldReader) strings(name string) (list []string) {
	r.into(name, &list)
	return list
}

// object descends into a nested object; absent gives an empty one. The nested
// reader's error has to be taken over with join.
func (r *fieldReader) object(name string) *fieldReader {
	sub := &fieldReader{}
	if raw := r.obj.get(name); !isNull(raw) {
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

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}
