package jsonl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Scanner walks a JSON object and builds nothing of what it passes over: strings
// are skipped from quote to quote, nested values bracket by bracket. It checks
// less than a parser does, but it does not take a torn line for a whole one: what
// stands outside of strings must be able to stand there, which the inside of a
// string, a key with its letters first, is not. Whoever uses a value decodes, and
// thereby checks it.
//
//	s := jsonl.Scanner{Data: line}
//	for key, ok := s.First(); ok; key, ok = s.Next() { value := s.Value(); … }
type Scanner struct {
	Data []byte
	At   int  // where it is: behind the object, at the end
	Bad  bool // what was found is no object
}

// Members calls yield for each member of the one JSON object in data, in order, until
// yield returns false, and reports whether data is one object, as far as it was looked at.
func Members(data []byte, yield func(key, value []byte) bool) bool {
	s := Scanner{Data: data}
	s.blank()
	for key, ok := s.First(); ok; key, ok = s.Next() {
		value := s.Value()
		if s.Bad {
			return false
		}
		if !yield(key, value) {
			return true
		}
	}
	s.blank()
	return !s.Bad && s.At == len(data)
}

// Elements calls yield for each element of the one JSON list in data, in order, and says
// whether data is one list.
func Elements(data []byte, yield func(value []byte)) bool {
	s := Scanner{Data: data}
	s.blank()
	if !s.take('[') {
		return false
	}
	s.blank()
	for more := !s.take(']'); more; {
		value := s.Value()
		s.blank()
		more = s.take(',')
		if s.Bad || !more && !s.take(']') {
			return false
		}
		yield(value)
		s.blank()
	}
	s.blank()
	return s.At == len(data)
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

func (s *Scanner) fail() { s.Bad = true }

func (s *Scanner) blank() {
	for s.At < len(s.Data) && (s.Data[s.At] == ' ' || s.Data[s.At] == '\t' || s.Data[s.At] == '\r' ||
		s.Data[s.At] == '\n') {
		s.At++
	}
}

// take steps over a byte, and reports whether it was there.
func (s *Scanner) take(b byte) bool {
	if s.At < len(s.Data) && s.Data[s.At] == b {
		s.At++
		return true
	}
	return false
}

// First enters an object and returns its first key; ok is false when there is none.
func (s *Scanner) First() (key []byte, ok bool) {
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

// Next returns the key after a value; ok is false at the object's end.
func (s *Scanner) Next() (key []byte, ok bool) {
	if s.Bad {
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
func (s *Scanner) key() (key []byte, ok bool) {
	quoted := s.str()
	s.blank()
	if s.Bad || !s.take(':') {
		s.fail()
		return nil, false
	}
	s.blank()
	key = quoted[1 : len(quoted)-1]
	if !Plain(key) {
		decoded, err := String(quoted)
		if err != nil {
			s.fail()
			return nil, false
		}
		key = []byte(decoded)
	}
	return key, true
}

// str steps over a string and returns it with its quotes.
func (s *Scanner) str() []byte {
	if s.At >= len(s.Data) || s.Data[s.At] != '"' {
		s.fail()
		return nil
	}
	end := stringEnd(s.Data, s.At)
	if end < 0 {
		s.fail()
		return nil
	}
	from := s.At
	s.At = end
	return s.Data[from:end]
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

// Value steps over any value and returns its text.
func (s *Scanner) Value() []byte {
	if s.Bad || s.At >= len(s.Data) {
		s.fail()
		return nil
	}
	from := s.At
	switch classes[s.Data[from]] {
	case quote:
		return s.str()
	case opening:
		s.nested()
	case bare:
		for s.At < len(s.Data) && isScalar(s.Data[s.At]) {
			s.At++
		}
		if s.At == from {
			s.fail()
		}
	default:
		s.fail()
	}
	if s.Bad {
		return nil
	}
	return s.Data[from:s.At]
}

func isScalar(b byte) bool {
	return classes[b] == bare && b != ',' && b != ':' && b > ' '
}

// nested steps over an object or a list.
func (s *Scanner) nested() {
	data, i, depth := s.Data, s.At, 0
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
				s.At = i
				return
			}
		default:
			s.fail()
			return
		}
	}
	s.fail()
}

// Opens reports whether the value that comes is an object.
func (s *Scanner) Opens() bool { return s.At < len(s.Data) && s.Data[s.At] == '{' }

var errNoString = errors.New("not a string")

// escapes of one character, by what stands behind the backslash.
var escapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', '"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f'}

// String reads a JSON string. One whose escapes, if any, are of one character, as nearly
// all are, is only copied.
func String(raw []byte) (string, error) {
	if len(raw) < 2 || raw[0] != '"' || raw[len(raw)-1] != '"' {
		return "", fmt.Errorf("%w: %.40q", errNoString, raw)
	}
	var s strings.Builder
	s.Grow(len(raw) - 2)
	for body := raw[1 : len(raw)-1]; ; {
		plain, rest, escaped := bytes.Cut(body, []byte(`\`))
		if !Plain(plain) || escaped && (len(rest) == 0 || escapes[rest[0]] == 0) {
			break
		}
		s.Write(plain)
		if !escaped {
			return s.String(), nil
		}
		s.WriteByte(escapes[rest[0]])
		body = rest[1:]
	}
	var other string
	err := json.Unmarshal(raw, &other)
	return other, err
}

// Natural reads a JSON number that is written in digits alone, as nearly all are.
func Natural(raw []byte) (n int, ok bool) {
	if len(raw) == 0 || len(raw) > 15 || raw[0] == '0' && len(raw) > 1 {
		return 0, false
	}
	for _, b := range raw {
		if b < '0' || b > '9' {
			return 0, false
		}
		n = n*10 + int(b-'0')
	}
	return n, true
}

// Plain reports whether the inside of a JSON string stands for itself.
func Plain(body []byte) bool {
	ascii := true
	for _, b := range body {
		if b == '\\' || b == '"' || b < ' ' {
			return false
		}
		ascii = ascii && b < utf8.RuneSelf
	}
	return ascii || utf8.Valid(body)
}

// IsNull reports whether a value is absent or null.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }
