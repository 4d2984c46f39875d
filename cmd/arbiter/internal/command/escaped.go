package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Escaped returns JSON for a terminal: what does not print is written as escapes of JSON.
func Escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
