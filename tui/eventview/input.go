package eventview

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// member is one of a tool input's top-level members. Value is JSON.
type member struct {
	key   string
	value []byte
}

// maxMembers is how many members of an input are told apart. No tool takes so many;
// an input that has more is shown as it is.
const maxMembers = 64

// members reads an input only so far as to find its members: what is in them may be
// a megabyte of text, of which a folded card shows nothing. Sound is false if it is
// no object, has too many members, or one of them twice, so that it cannot be told
// which of the two will count.
func members(raw []byte) (list []member, sound bool) {
	seen, odd := map[string]bool{}, false
	sound = jsonl.Members(raw, func(key, value []byte) bool {
		m := member{string(key), value}
		odd = seen[m.key] || len(list) == maxMembers
		seen[m.key], list = true, append(list, m)
		return !odd
	})
	if !sound || odd {
		return nil, false
	}
	return list, true
}

// find is the value of a member.
func find(list []member, key string) ([]byte, bool) {
	for _, m := range list {
		if m.key == key {
			return m.value, true
		}
	}
	return nil, false
}

// long is a value as text: a string's own, of anything else its JSON.
func long(value []byte) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return sanitize.Text(text)
	}
	return sanitize.Text(strings.ToValidUTF8(string(value), "\uFFFD"))
}

// long is a value as text, over many lines where it has parts. Where only a few lines
// are wanted, not much more is decoded.
func (o inputs) long(value []byte) string {
	if len(value) == 0 {
		return ""
	}
	if value[0] != '"' {
		return o.structure(value)
	}
	if o.most == 0 {
		return long(value)
	}
	if len(value) > 4*wholeBytes {
		value = append(whole(value[:4*wholeBytes]), '"')
	}
	return beginning(long(value), o.most)
}

// structure is the JSON of an object or a list, likewise.
func (o inputs) structure(raw []byte) string {
	if o.most > 0 && len(raw) > 4*wholeBytes {
		return beginning(long(raw[:4*wholeBytes]), o.most)
	}
	return pretty(raw)
}

// brief is a value on one line, of so many characters at most. Only as much of it is
// decoded.
func brief(value []byte, max int) string {
	const longest = len(`\ud83d\ude00`) // a character as JSON may write it
	if len(value) > longest*(max+2) {
		value = value[:longest*(max+2)]
		if value[0] != '"' {
			return one(string(value), max)
		}
		value = append(whole(value), '"')
	}
	return one(long(value), max)
}

// whole is the beginning of a JSON string without the escape it ends within, or half
// of a surrogate pair.
func whole(quoted []byte) []byte {
	end := 1
	for i := 1; i < len(quoted); {
		n := 1
		if quoted[i] == '\\' {
			n = 2
			if i+1 < len(quoted) && quoted[i+1] == 'u' {
				n = 6
			}
		}
		if i += n; i <= len(quoted) {
			end = i
		}
	}
	if high := bytes.ToLower(quoted[max(end-6, 0):end]); len(high) == 6 && bytes.HasPrefix(high, []byte(`\ud`)) && high[3] >= '8' && high[3] <= 'b' {
		end -= len(high)
	}
	return quoted[:end:end]
}

// concealed reports whether an input holds characters that cannot be shown, so that what
// is shown of it is not exactly what it is.
func concealed(raw json.RawMessage) bool {
	list, sound := members(raw)
	if !sound {
		return changed(string(raw))
	}
	for _, m := range list {
		text := string(m.value) // escapes of what is not text of its own are shown as such
		if m.value[0] == '"' && json.Unmarshal(m.value, &text) != nil {
			return true
		}
		if changed(m.key) || changed(text) {
			return true
		}
	}
	return false
}

func changed(text string) bool {
	return sanitize.Text(text) != strings.ReplaceAll(text, "\r\n", "\n")
}

// unseen is said of an input that holds characters that cannot be shown.
const unseen = "It holds characters that cannot be shown; they are left out here."

// maxNesting is how deep JSON is indented. Every step costs its room in every line.
const maxNesting = 32

// nesting is how deep the values of JSON lie in one another at most.
func nesting(raw []byte) int {
	depth, deepest, text := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{', c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return deepest
}

// pretty is JSON over many lines; what is none, or too deep, is shown as it is.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if nesting(raw) > maxNesting || json.Indent(&b, raw, "", "  ") != nil {
		return sanitize.Text(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	return sanitize.Text(b.String())
}
