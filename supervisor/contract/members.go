package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// member is one field of an object as it was written. encoding/json would fold
// the case of names and let the last of several win; permissions must not be
// decided by such luck.
type member struct {
	key   string
	value json.RawMessage
}

// readMembers splits one JSON object into its fields. After an error the fields
// before the fault are returned with it.
func readMembers(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	tok, err := dec.Token()
	if err != nil {
		return nil, jsonError(err)
	}
	if tok != json.Delim('{') {
		return nil, fmt.Errorf("expected a JSON object, got %s", kindOf(bytes.TrimSpace(data)))
	}
	var all []member
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return all, jsonError(err)
		}
		key, ok := tok.(string)
		if !ok {
			return all, errors.New("not valid JSON: a field's name must be a string")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return all, jsonError(err)
		}
		all = append(all, member{key, value})
	}
	if _, err := dec.Token(); err != nil {
		return all, jsonError(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return all, errors.New("not valid JSON: something follows the object")
	}
	return all, nil
}

func jsonError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not valid JSON: the line ends too early")
	}
	return fmt.Errorf("not valid JSON: %w", err)
}

// joinMembers is the object of the fields in only, of all when it is nil.
func joinMembers(all []member, only map[string]bool) json.RawMessage {
	out := []byte{'{'}
	for _, m := range all {
		if only != nil && !only[m.key] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendQuoted(out, m.key)
		out = append(out, ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// kindOf names the type of a JSON value for a message.
func kindOf(value []byte) string {
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
