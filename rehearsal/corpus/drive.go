package corpus

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// This part of the package drives a program that speaks the Claude Code CLI's stream-json wire: the CLI itself, or a
// stand-in. It is for tests only.
//
// In a frame pattern an object matches if its fields do, an array if it has as
// many elements that match; a string "/…/" is a regular expression on a text or a number, "$name"
// matches anything and remembers it, or what it remembered before. In what is
// written `$name` stands for what was remembered.
//
// Each process has two goroutines that [Drive] starts and the test waits for: readers of its output.

// FindCLI returns the path of the real CLI: $ARBITER_CLAUDE, `claude` on PATH, or the one that the project's
// scripts install; "" if there is none. root is the path from the test's directory to the repository's.
func FindCLI(root string) string {
	if p := os.Getenv("ARBITER_CLAUDE"); p != "" {
		return p
	}
	if p, err := exec.LookPath("claude"); err == nil {
		return p
	}
	if v, err := os.ReadFile(filepath.Join(root, "scripts", "claude.version")); err == nil {
		p := filepath.Join(os.Getenv("HOME"), ".cache", "arbiter", "claude", strings.TrimSpace(string(v)),
			"node_modules", ".bin", "claude")
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Claude returns the real CLI. If there is none the test is skipped; with $ARBITER_REQUIRE_CLAUDE it fails.
func Claude(t *testing.T, root string) WireProgram {
	t.Helper()
	return WireProgram{Path: Required(t, FindCLI(root))}
}

// Required returns the path from Find. If it is empty, it skips or fails the test, like [Claude].
func Required(t testing.TB, path string) string {
	t.Helper()
	switch {
	case path != "":
	case os.Getenv("ARBITER_REQUIRE_CLAUDE") != "":
		t.Fatal("no Claude CLI found, and ARBITER_REQUIRE_CLAUDE is set")
	default:
		t.Skip("no Claude CLI found")
	}
	return path
}

// Names maps names to the values that patterns remembered.
type Names map[string]string

// matches reports whether got has all of want. What "$name" matched is remembered
// only if everything did.
func (n Names) matches(want, got any) bool {
	bound := maps.Clone(n)
	if !bound.match(want, got) {
		return false
	}
	maps.Copy(n, bound)
	return true
}

func (n Names) match(want, got any) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			have, has := g[k]
			ok = ok && has && n.match(v, have)
		}
		return ok
	case []any:
		g, ok := got.([]any)
		ok = ok && len(w) == len(g)
		for i := range w {
			ok = ok && n.match(w[i], g[i])
		}
		return ok
	case string:
		name, isName := strings.CutPrefix(w, "$")
		switch text := plain(got); {
		case len(w) > 1 && w[0] == '/' && w[len(w)-1] == '/':
			_, isText := got.(string)
			_, isNumber := got.(float64)
			return (isText || isNumber) && regexp.MustCompile("(?s)"+w[1:len(w)-1]).MatchString(text)
		case isName:
			n[name] = cmp.Or(n[name], text)
			return n[name] == text
		}
	}
	return reflect.DeepEqual(want, got)
}

// plain returns a text as it is, and other values as JSON.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	raw, _ := json.Marshal(v) // it came from JSON
	return string(raw)
}

var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[A-Za-z_][A-Za-z_0-9]*`)
})

// expand replaces names by the remembered values; unknown names stay.
func (n Names) expand(s string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		if v, ok := n[ref[1:]]; ok {
			return v
		}
		return ref
	})
}

// WireProgram is a program that is driven.
type WireProgram struct {
	Path string
	Env  []string // beside the usual environment
}

// waitTimeout is how long a step may take before the case has failed.
const waitTimeout = 2 * time.Minute

// usualArgs start a session that is driven over stdin.
var usualArgs = []string{
	"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
	"--permission-prompt-tool", "stdio", "--setting-sources", "", "--strict-mcp-config", "--model", "claude-opus-5-5",
	"--system-prompt-snapshot", "off",
}

// Host is the side of the conversation that drives a process.
type Host struct {
	// More are further steps.
	More map[string]func(h *Host, arg string) error

	t     testing.TB
	names Names

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	frames chan any       // closed at the end of stdout
	Seen   []any          // so far
	Stderr bytes.Buffer   // whole after the end
	output sync.WaitGroup // is read
	exited bool
	stop   chan struct{} // closed when nothing reads frames any more
}

// HeedSignals makes children start with the default action of each signal, even if a script or nohup
// started the tests with some ignored: a signal that is caught here has its default there.
var HeedSignals = sync.OnceFunc(func() {
	for _, sig := range signals {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

// Drive starts a program against a model at url. It works in the directory CWD of the names, and its home is HOME.
func Drive(t testing.TB, p WireProgram, args []string, url string, known Names) *Host {
	t.Helper()
	HeedSignals()
	h := &Host{t: t, names: known}
	h.cmd = exec.Command(p.Path, usualArgs...)
	for _, a := range args {
		h.cmd.Args = append(h.cmd.Args, h.names.expand(a))
	}
	h.cmd.Dir = known["CWD"]
	h.cmd.Env = slices.Concat([]string{
		"HOME=" + known["HOME"], "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000",
		"ANTHROPIC_BASE_URL=" + url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}, p.Env)
	h.stdin = testkit.Must(h.cmd.StdinPipe())(h.t)
	stdout := testkit.Must(h.cmd.StdoutPipe())(h.t)
	stderr := testkit.Must(h.cmd.StderrPipe())(h.t)
	testkit.OK(h.t, h.cmd.Start())
	h.frames, h.stop = make(chan any), make(chan struct{})
	h.output.Go(func() { _, _ = io.Copy(&h.Stderr, stderr) })
	h.output.Go(func() { h.read(stdout) })
	h.t.Cleanup(func() { // ends what a failed case left running
		if !h.exited {
			_ = h.cmd.Process.Kill()
			close(h.stop)
			h.output.Wait()
			_ = h.cmd.Wait()
		}
	})
	return h
}

// Do plays a step of [Operations] or More, and ends the test if it fails.
func (h *Host) Do(op, arg string) {
	h.t.Helper()
	do, ok := Operations[op]
	if !ok {
		do = h.More[op]
	}
	if err := do(h, h.names.expand(arg)); err != nil {
		h.t.Fatalf("%s %s: %v\n%s", op, arg, err, h.transcript())
	}
}

func (h *Host) read(stdout io.Reader) {
	defer close(h.frames)
	for r := bufio.NewReader(stdout); ; {
		line, err := r.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var frame any
			if json.Unmarshal(line, &frame) != nil {
				frame = map[string]any{"type": "NO JSON", "line": string(line)}
			}
			select {
			case h.frames <- frame:
			case <-h.stop:
			}
		}
		if err != nil {
			return
		}
	}
}

// Operations are the steps of every host:
//
//	> {…}         write this line to stdin (any text is allowed, also bad JSON)
//	< {…}         wait for a frame that has all of this; frames in between are skipped
//	! {…}         no frame so far had all of this (after exit: none at all)
//	eof           close stdin
//	signal TERM   send a signal
//	exit N        wait for the exit code
//	end           close stdin, and wait for the end
var Operations = map[string]func(h *Host, arg string) error{
	">": func(h *Host, arg string) error {
		_, err := io.WriteString(h.stdin, arg+"\n")
		return err
	},
	"<": func(h *Host, arg string) error {
		want := pattern(arg)
		over, err := h.await(func(frame any) bool { return h.names.matches(want, frame) })
		if over {
			return errors.New("stdout ended")
		}
		return err
	},
	"!": func(h *Host, arg string) error {
		for _, f := range h.Seen {
			if h.names.matches(pattern(arg), f) {
				return fmt.Errorf("but there was %s", plain(f))
			}
		}
		return nil
	},
	"eof":    func(h *Host, _ string) error { h.stdin.Close(); return nil },
	"signal": func(h *Host, arg string) error { return h.cmd.Process.Signal(signals[arg]) },
	"exit":   (*Host).exit,
	"end": func(h *Host, _ string) error {
		h.stdin.Close()
		if h.exited {
			return nil
		}
		return h.exit("")
	},
}

// exit waits for the end of the process, with any code if none is given.
func (h *Host) exit(code string) error {
	if _, err := h.await(func(any) bool { return false }); err != nil {
		return err
	}
	h.output.Wait()
	h.exited = true
	_ = h.cmd.Wait() // its ProcessState has the exit code
	h.stdin.Close()
	if got := strconv.Itoa(h.cmd.ProcessState.ExitCode()); got != cmp.Or(code, got) {
		return errors.New("exit code " + got)
	}
	return nil
}

func pattern(s string) (v any) {
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		panic("pattern " + s + ": " + err.Error())
	}
	return v
}

// await reads frames until one is wanted, or stdout is over.
func (h *Host) await(wanted func(frame any) bool) (over bool, err error) {
	for late := time.After(waitTimeout); ; {
		select {
		case f, ok := <-h.frames:
			if !ok {
				return true, nil
			}
			h.Seen = append(h.Seen, f)
			if wanted(f) {
				return false, nil
			}
		case <-late:
			return false, errors.New("not within " + waitTimeout.String())
		}
	}
}

// transcript lists the frames of the process, for a failure message.
func (h *Host) transcript() string {
	var b strings.Builder
	for _, f := range h.Seen {
		fmt.Fprintf(&b, "  < %.600s\n", plain(f))
	}
	return b.String()
}

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}
