package decider

import (
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// APIKey is an API key. No verb of fmt and no encoder prints it.
type APIKey struct{ text string }

// NewKey makes a key from a variable's value. White space around it, such as the newline of the file that it
// was read from, is removed.
func NewKey(value string) APIKey { return APIKey{strings.TrimSpace(value)} }

// String implements fmt.Stringer, for all verbs that print strings.
func (k APIKey) String() string {
	if k.text == "" {
		return ""
	}
	return sanitize.Mark(len(k.text))
}

// GoString implements fmt.GoStringer, for %#v.
func (k APIKey) GoString() string { return k.String() }

// MarshalText implements encoding.TextMarshaler, for JSON and logs.
func (k APIKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Empty reports whether there is no key.
func (k APIKey) Empty() bool { return k.text == "" }

// valid reports whether the key can be sent in a header.
func (k APIKey) valid() bool {
	return !strings.ContainsFunc(k.text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// leastMasked is the minimal length of a key that is masked in other texts: a shorter one, such as the
// placeholder for a local server, may be an ordinary word.
const leastMasked = 8

// mask removes the key from a text.
func (k APIKey) mask(text string) string {
	if len(k.text) < leastMasked {
		return text
	}
	return strings.ReplaceAll(text, k.text, k.String())
}
