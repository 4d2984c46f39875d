package eventtext

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Member is one of the top-level members of a tool's input. Value is JSON.
type Member = jsonl.Member

// maxMembers is the most members of an input that are shown separately. No tool has so many; an input with
// more is shown as it is.
const maxMembers = 64

// Members splits an input into its members. sound is false if it is not an object, has too many members, or
// has one of them twice, so that it is undetermined which of the two the tool uses.
func Members(raw []byte) (list []Member, sound bool) {
	list, err := jsonl.Members(raw)
	if err != nil || len(list) > maxMembers {
		return nil, false
	}
	seen := map[string]bool{}
	for _, m := range list {
		if seen[m.Key] {
			return nil, false
		}
		seen[m.Key] = true
	}
	return list, true
}

// Find returns the value of a member.
func Find(list []Member, key string) ([]byte, bool) {
	for _, m := range list {
		if m.Key == key {
			return m.Value, true
		}
	}
	return nil, false
}

// long returns a value as text: a string's content, and the JSON of any other value.
func long(value []byte) string {
	var text string
	if len(value) > 0 && value[0] == '"' && json.Unmarshal(value, &text) == nil {
		return sanitize.Text(text)
	}
	return sanitize.Text(strings.ToValidUTF8(string(value), "\uFFFD"))
}

// Value returns a value as text, over several lines if it has parts. If only some lines are wanted (0:
// all), little more is decoded.
func Value(value []byte, lines int) string {
	if len(value) == 0 {
		return ""
	}
	if value[0] != '"' {
		return Structure(value, lines)
	}
	if lines == 0 {
		return long(value)
	}
	if len(value) > 4*MaxFullText {
		value = append(whole(value[:4*MaxFullText]), '"')
	}
	return Beginning(long(value), lines)
}

// Structure returns the JSON of an object or a list in the same way.
func Structure(raw []byte, lines int) string {
	if lines > 0 && len(raw) > 4*MaxFullText {
		return Beginning(long(raw[:4*MaxFullText]), lines)
	}
	return pretty(raw)
}

// brief returns a value on one line, with at most max characters. It decodes only as much as it needs.
func brief(value []byte, max int) string {
	const longest = len(`\ud83d\ude00`) // a character as JSON may write it
	if len(value) > longest*(max+2) {
		value = value[:longest*(max+2)]
		if value[0] != '"' {
			return One(string(value), max)
		}
		value = append(whole(value), '"')
	}
	return One(long(value), max)
}

// whole returns the beginning of a JSON string without an incomplete escape, or half of a surrogate pair,
// at its end.
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
	if high := bytes.ToLower(quoted[max(end-6, 0):end]); len(high) == 6 && bytes.HasPrefix(high, []byte(`\ud`)) &&
		high[3] >= '8' && high[3] <= 'b' {
		end -= len(high)
	}
	return quoted[:end:end]
}

// Concealed reports whether an input contains characters that cannot be shown, so that what is shown
// differs from the input.
func Concealed(raw json.RawMessage) bool {
	list, sound := Members(raw)
	if !sound {
		return changed(string(raw))
	}
	for _, m := range list {
		text := string(m.Value) // escapes outside of top-level strings are shown as they are
		if m.Value[0] == '"' && json.Unmarshal(m.Value, &text) != nil {
			return true
		}
		if changed(m.Key) || changed(text) {
			return true
		}
	}
	return false
}

func changed(text string) bool {
	return sanitize.Text(text) != strings.ReplaceAll(text, "\r\n", "\n")
}

// Unseen is shown with an input that contains characters that cannot be shown.
const Unseen = "It contains characters that cannot be shown; they are left out here."

// maxNesting is how deep JSON is indented. Every level takes room in every line.
const maxNesting = 32

// nesting returns the depth of nested JSON values.
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

// pretty returns JSON over several lines; what is not JSON, or too deep, is returned as it is.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if nesting(raw) > maxNesting || json.Indent(&b, raw, "", "  ") != nil {
		return sanitize.Text(strings.ToValidUTF8(string(raw), "\uFFFD"))
	}
	return sanitize.Text(b.String())
}

// Beginning returns about as much of a long text as some lines show: whole lines if they are not too long.
func Beginning(text string, lines int) string {
	end := min(len(text), MaxFullText)
	for i := 0; i < end; i++ {
		if text[i] != '\n' {
			continue
		}
		if lines--; lines == 0 {
			return text[:i]
		}
	}
	if i := strings.LastIndexByte(text[:end], '\n'); i > 0 && end < len(text) {
		return text[:i]
	}
	for end > 0 && end < len(text) && text[end]&0xc0 == 0x80 {
		end--
	}
	return text[:end]
}

// MaxFullText is the length up to which a text is laid out completely only to count exactly how many lines
// are folded. For a longer text, its own lines are counted.
const MaxFullText = 8 << 10
