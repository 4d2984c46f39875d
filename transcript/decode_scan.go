package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// scanner walks a JSON object and builds nothing of what it passes over: strings
// are skipped from quote to quote, nested values bracket by bracket. It checks
// less than a parser does, but it does not take a torn line for a whole one: what
// stands outside of strings must be able to stand there, which the inside of a
// string, a key with its letters first, is not.
type scanner struct {
	data []byte
	at   int
	bad  bool // what was found is no object
}

// class of a byte outside of strings.
type class uint8

const (
	foreign class = iota // cannot stand there
	bare                 // of a number or a word, a comma, a colon, a blank
	quote
	opening
	closer
)

var classes = func() (c [256]class) {
	for _, b := range []byte("0123456789+-.eE truefalsn,:\t\r\n") {
		c[b] = bare
	}
	c['"'], c['{'], c['['], c['}'], c[']'] = quote, opening, opening, closer, closer
	return c
}()

func (s *scanner) fail() { s.bad = true }

func (s *scanner) blank() {
	for s.at < len(s.data) && (s.data[s.at] == ' ' || s.data[s.at] == '\t' || s.data[s.at] == '\r' || s.data[s.at] == '\n') {
		s.at++
	}
}

// take steps over a byte, and says whether it was there.
func (s *scanner) take(b byte) bool {
	if s.at < len(s.data) && s.data[s.at] == b {
		s.at++
		return true
	}
	return false
}

// first enters an object and returns its first key; ok is false when there is none.
func (s *scanner) first() (key []byte, ok bool) {
	if !s.take('{') {
		s.fail()
		return nil, false
	}
	s.blank()
	if s.take('}') {
		return nil, false
	}
	return s.key()
}

// next returns the key after a value; ok is false at the object's end.
func (s *scanner) next() (key []byte, ok bool) {
	if s.bad {
		return nil, false
	}
	s.blank()
	if s.take('}') {
		return nil, false
	}
	if !s.take(',') {
		s.fail()
		return nil, false
	}
	s.blank()
	return s.key()
}

// key reads a key and stops at its value.
func (s *scanner) key() (key []byte, ok bool) {
	quoted := s.str()
	s.blank()
	if s.bad || !s.take(':') {
		s.fail()
		return nil, false
	}
	s.blank()
	key = quoted[1 : len(quoted)-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		var decoded string
		if json.Unmarshal(quoted, &decoded) != nil {
			s.fail()
			return nil, false
		}
		key = []byte(decoded)
	}
	return key, true
}

// str steps over a string and returns it with its quotes.
func (s *scanner) str() []byte {
	if s.at >= len(s.data) || s.data[s.at] != '"' {
		s.fail()
		return nil
	}
	end := stringEnd(s.data, s.at)
	if end < 0 {
		s.fail()
		return nil
	}
	from := s.at
	s.at = end
	return s.data[from:end]
}

// stringEnd returns the index after the string that opens at i, -1 if it has no
// end. A quote is escaped if an odd number of backslashes stands before it.
func stringEnd(data []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return -1
		}
		at := from + n
		slashes := 0
		for data[at-1-slashes] == '\\' { // ends at the opening quote
			slashes++
		}
		if slashes%2 == 0 {
			return at + 1
		}
		from = at + 1
	}
}

// value steps over any value and returns its text.
func (s *scanner) value() []byte {
	if s.bad || s.at >= len(s.data) {
		s.fail()
		return nil
	}
	from := s.at
	switch classes[s.data[from]] {
	case quote:
		return s.str()
	case opening:
		s.nested()
	case bare:
		for s.at < len(s.data) && isScalar(s.data[s.at]) {
			s.at++
		}
		if s.at == from {
			s.fail()
		}
	default:
		s.fail()
	}
	if s.bad {
		return nil
	}
	return s.data[from:s.at]
}

func isScalar(b byte) bool {
	return classes[b] == bare && b != ',' && b != ':' && b > ' '
}

// nested steps over an object or a list.
func (s *scanner) nested() {
	data, i, depth := s.data, s.at, 0
	for i < len(data) {
		switch classes[data[i]] {
		case bare:
			i++
		case quote:
			if i = stringEnd(data, i); i < 0 {
				s.fail()
				return
			}
		case opening:
			depth++
			i++
		case closer:
			i++
			if depth--; depth == 0 {
				s.at = i
				return
			}
		default:
			s.fail()
			return
		}
	}
	s.fail()
}

var (
	errNoObject  = errors.New("not an object")
	errNoString  = errors.New("not a string")
	errNoBoolean = errors.New("not a boolean")
)

// stringOf reads a string; absent and null are empty. Plain ones, which nearly all
// are, are only copied.
func stringOf(raw []byte) (string, error) {
	switch {
	case isNull(raw):
		return "", nil
	case raw[0] != '"':
		return "", errNoString
	}
	body := raw[1 : len(raw)-1]
	if simple(body) {
		return string(body), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

// simple: the string stands for itself.
func simple(body []byte) bool {
	if len(body) > 256 {
		return bytes.IndexByte(body, '\\') < 0 && bytes.IndexFunc(body, func(r rune) bool { return r < ' ' || r == utf8.RuneError }) < 0
	}
	for _, b := range body {
		if b == '\\' || b < ' ' || b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func boolean(raw []byte) (bool, error) {
	switch {
	case string(raw) == "true":
		return true, nil
	case isNull(raw), string(raw) == "false":
		return false, nil
	}
	return false, errNoBoolean
}

// integer reads a count; absent and null are 0.
func integer(raw []byte) (int, error) {
	if isNull(raw) {
		return 0, nil
	}
	n := 0
	for i, b := range raw {
		if b < '0' || b > '9' || i == 15 || i == 1 && n == 0 {
			var odd int // a sign, an exponent, a word
			err := json.Unmarshal(raw, &odd)
			return odd, err
		}
		n = n*10 + int(b-'0')
	}
	return n, nil
}

func isNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
