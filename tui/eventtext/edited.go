package eventtext

import (
	"bytes"
	"encoding/json"
)

// EditedLines counts the lines that a call of an editing tool adds to a file and removes from it; 0 and 0 for other
// tools. A Write counts as if the file had been empty.
func EditedLines(tool string, input json.RawMessage) (added, removed int) {
	list, _ := Members(input)
	switch tool {
	case "Write":
		return lines(inner(list, "content")), 0
	case "Edit":
		return unlike(list)
	case "MultiEdit":
		value, _ := Find(list, "edits")
		var edits []json.RawMessage
		if json.Unmarshal(value, &edits) != nil {
			return 0, 0
		}
		for _, raw := range edits {
			edit, _ := Members(raw)
			plus, minus := unlike(edit)
			added, removed = added+plus, removed+minus
		}
	}
	return added, removed
}

// newline is the JSON escape of a line end.
var newline = []byte(`\n`)

// inner returns the JSON string of a member without its quotes.
func inner(list []Member, key string) []byte {
	value, _ := Find(list, key)
	return bytes.Trim(value, `"`)
}

// lines counts the lines of a JSON string without its quotes.
func lines(text []byte) int {
	if len(text) == 0 {
		return 0
	}
	n := bytes.Count(text, newline)
	if !bytes.HasSuffix(text, newline) {
		n++
	}
	return n
}

// unlike skips the equal lines at the beginning and end of the texts of an edit, and counts the others.
func unlike(edit []Member) (added, removed int) {
	split := func(key string) [][]byte {
		text := inner(edit, key)
		if len(text) == 0 {
			return nil
		}
		return bytes.Split(text, newline)
	}
	a, b := split("old_string"), split("new_string")
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return len(b), len(a)
}
