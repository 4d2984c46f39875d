package card

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
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
	s := scanner{src: raw}
	if !s.take('{') {
		return nil, false
	}
	if s.take('}') {
		return nil, s.end()
	}
	seen := map[string]bool{}
	for {
		quoted := s.value()
		if len(quoted) < 2 || quoted[0] != '"' || !s.take(':') {
			return nil, false
		}
		var key string
		if json.Unmarshal(quoted, &key) != nil {
			return nil, false
		}
		value := s.value()
		if len(value) == 0 || seen[key] || len(list) == maxMembers {
			return nil, false
		}
		seen[key] = true
		list = append(list, member{key, value})
		if s.take('}') {
			return list, s.end()
		}
		if !s.take(',') {
			return nil, false
		}
	}
}

// scanner steps over JSON values without looking into them.
type scanner struct {
	src []byte
	at  int
}

func (s *scanner) blank() {
	for s.at < len(s.src) && strings.IndexByte(" \t\r\n", s.src[s.at]) >= 0 {
		s.at++
	}
}

// take steps over one character, if it is the next.
func (s *scanner) take(c byte) bool {
	s.blank()
	if s.at < len(s.src) && s.src[s.at] == c {
		s.at++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.blank()
	return s.at == len(s.src)
}

// value steps over a value and returns it; nothing if it does not end.
func (s *scanner) value() []byte {
	s.blank()
	start, depth := s.at, 0
	for s.at < len(s.src) {
		switch c := s.src[s.at]; c {
		case '"':
			if !s.text() {
				return nil
			}
		case '{', '[':
			depth++
			s.at++
			continue
		case '}', ']':
			if depth == 0 {
				return s.src[start:s.at]
			}
			depth--
			s.at++
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return s.src[start:s.at]
			}
			s.at++
			continue
		default:
			s.at++
			continue
		}
		if depth == 0 {
			return s.src[start:s.at]
		}
	}
	return s.src[start:s.at]
}

// text steps over a string.
func (s *scanner) text() bool {
	for s.at++; ; {
		i := bytes.IndexByte(s.src[s.at:], '"')
		if i < 0 {
			s.at = len(s.src)
			return false
		}
		s.at += i
		slashes := 0
		for s.at-slashes > 0 && s.src[s.at-slashes-1] == '\\' {
			slashes++
		}
		s.at++
		if slashes%2 == 0 {
			return true
		}
	}
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
func (o Options) long(value []byte) string {
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
func (o Options) structure(raw []byte) string {
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

// concealed says whether an input holds characters that cannot be shown, so that what
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
	depth, deepest := 0, 0
	for s := (scanner{src: raw}); s.at < len(raw); {
		switch raw[s.at] {
		case '"':
			s.text()
			continue
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
		s.at++
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
