package agents

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// maxName bounds a name, in bytes.
const maxName = 64

// reserved are the names of the parties of a run, which agents may not use.
var reserved = []string{"arbiter", "orchestrator", "supervisor", "human"}

// numbered are the names of Orchestrators in a run: orch-1, Orchestrator IV.
var numbered = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^orch(-[0-9]+|estrator [ivxlcdm]+)$`)
})

// checkName checks that a name can be used in a list, a prompt or a command, and cannot be confused with other
// names there.
func (r *reader) checkName(line int, name string) {
	const want = "want letters, digits and . _ - with single blanks between them"
	if len(name) > maxName {
		r.problem(line, "name", "has %d bytes, at most %d are allowed", len(name), maxName)
		return
	}
	before := ' '
	for _, c := range name {
		letter := unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsDigit(c)
		switch {
		case letter, strings.ContainsRune("._-", c) && before != ' ', c == ' ' && before != ' ':
		default:
			r.problem(line, "name", "%s holds %s: %s", clip(name), called(c), want)
			return
		}
		before = c
	}
	if before == ' ' {
		r.problem(line, "name", "%s ends in a blank: %s", clip(name), want)
		return
	}
	if numbered().MatchString(name) ||
		slices.ContainsFunc(reserved, func(who string) bool { return strings.EqualFold(name, who) }) {
		r.problem(line, "name", "%s is the name of a participant of every run; choose another name", clip(name))
		return
	}
	if twin := lookalike(name); twin != "" {
		r.warn(line, "name", "%+q looks like %s and is another name", name, twin)
	} else if mixed(name) {
		r.warn(line, "name", "%+q mixes letters of several scripts", name)
	}
}

// lookalike is the reserved or built-in name that a person would mistake this one for.
func lookalike(name string) string {
	known := append([]string(nil), reserved...)
	if entries, err := files.ReadDir("builtin"); err == nil {
		for _, e := range entries {
			known = append(known, strings.TrimSuffix(e.Name(), ".md"))
		}
	}
	for _, other := range known {
		if name != other && skeleton(name) == skeleton(other) {
			return other
		}
	}
	return ""
}

// confusable are letters and digits that look like Latin letters.
var confusable = strings.NewReplacer(
	"а", "a", "в", "b", "с", "c", "ԁ", "d", "е", "e", "ё", "e", "һ", "h", "і", "i", "ї", "i", "ј", "j", "к", "k", "ӏ",
	"l", "м", "m", "п", "n", "о", "o", "р", "p", "ԛ", "q", "г", "r", "ѕ", "s", "т", "t", "ц", "u", "ѵ", "v", "ѡ", "w",
	"х", "x", "у", "y", "ԝ", "w", "α", "a", "β", "b", "ε", "e", "η", "n", "ι", "i", "κ", "k", "ν", "v", "ο", "o", "ρ",
	"p", "τ", "t", "υ", "u", "χ", "x", "γ", "y", "ı", "i", "ɑ", "a", "ɡ", "g", "ⅼ", "l", "ⅰ", "i", "օ", "o", "ո", "n",
	"ս", "u", "հ", "h", "0", "o", "1", "l", "3", "e", "5", "s", "rn", "m", "vv", "w", "-", "", "_", "", ".", "", " ",
	"",
)

// skeleton is what a name looks like: in lower case, without marks and separators.
func skeleton(name string) string {
	var b strings.Builder
	for _, c := range strings.ToLower(name) {
		switch {
		case unicode.IsMark(c):
		case c >= 0xFF21 && c <= 0xFF5A: // full width
			b.WriteRune(unicode.ToLower(c - 0xFEE0))
		case c >= 0x1D400 && c <= 0x1D6A3: // mathematical letters, 52 to an alphabet
			b.WriteRune('a' + (c-0x1D400)%26)
		default:
			b.WriteRune(c)
		}
	}
	return confusable.Replace(b.String())
}

// mixed reports whether a name contains both Latin letters and letters of a similar script.
func mixed(name string) bool {
	latin := func(c rune) bool { return unicode.Is(unicode.Latin, c) }
	similar := func(c rune) bool { return unicode.In(c, unicode.Cyrillic, unicode.Greek, unicode.Armenian) }
	return strings.ContainsFunc(name, latin) && strings.ContainsFunc(name, similar)
}

// hidden reports text that a person who reads the file does not see, or sees in another order. line is the line
// where the text begins.
func (r *reader) hidden(text string, line int, field string) {
	before := rune(0)
	for _, c := range text {
		switch {
		case c == '\n':
			line++
		case isTag(c) && before != 0x1F3F4 && !isTag(before): // flags of regions are encoded with them
			r.problem(line, field, "text that cannot be seen stands here (%U): remove it", c)
			return
		case c >= 0x202A && c <= 0x202E || c >= 0x2066 && c <= 0x2069:
			r.warn(line, field, "%U changes the order in which the text is shown", c)
			return
		}
		before = c
	}
}

// isTag recognises the tag characters, which are invisible but which models read.
func isTag(c rune) bool { return c >= 0xE0000 && c <= 0xE007F }

func isControl(c rune) bool { return c < ' ' || c >= 0x7F && c <= 0x9F }

// called names a character visibly.
func called(c rune) string {
	if c > ' ' && c < 0x7F {
		return fmt.Sprintf("%q", string(c))
	}
	return fmt.Sprintf("%U", c)
}

// clip shows a value of a file in a message: quoted, whatever it contains, and shortened.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
