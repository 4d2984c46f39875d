package corpus

// This part of the package runs conversations, written down as txtar files, against a program that speaks the
// Claude Code CLI's stream-json wire: the CLI itself, or a stand-in. It is for tests only.
//
// A case is one file. Its sections:
//
//	-- args --      extra arguments, one a line
//	-- env --       extra environment, NAME=value a line
//	-- model --     the scripted model, one JSON reply a line, used in order (see Reply)
//	-- host --      the conversation, one step a line (see below)
//	-- host.2 --    another process on the same files, and so on; args.2, env.2 go with it
//	-- work/NAME -- a file of the working directory
//
// Steps of the host:
//
//	> {…}            write this line to stdin (any text is allowed, also bad JSON)
//	< {…}            wait for a frame that has all of this; frames in between are skipped
//	! {…}            no frame of this process so far had all of this (after exit: none at all)
//	saw N REGEXP     the N-th model request (of the whole case) matches
//	requests N       the model was called N times
//	called N         wait until it was called N times
//	release          let the reply go on that waits with "hold"
//	eof              close stdin
//	signal TERM      send a signal
//	exit N           wait for the exit code
//	stderr REGEXP    stderr matches (after exit)
//	file PATH REGEXP a file, by glob, relative to the working directory, matches
//	until PATH REGEXP wait until it does
//	touch NAME       make an empty file in the working directory
//
// In a frame pattern an object matches if its fields do, an array if it has as
// many elements that match; a string "/…/" is a regular expression on a text or a number, "$name"
// matches anything and remembers it, or what it remembered before. In what is
// written `$name` stands for what was remembered; $CWD, $HOME and $SESSION are set.
//
// Each process has three goroutines that Run starts and waits for: two readers of
// its output and, in net/http, the scripted model's.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// WireProgram is what a case is run against.
type WireProgram struct {
	Path string
	Args []string // before those of the case
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

// RunCase plays the case.
func RunCase(t *testing.T, c *WireCase, p WireProgram) {
	t.Helper()
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for name, data := range c.Files {
		path := filepath.Join(cwd, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := startModel(t, c.Replies)
	known := names{"CWD": cwd, "HOME": home, "SESSION": uuid.NewString()}
	for _, pr := range c.Runs {
		h := &host{t: t, model: m, names: known, cwd: cwd, home: home}
		h.start(p, pr)
		for _, s := range pr.Steps {
			h.step(s)
		}
		h.end()
	}
	m.check(t)
}

// host is the side of the conversation that the case plays.
type host struct {
	t         *testing.T
	model     *model
	names     names
	cwd, home string

	cmd    *exec.Cmd
	stdin  io.WriteCloser
	frames chan any // closed at the end of stdout
	seen   []any
	stderr bytes.Buffer
	errEnd sync.WaitGroup
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

func (h *host) start(p WireProgram, pr WireProcess) {
	h.t.Helper()
	HeedSignals()
	args := append(append([]string{}, p.Args...), usualArgs...)
	for _, a := range pr.Args {
		args = append(args, h.names.expand(a))
	}
	h.cmd = exec.Command(p.Path, args...)
	h.cmd.Dir = h.cwd
	h.cmd.Env = append([]string{
		"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=sk-ant-rehearsal-0000",
		"ANTHROPIC_BASE_URL=" + h.model.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1",
	}, p.Env...)
	h.cmd.Env = append(h.cmd.Env, pr.Env...)
	var err error
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	stdout, err := h.cmd.StdoutPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	stderr, err := h.cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.frames, h.stop = make(chan any), make(chan struct{})
	h.errEnd.Go(func() { io.Copy(&h.stderr, stderr) })
	h.errEnd.Go(func() { h.read(stdout) })
	h.t.Cleanup(h.abandon)
}

// abandon ends what a failed case left running.
func (h *host) abandon() {
	if !h.exited {
		h.exited = true
		h.cmd.Process.Kill()
		close(h.stop)
		h.errEnd.Wait()
		h.cmd.Wait()
	}
}

func (h *host) read(stdout io.Reader) {
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

func (h *host) step(s WireStep) {
	h.t.Helper()
	arg := s.Arg
	fail := func(format string, args ...any) {
		h.t.Helper()
		h.t.Fatalf("host line %d: %s %s: "+format+"\n%s",
			append(append([]any{s.Line, s.Op, s.Arg}, args...), h.transcript())...)
	}
	switch s.Op {
	case ">":
		if _, err := io.WriteString(h.stdin, h.names.expand(arg)+"\n"); err != nil {
			fail("%v", err)
		}
	case "<":
		if err := h.await(pattern(h.names.expand(arg))); err != nil {
			fail("%v", err)
		}
	case "!":
		for _, f := range h.seen {
			if h.names.matches(pattern(h.names.expand(arg)), f) {
				raw, _ := json.Marshal(f)
				fail("but there was %s", raw)
			}
		}
	case "eof":
		h.stdin.Close()
	case "release":
		h.model.release <- struct{}{} // lets one held reply continue, even one that is still to come
	case "signal":
		if err := sendSignal(h.cmd.Process, arg); err != nil {
			fail("%v", err)
		}
	case "exit":
		if err := h.awaitExit(arg); err != nil {
			fail("%v", err)
		}
	default:
		if err := h.inspect(s.Op, arg); err != nil {
			fail("%v", err)
		}
	}
}

// inspect runs the steps that check something.
func (h *host) inspect(op, arg string) error {
	switch op {
	case "saw":
		n, re, _ := strings.Cut(arg, " ")
		bodies := h.model.requests()
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 || i > len(bodies) {
			return errors.New("there were " + strconv.Itoa(len(bodies)) + " requests")
		}
		return look(h.names.expand(re), bodies[i-1])
	case "requests":
		if n := strconv.Itoa(len(h.model.requests())); n != arg {
			return errors.New("there were " + n)
		}
	case "called":
		return h.model.await(arg)
	case "stderr":
		return look(arg, h.stderr.String())
	case "file":
		return h.fileMatches(arg)
	case "until":
		return h.untilFile(arg)
	case "touch":
		return os.WriteFile(filepath.Join(h.cwd, arg), nil, 0o644)
	}
	return nil
}

func (h *host) fileMatches(arg string) error {
	glob, re, _ := strings.Cut(arg, " ")
	glob = h.names.expand(glob)
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(h.cwd, glob)
	}
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) != 1 {
		return errors.New("files: " + strings.Join(paths, " "))
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	return look(h.names.expand(re), string(raw))
}

// look fails unless the text matches the regular expression.
func look(expr, text string) error {
	re, err := regexp.Compile("(?s)" + expr)
	if err != nil {
		return err
	}
	if re.MatchString(text) {
		return nil
	}
	const shown = 4000
	if len(text) > shown {
		text = text[:shown] + "…"
	}
	return errors.New("it is " + text)
}

// untilFile polls a file, because another process writes it without a notification.
func (h *host) untilFile(arg string) error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		err := h.fileMatches(arg)
		if err == nil {
			return nil
		}
		select {
		case <-look.C:
		case <-deadline.C:
			return err
		}
	}
}

func pattern(s string) (v any) {
	if err := json.Unmarshal([]byte(s), &v); err != nil {
		panic("pattern " + s + ": " + err.Error())
	}
	return v
}

func (h *host) await(want any) error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-h.frames:
			if !ok {
				return errors.New("stdout ended")
			}
			h.seen = append(h.seen, f)
			if h.names.matches(want, f) {
				return nil
			}
		case <-deadline.C:
			return errors.New("no such frame within " + waitTimeout.String())
		}
	}
}

func (h *host) awaitExit(code string) error {
	if err := h.drain(); err != nil {
		return err
	}
	if got := strconv.Itoa(h.cmd.ProcessState.ExitCode()); got != code {
		return errors.New("exit code " + got)
	}
	return nil
}

// drain reads the remaining output of the process, until it has ended.
func (h *host) drain() error {
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	for {
		select {
		case f, ok := <-h.frames:
			if ok {
				h.seen = append(h.seen, f)
				continue
			}
			h.errEnd.Wait()
			h.exited = true
			h.cmd.Wait() // its ProcessState has the exit code
			h.stdin.Close()
			return nil
		case <-deadline.C:
			return errors.New("still running after " + waitTimeout.String())
		}
	}
}

// end closes a process whose script has no exit step.
func (h *host) end() {
	h.t.Helper()
	if h.exited {
		return
	}
	h.stdin.Close()
	if err := h.drain(); err != nil {
		h.t.Fatalf("after the end of its script: %v\n%s", err, h.transcript())
	}
}

// transcript lists the frames of the process, for a failure message.
func (h *host) transcript() string {
	var b strings.Builder
	for _, f := range h.seen {
		raw, _ := json.Marshal(f)
		if len(raw) > 600 {
			raw = append(raw[:600], "…"...)
		}
		b.WriteString("  < ")
		b.Write(raw)
		b.WriteByte('\n')
	}
	return b.String()
}
