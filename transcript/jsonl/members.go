package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Member is one field of an object, as it was written.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits a JSON object into its fields, in order. Decoding into a struct would ignore the case of names
// and let the last of several equal names win; the decision about a permission must not depend on that. With an
// error it returns the fields before the fault. The result does not refer to data.
func Members(data []byte) ([]Member, error) {
	if !json.Valid(data) {
		return damagedMembers(data)
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' {
		return nil, noObject(data)
	}
	var all []Member
	data = bytes.Clone(data)
	for i := afterSpace(data, 1); data[i] != '}'; {
		end := valueEnd(data, i)
		key, err := String(data[i:end])
		if err != nil {
			return all, syntaxError(err)
		}
		i = afterSpace(data, afterSpace(data, end)+len(":"))
		end = valueEnd(data, i)
		all = append(all, Member{key, data[i:end:end]})
		if i = afterSpace(data, end); data[i] == ',' {
			i = afterSpace(data, i+1)
		}
	}
	return all, nil
}

// afterSpace returns the offset of the next byte that is not white space, in valid JSON.
func afterSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n' {
		i++
	}
	return i
}

// valueEnd returns the end of the value that begins at i, in a valid JSON object.
func valueEnd(data []byte, i int) int {
	for depth := 0; ; i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 { // a number or a literal
				return i + bytes.IndexAny(data[i:], ",}] \t\r\n")
			}
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
}

// damagedMembers returns the fields before the fault.
func damagedMembers(data []byte) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, syntaxError(err)
	}
	if tok != json.Delim('{') {
		return nil, noObject(data)
	}
	var all []Member
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return all, syntaxError(err)
		}
		key, ok := tok.(string)
		if !ok {
			return all, errors.New("not valid JSON: a field's name must be a string")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return all, syntaxError(err)
		}
		all = append(all, Member{key, value})
	}
	if _, err := dec.Token(); err != nil {
		return all, syntaxError(err)
	}
	return all, errors.New("not valid JSON: something follows the object")
}

// MapStrings returns a JSON text in which f has replaced each string, names of members included. Numbers stay as they
// are.
func MapStrings(raw []byte, f func(string) string) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	return Marshal(mapped(value, f))
}

func mapped(value any, f func(string) string) any {
	switch v := value.(type) {
	case string:
		return f(v)
	case []any:
		for i := range v {
			v[i] = mapped(v[i], f)
		}
	case map[string]any:
		all := make(map[string]any, len(v))
		for name, member := range v {
			all[f(name)] = mapped(member, f)
		}
		return all
	}
	return value
}

func noObject(data []byte) error {
	return fmt.Errorf("expected a JSON object, got %s", KindOf(bytes.TrimSpace(data)))
}

func syntaxError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: the line ends too early")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// KindOf names the type of a JSON value for a message.
func KindOf(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}

// String decodes a JSON string; null is an error.
func String(raw []byte) (s string, err error) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", fmt.Errorf("not a string: %.40q", raw)
	}
	if text := raw[1:]; isPlain(text) {
		return string(text[:len(text)-1]), nil
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// isPlain reports whether text is the content of a string without escapes, with the quote at its end.
func isPlain(text []byte) bool {
	last := len(text) - 1
	for i, c := range text {
		if c == '"' {
			return i == last
		}
		if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return false
}

// Marshal encodes v on one line and does not escape <, > and &, so that models, people and comparisons of bytes
// get the original text.
func Marshal(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the result of Marshal to dst. On an error it returns dst unchanged.
func Append(dst []byte, v any) ([]byte, error) {
	out := appender(dst)
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return dst, err
	}
	return out[:len(out)-len("\n")], nil
}

// appender is a writer that appends.
type appender []byte

func (a *appender) Write(p []byte) (int, error) {
	*a = append(*a, p...)
	return len(p), nil
}

// IsNull reports whether a value is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
