package command

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Program is how a shell finds this program: by its name, or else by its path, as in a clone that was only built.
func Program() string {
	const name = "arbiter"
	self, err := os.Executable()
	if err != nil || filepath.Base(self) != name {
		return name
	}
	if found, err := exec.LookPath(name); err == nil && SameDir(found, self) {
		return name
	}
	return words.Quote(self)
}

// Stderr writes to stderr. It escapes control sequences and masks secrets, because messages quote paths, arguments
// and output of Claude. Each write must have whole lines.
type Stderr struct{ W io.Writer }

func (p Stderr) Write(text []byte) (int, error) {
	if _, err := io.WriteString(p.W, sanitize.Text(sanitize.Redact(string(text)))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// jsonSafe is the stdout of a command that prints JSON. It escapes characters on which a terminal would act. Text
// for people is sanitized where it is printed, and passes unchanged.
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

// Raw returns stdout without the wrapper of WithSafeOutput, for output that is not JSON.
func Raw(w io.Writer) io.Writer {
	if safe, ok := w.(*jsonSafe); ok {
		return safe.w
	}
	return w
}

// OnTerminal reports whether w is a terminal.
func OnTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// WithSafeOutput returns e with a stdout whose JSON is safe to print on a terminal.
func (e Env) WithSafeOutput() Env {
	e.Stdout = &jsonSafe{w: e.Stdout}
	return e
}

// SpeaksUTF8 reports whether the locale uses UTF-8.
func SpeaksUTF8(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

// Asks reports whether a person can be asked: stdin is a terminal.
func (e Env) Asks() bool {
	in, ok := e.Stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// Confirm asks a question on the terminal, to be answered with y or n. If stdin is no terminal, asked is false.
func (e Env) Confirm(question string) (yes, asked bool) {
	if !e.Asks() {
		return false, false
	}
	fmt.Fprint(e.Stderr, question+" [y/N] ")
	answer, err := bufio.NewReader(e.Stdin).ReadString('\n')
	if err != nil && answer == "" {
		fmt.Fprintln(e.Stderr)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", true
}

// PrintJSON prints v with indentation, safe to print on a terminal.
func (e Env) PrintJSON(v any) error {
	enc := json.NewEncoder(e.WithSafeOutput().Stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// ShortID returns the first characters of a run's id, which are enough to name the run.
func ShortID(run string) string {
	if len(run) > 8 {
		return run[:8]
	}
	return run
}

// Title returns the title of a task in lists.
func Title(task string) string {
	return sanitize.Line(sanitize.Redact(words.Title(task)), 100)
}

// stamp is set by the linker (-X …/internal/command.stamp=…) in builds of scripts/setup.
var stamp string

// Version returns the stamp, or else the module version that `go install …@vX` records, or else the commit that `go
// build` records.
func Version() string {
	if stamp != "" {
		return stamp
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return strings.TrimPrefix(v, "v")
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
