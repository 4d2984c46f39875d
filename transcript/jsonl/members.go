package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Member is one field of an object as it was written.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members splits one JSON object into its fields, in order. Decoding into a struct would fold the
// case of names and let the last of several win; what decides a permission must not hang on that.
// After an error the fields before the fault are returned with it.
func Members(data []byte) ([]Member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, syntaxError(err)
	}
	if tok != json.Delim('{') {
		return nil, fmt.Errorf("expected a JSON object, got %s", KindOf(bytes.TrimSpace(data)))
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
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return all, errors.New("not valid JSON: something follows the object")
	}
	return all, nil
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

// String reads a JSON string; null is none.
func String(raw []byte) (s string, err error) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", fmt.Errorf("not a string: %.40q", raw)
	}
	err = json.Unmarshal(raw, &s)
	return s, err
}

// Marshal encodes on one line and leaves <, > and & as they are: models, people and comparisons of
// bytes get what was said.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// IsNull reports whether a value is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
