package command

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Stderr writes to stderr: whatever is quoted on it, a path, an argument, a word of Claude's, a
// terminal acts on none of it, and no secret stays there. A write is whole lines.
type Stderr struct{ W io.Writer }

func (p Stderr) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.W, sanitize.Text(sanitize.Redact(string(text)))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// jsonSafe is stdout of a command that tells something: in JSON a terminal acts on nothing
// either. What is for people is made fit where it is printed, and passes as it is.
type jsonSafe struct {
	w    io.Writer
	rest []byte // the beginning of a character whose end is not written yet
	line []byte
}

func (t *jsonSafe) Write(text []byte) (int, error) {
	all := text
	if len(t.rest) > 0 {
		all = append(t.rest, text...)
	}
	whole := len(all)
	for back := 1; back < utf8.UTFMax && back <= len(all); back++ {
		if b := all[len(all)-back]; utf8.RuneStart(b) {
			if !utf8.FullRune(all[len(all)-back:]) {
				whole = len(all) - back
			}
			break
		}
	}
	t.line = contract.AppendSafe(t.line[:0], all[:whole])
	t.rest = append([]byte(nil), all[whole:]...)
	if _, err := t.w.Write(t.line); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Raw is stdout as it was before withSafeOutput, for what is not JSON.
func Raw(w io.Writer) io.Writer {
	if safe, ok := w.(*jsonSafe); ok {
		return safe.w
	}
	return w
}

// OnTerminal reports whether what is written is seen at once.
func OnTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// WithSafeOutput is e for such a command.
func (e Env) WithSafeOutput() Env {
	e.Stdout = &jsonSafe{w: e.Stdout}
	return e
}

// SpeaksUTF8 reports whether the locale does.
func SpeaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
