package main

import (
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// stderrWriter is stderr: whatever is quoted on it, a path, an argument, a word of Claude's, a
// terminal acts on none of it, and no secret stays there. A write is whole lines.
type stderrWriter struct{ w io.Writer }

func (p stderrWriter) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.w, sanitize.Text(sanitize.Redact(string(text)))); err != nil {
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

// bytesOf is stdout as it was before withSafeOutput, for what is no JSON.
func bytesOf(w io.Writer) io.Writer {
	if safe, ok := w.(*jsonSafe); ok {
		return safe.w
	}
	return w
}

// onTerminal reports whether what is written is seen at once.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// withSafeOutput is e for such a command.
func (e env) withSafeOutput() env {
	e.stdout = &jsonSafe{w: e.stdout}
	return e
}
