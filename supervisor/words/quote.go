package words

import "strings"

// Quote turns any text into one word for a shell.
func Quote(text string) string {
	plain := text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-+:@%,=", r))
	})
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// QuoteLines marks each line of a quoted text, so that none of them looks like the supervisor's own text.
func QuoteLines(text string) string {
	return "| " + strings.ReplaceAll(lineEnds.Replace(text), "\n", "\n| ")
}

// lineEnds are the characters that a reader may take for the end of a line.
var lineEnds = strings.NewReplacer(
	"\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n",
)

// citedChars bounds how much a sentence cites.
const citedChars = 1000

// Cite shortens a text for a sentence that cites it: one line, of a bounded length.
func Cite(text string) string {
	return Head(strings.Join(strings.Fields(lineEnds.Replace(text)), " "), citedChars)
}
