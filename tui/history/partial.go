package history

import (
	"bytes"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// whole returns the length of b without an incomplete rune at its end.
func whole(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// open reports whether a JSON object has begun and not ended.
func open(raw []byte) bool {
	var any json.RawMessage
	err := json.NewDecoder(bytes.NewReader(raw)).Decode(&any)
	return err == io.ErrUnexpectedEOF && bytes.HasPrefix(bytes.TrimLeft(raw, " \t\r\n"), []byte("{"))
}

// partialMessage returns the top-level string member "message" of a JSON object that is still arriving, as far as it
// has arrived: escapes are decoded, and an incomplete one is left out. If there are several, the last one counts.
func partialMessage(raw []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	message := ""
	for {
		key, err := d.Token()
		if name, ok := key.(string); err != nil || !ok {
			return []byte(message)
		} else if name == "message" {
			message = ""
			rest := bytes.TrimLeft(raw[d.InputOffset():], ": \t\r\n")
			if len(rest) > 0 && rest[0] == '"' {
				message = partialString(rest)
			}
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return []byte(message)
		}
	}
}

// partialString decodes a JSON string that may not have an end yet.
func partialString(quoted []byte) string {
	end := 1
	for end < len(quoted) && quoted[end] != '"' && !incomplete(quoted[end:]) {
		end += unit(quoted[end:])
	}
	end = whole(quoted[:end])
	var text string
	if json.Unmarshal(append(quoted[:end:end], '"'), &text) != nil {
		return string(quoted[1:end])
	}
	return text
}

// incomplete reports whether a text begins with an escape that is cut off, or with the first half of a character of
// two, whose second half may follow.
func incomplete(s []byte) bool {
	switch {
	case s[0] != '\\' || len(s) > 1 && s[1] != 'u':
		return false
	case len(s) < 6:
		return true
	}
	high := s[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), s[3]) >= 0
	low := s[6:]
	return high && len(low) < 6 && bytes.HasPrefix([]byte(`\u`), low[:min(len(low), 2)])
}
