package modelapi

import (
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// Key is an API key. No verb of fmt and no encoder prints it.
type Key struct{ text string }

// NewKey makes one of a variable's value. White space around it, such as the newline of a file that it was read
// from, is no part of a key.
func NewKey(value string) Key { return Key{strings.TrimSpace(value)} }

// String implements fmt.Stringer, for all verbs that print strings.
func (k Key) String() string {
	if k.text == "" {
		return ""
	}
	return sanitize.Mark(len(k.text))
}

// GoString implements fmt.GoStringer, for %#v.
func (k Key) GoString() string { return k.String() }

// MarshalText implements encoding.TextMarshaler, for JSON and logs.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Empty reports whether there is none.
func (k Key) Empty() bool { return k.text == "" }

// valid reports whether the key can stand in a header.
func (k Key) valid() bool {
	return !strings.ContainsFunc(k.text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// leastMasked is how long a key is at least that is looked for in other texts: a shorter one, such as the
// placeholder of a local server, is a word that stands there for itself.
const leastMasked = 8

// mask takes the key out of a text.
func (k Key) mask(text string) string {
	if len(k.text) < leastMasked {
		return text
	}
	return strings.ReplaceAll(text, k.text, k.String())
}
