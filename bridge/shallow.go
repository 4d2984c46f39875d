package bridge

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// members calls yield for each member of the JSON object in data, in order,
// until yield returns false, and says whether data is one object. It decodes no
// value: a nested one is only matched bracket by bracket, so whoever uses a value
// decodes (and thereby validates) it. That makes sorting a line a scan, where
// encoding/json would parse the whole of it, once more, into a map.
func members(data []byte, yield func(key, value []byte) bool) bool {
	i := skipSpace(data, 0)
	if i == len(data) || data[i] != '{' {
		return false
	}
	i = skipSpace(data, i+1)
	if i < len(data) && data[i] == '}' {
		return skipSpace(data, i+1) == len(data)
	}
	for {
		if i == len(data) || data[i] != '"' {
			return false
		}
		end := stringEnd(data, i)
		if end < 0 {
			return false
		}
		key := plainKey(data[i:end])
		i = skipSpace(data, end)
		if i == len(data) || data[i] != ':' {
			return false
		}
		i = skipSpace(data, i+1)
		if end = valueEnd(data, i); end < 0 {
			return false
		}
		if !yield(key, data[i:end]) {
			return true
		}
		i = skipSpace(data, end)
		switch {
		case i < len(data) && data[i] == ',':
			i = skipSpace(data, i+1)
		case i < len(data) && data[i] == '}':
			return skipSpace(data, i+1) == len(data)
		default:
			return false
		}
	}
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\t' || data[i] == '\r' || data[i] == '\n') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that opens at i, or -1. A quote
// is escaped when an odd number of backslashes stands before it.
func stringEnd(data []byte, i int) int {
	for from := i + 1; ; {
		n := bytes.IndexByte(data[from:], '"')
		if n < 0 {
			return -1
		}
		quote := from + n
		slashes := 0
		for quote-1-slashes > i && data[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote + 1
		}
		from = quote + 1
	}
}

// valueEnd returns the index after the value that begins at i, or -1.
func valueEnd(data []byte, i int) int {
	if i == len(data) {
		return -1
	}
	switch data[i] {
	case '"':
		return stringEnd(data, i)
	case '{', '[':
		return bracketEnd(data, i)
	}
	start := i
	for i < len(data) && !endsScalar(data[i]) {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func endsScalar(c byte) bool {
	switch c {
	case ',', '}', ']', ' ', '\t', '\r', '\n', '"':
		return true
	}
	return false
}

func bracketEnd(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = stringEnd(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// plainKey strips the quotes of a member's name, and what else a decoder changes.
func plainKey(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 && utf8.Valid(quoted) {
		return quoted[1 : len(quoted)-1]
	}
	s, _ := unquote(quoted)
	return []byte(s)
}

// unquote decodes a JSON string; ok is false when value is something else.
func unquote(value []byte) (s string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 && utf8.Valid(value) {
		return string(value[1 : len(value)-1]), true
	}
	err := json.Unmarshal(value, &s)
	return s, err == nil
}
