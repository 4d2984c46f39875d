package command

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
)

// Escaped returns JSON text that is safe to print on a terminal: unprintable characters become JSON escapes.
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
