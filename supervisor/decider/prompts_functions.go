package decider

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"time"
	"unicode"
)

// maxWork bounds the work of one execution of a template: bytes that its functions produce, and stepWork for
// each iteration of a loop or call of a template.
const (
	maxWork  = 4 << 20
	stepWork = 256
)

// budget counts the work. It does not use a clock, so the same input always renders the same text.
type budget struct{ left int }

var errWork = errors.New("too much work")

func (b *budget) spend(n int) error {
	if n < 0 || n > b.left {
		b.left = -1
		return errWork
	}
	b.left -= n
	return nil
}

// functions are the functions for templates, besides the language's own comparisons, index, slice, len, and, or
// and not. The language's other functions that produce text are not offered, because they are unbounded.
func (b *budget) functions() template.FuncMap {
	none := func(...any) (string, error) {
		return "", errors.New("this function is not offered; json, indent, cut, line, span and printf are")
	}
	return template.FuncMap{
		"step":   func() (string, error) { return "", b.spend(stepWork) },
		"json":   b.json,
		"indent": b.indent,
		"cut":    b.cut,
		"line":   b.line,
		"span":   span,
		"printf": b.printf,
		"print":  none, "println": none, "html": none, "js": none, "urlquery": none,
	}
}

// json writes a value as JSON, on one line.
func (b *budget) json(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return string(text), b.spend(len(text))
}

// indent quotes a text: each line begins with the prefix, whatever characters end lines in some program, and
// control characters are removed. No text can produce a line without the prefix.
func (b *budget) indent(prefix string, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	lines := 1
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			lines++
			return '\n'
		case r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	if err := b.spend(len(clean) + lines*(len(prefix)+1)); err != nil {
		return "", err
	}
	return prefix + strings.ReplaceAll(clean, "\n", "\n"+prefix), nil
}

// cut shortens a text to so many runes, and keeps what is important (Cut).
func (b *budget) cut(most int, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	if most < 0 || most > MaxPrompt {
		return "", fmt.Errorf("cut to %d runes", most)
	}
	return Cut(text, most), b.spend(len(text) + 1)
}

// line turns a text into one line, of at most so many runes.
func (b *budget) line(most int, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
	return b.cut(most, strings.Join(strings.Fields(text), " "))
}

// textOf accepts texts of any string type, such as a status.
func textOf(v any) (string, error) {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.String {
		return "", fmt.Errorf("a %T where a text belongs", v)
	}
	return r.String(), nil
}

// span formats milliseconds for people.
func span(ms int64) string {
	d := time.Duration(min(max(ms, 0), 1<<40)) * time.Millisecond
	if d >= 10*time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}

// printf formats texts, numbers and booleans; widths have two digits at most.
func (b *budget) printf(format string, args ...any) (string, error) {
	digits := 0
	for _, r := range format {
		if digits++; !unicode.IsDigit(r) {
			digits = 0
		}
		if r == '*' || r == '[' || digits > 2 {
			return "", fmt.Errorf("printf %q: no *, no [, and no number above 99", format)
		}
	}
	work := len(format)
	for _, a := range args {
		work += 128
		switch r := reflect.ValueOf(a); {
		case !r.IsValid():
			return "", errors.New("printf of nothing")
		case r.Kind() == reflect.String:
			work += 4 * r.Len()
		case r.Kind() > reflect.Float64:
			return "", fmt.Errorf("printf of a %T: it takes texts and numbers", a)
		}
	}
	if err := b.spend(work); err != nil {
		return "", err
	}
	return fmt.Sprintf(format, args...), nil
}
