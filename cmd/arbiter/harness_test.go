package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// waitTimeout is how long a test waits for something that must happen. It is only a deadline for failures, never
// part of a measurement.
const waitTimeout = 2 * time.Minute

// player is the program that plays the CLI's side of the protocol in a rehearsal.
type player struct {
	name string
	args []string
	real bool
	env  []string // further variables of arbiter
}

// players returns the stand-in and, if it is installed, the real CLI: every acceptance test runs with both, so
// that the stand-in cannot drift.
func players(t *testing.T) []player {
	t.Helper()
	list := []player{standInPlayer}
	if path := realClaude(t); path != "" {
		list = append(list, player{name: "claude", args: []string{"--rehearse", "--claude", path}, real: true})
	}
	return list
}

// eachPlayer runs a test with each player, at the same time.
func eachPlayer(t *testing.T, test func(t *testing.T, p player)) {
	t.Helper()
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

// eachPlayerLong is eachPlayer, but the real CLI plays only if long tests are requested.
func eachPlayerLong(t *testing.T, test func(t *testing.T, p player)) {
	t.Helper()
	eachPlayer(t, func(t *testing.T, p player) {
		p.long(t)
		test(t, p)
	})
}

// path is the real CLI, or "" for the stand-in.
func (p player) path() string {
	if !p.real {
		return ""
	}
	return p.args[len(p.args)-1]
}

// program is the player as a program claude, for runs that are no rehearsals.
func (p player) program(t *testing.T) string {
	t.Helper()
	if p.real {
		return p.path()
	}
	return standInProgram(t)
}

// serve starts a scripted model, which records its requests.
func serve(t testing.TB, play string) *rehearsal.Server {
	t.Helper()
	scenario := testkit.Must(rehearsal.Parse("play.yaml", []byte(play)))(t)
	model := testkit.Must(rehearsal.Start(scenario, rehearsal.Options{Record: true}))(t)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// asksOf are the variables with which the CLI asks a model, and nobody else.
func asksOf(model *rehearsal.Server) []string {
	return []string{"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
}

// onScript reports where a play left its script.
func onScript(t testing.TB, model *rehearsal.Server) {
	t.Helper()
	testkit.Empty(t, "the play left its script", model.Problems())
}

// standInPlayer is the stand-in alone.
var standInPlayer = player{name: "stand-in", args: []string{"--stand-in"}}

// plays starts a rehearsal.
func (p player) plays(t *testing.T, scenario, task string, args ...string) *script {
	t.Helper()
	return start(t, p.env, slices.Concat(p.args, []string{"--json", "--scenario", scenario, "--task", task}, args)...)
}

// asksName starts the dialogue, and waits for its question.
func (p player) asksName(t *testing.T, args ...string) *script {
	t.Helper()
	s := p.plays(t, "dialogue", "Name it", args...)
	await[contract.Question](s, "a question", nil)
	return s
}

// dialogue does so with the stand-in.
func dialogue(t *testing.T, args ...string) *script {
	t.Helper()
	return standInPlayer.asksName(t, args...)
}

// answers answers the question of the dialogue, and named waits for its end, too.
func (s *script) answers() {
	s.t.Helper()
	await[contract.Question](s, "the question", nil)
	s.send(contract.Say{Text: "Call it nameless."})
}

func (s *script) named() contract.Result {
	s.t.Helper()
	s.answers()
	return s.finish(contract.ExitComplete)
}

// long skips a case with the real CLI, unless long tests are requested.
func (p player) long(t *testing.T) {
	t.Helper()
	if p.real {
		testkit.Long(t)
	}
}

// inside skips a case with the stand-in: the case is about the CLI's internals, which the stand-in does not
// imitate.
func (p player) inside(t *testing.T) {
	t.Helper()
	if !p.real {
		t.Skip("the stand-in does not imitate this")
	}
}

// realClaude finds the CLI that the tests may use. CI requires one.
func realClaude(t *testing.T) string {
	t.Helper()
	path := testkit.Must(pinnedClaude())(t)
	testkit.Need(t, path != "" || os.Getenv("ARBITER_REQUIRE_CLAUDE") == "", "no claude: run scripts/setup")
	return path
}

// neededClaude is the same for a test that has nothing else to play with.
func neededClaude(t *testing.T) string {
	t.Helper()
	path := realClaude(t)
	if path == "" {
		t.Skip("no claude: run scripts/setup")
	}
	return path
}

// pinnedClaude is $ARBITER_CLAUDE, or the CLI that scripts/setup installed, or "".
func pinnedClaude() (string, error) {
	if path := os.Getenv("ARBITER_CLAUDE"); path != "" {
		return path, nil
	}
	pinned, err := os.ReadFile("../../scripts/claude.version")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil
	}
	path := filepath.Join(cache, "arbiter", "claude", strings.TrimSpace(string(pinned)), "node_modules", ".bin",
		"claude")
	if _, err := os.Stat(path); err != nil {
		return "", nil
	}
	return path, nil
}

// script is a test in the place of a person or a program at arbiter's stdin and stdout.
type script struct {
	t         *testing.T
	cmd       *exec.Cmd
	offScript bool // a fault of this test makes the play leave its script

	stdin  io.WriteCloser
	stdout io.Closer

	mu     sync.Mutex
	lines  []contract.Line
	raw    bytes.Buffer // unmodified stdout
	bad    error
	change chan struct{} // capacity 1: something was read, or the output ended
	ended  chan struct{}
	stderr testkit.Buffer
}

// prepare prepares an arbiter to be run with a private home and, of our environment, only PATH.
func prepare(t *testing.T, env []string, args ...string) *script {
	t.Helper()
	s := &script{t: t, change: make(chan struct{}, 1), ended: make(chan struct{})}
	s.cmd = exec.Command("arbiter", args...)
	home := t.TempDir()
	s.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8",
	}, env...)
	s.cmd.Dir = home
	s.cmd.Stderr = &s.stderr
	s.cmd.WaitDelay = waitTimeout
	return s
}

// start runs arbiter, with this test at its stdin and stdout.
func start(t *testing.T, env []string, args ...string) *script {
	t.Helper()
	s := prepare(t, env, args...)
	s.launch()
	return s
}

func (s *script) launch() {
	t := s.t
	t.Helper()
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, theirs, err := os.Pipe()
	testkit.OK(t, err)
	s.cmd.Stdout, s.stdout = theirs, stdout
	testkit.OK(t, s.cmd.Start())
	_ = theirs.Close()
	go s.read(stdout)
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
		<-s.ended
		_ = stdout.Close()
		if t.Failed() {
			t.Log(s.dump())
		}
	})
}

// closeOutput closes the reading end of stdout.
func (s *script) closeOutput() { _ = s.stdout.Close() }

func (s *script) read(r io.Reader) {
	defer close(s.ended)
	b := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := b.ReadBytes('\n')
		if len(line) > 0 {
			s.mu.Lock()
			l, problem := contractLine(line, uint64(len(s.lines)+1))
			if problem != nil && s.bad == nil {
				s.bad = problem
			}
			s.lines = append(s.lines, l)
			s.raw.Write(line)
			s.mu.Unlock()
			s.notify()
		}
		if err != nil {
			s.notify()
			return
		}
	}
}

func (s *script) notify() {
	select {
	case s.change <- struct{}{}:
	default:
	}
}

// eventSchemas are the schemas of the contract's events.
var eventSchemas = sync.OnceValue(func() map[string]*jsonschema.Resolved {
	var doc jsonschema.Schema
	if err := json.Unmarshal(contract.EventsSchema(), &doc); err != nil {
		panic(err)
	}
	all := map[string]*jsonschema.Resolved{}
	for name, def := range doc.Defs {
		resolved, err := def.Resolve(nil)
		if err != nil {
			panic(err)
		}
		all[name] = resolved
	}
	return all
})

// contractLine decodes a line and checks it against the contract.
func contractLine(line []byte, seq uint64) (contract.Line, error) {
	l, err := contract.DecodeLine(line)
	var instance map[string]any
	if err == nil {
		err = json.Unmarshal(line, &instance)
	}
	switch schema := eventSchemas()[fmt.Sprint(instance["event"])]; {
	case err != nil:
	case schema == nil:
		err = errors.New("the schema has no such event")
	default:
		err = schema.Validate(instance)
	}
	if err != nil {
		return l, fmt.Errorf("line %d: %w: %.300s", seq, err, line)
	}
	if err == nil && (l.Seq != seq || l.V != contract.Version) {
		err = fmt.Errorf("line %d has v %d, seq %d", seq, l.V, l.Seq)
	}
	return l, err
}

// contractLines checks a whole output against the contract.
func contractLines(out string) ([]contract.Line, error) {
	var lines []contract.Line
	for line := range strings.Lines(out) {
		l, err := contractLine([]byte(line), uint64(len(lines)+1))
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("no events")
	}
	if _, ok := lines[0].Body.(contract.Session); !ok {
		return nil, fmt.Errorf("the first line is %s", lines[0].Body.EventName())
	}
	if _, ok := lines[len(lines)-1].Body.(contract.Result); !ok {
		return nil, fmt.Errorf("the last line is %s", lines[len(lines)-1].Body.EventName())
	}
	return lines, nil
}

// await waits for the first event, from the beginning, that is a B and fits. It fails at once when the output
// ends without one.
func await[B contract.Body](s *script, what string, fits func(id string, b B) bool) B {
	s.t.Helper()
	return s.see(what, func(l contract.Line) bool {
		b, ok := l.Body.(B)
		return ok && (fits == nil || fits(l.ID, b))
	}).Body.(B)
}

// see is like await, for whole lines.
func (s *script) see(what string, fits func(contract.Line) bool) contract.Line {
	s.t.Helper()
	late := s.stalled()
	defer late.Stop()
	for at := 0; ; {
		s.mu.Lock()
		for ; at < len(s.lines); at++ {
			if l := s.lines[at]; fits(l) {
				s.mu.Unlock()
				return l
			}
		}
		s.mu.Unlock()
		select {
		case <-s.change:
			continue
		default:
		}
		select {
		case <-s.change:
		case <-s.ended:
			s.mu.Lock()
			more := at < len(s.lines)
			s.mu.Unlock()
			if !more {
				s.t.Fatalf("arbiter ended without %s\n%s", what, s.dump())
			}
		case <-late.C:
			s.t.Fatalf("no %s: %s\n%s", what, late.why, s.dump())
		}
	}
}

// stall fires when no event came for one patience, or after six of them in any case: a run with many CLI
// processes on a busy machine is slow, which is not a failure.
type stall struct {
	C    <-chan struct{}
	Stop context.CancelFunc
	why  string // valid after C is closed
}

func (s *script) stalled() *stall {
	ctx, cancel := context.WithCancel(context.Background())
	fired := make(chan struct{})
	late := &stall{C: fired, Stop: cancel, why: fmt.Sprintf("nothing was told for %s", waitTimeout)}
	go func() { // ended by Stop
		defer close(fired)
		for seen, round := -1, 0; ; round++ {
			s.mu.Lock()
			n := len(s.lines)
			s.mu.Unlock()
			if n == seen {
				return
			}
			if seen = n; round == 6 {
				late.why = fmt.Sprintf("%d lines were told in %s, and it was not among them", n, 6*waitTimeout)
				return
			}
			select {
			case <-time.After(waitTimeout):
			case <-ctx.Done():
				return
			}
		}
	}()
	return late
}

// collect returns all events of a type so far.
func collect[B contract.Body](s *script) []B {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []B
	for _, l := range s.lines {
		if b, ok := l.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// send writes a command.
func (s *script) send(b contract.CommandBody) {
	s.t.Helper()
	s.sendAs("r", b)
}

// sendAs writes a command with a reference.
func (s *script) sendAs(ref string, b contract.CommandBody) {
	s.t.Helper()
	line := testkit.Must(contract.MarshalCommand(contract.Command{Ref: ref, Body: b}))(s.t)
	testkit.Must(s.stdin.Write(append(bytes.TrimSpace(line), '\n')))(s.t)
}

// statusOf are the statuses of results by exit codes, of those that have only one.
var statusOf = map[contract.Exit]string{
	contract.ExitComplete: contract.StatusComplete, contract.ExitLimit: contract.StatusLimit,
	contract.ExitNeedsInput: contract.StatusNeedsInput, contract.ExitInterrupted: contract.StatusInterrupted,
	contract.ExitTerminated: contract.StatusInterrupted,
}

// finish waits for the end and checks the whole run against the contract: the lines, the exit code, and that no
// process of the run is left.
func (s *script) finish(want contract.Exit) contract.Result {
	s.t.Helper()
	_ = s.stdin.Close()
	late := s.stalled()
	defer late.Stop()
	select {
	case <-s.ended:
	case <-late.C:
		s.t.Fatalf("arbiter did not end: %s\n%s", late.why, s.dump())
	}
	_ = s.cmd.Wait()
	testkit.Check(s.t, s.bad == nil, "contract: %v", s.bad)
	got := s.cmd.ProcessState.ExitCode()
	testkit.Check(s.t, got == int(want), "exit code %d, want %d\n%s", got, want, s.dump())
	testkit.Need(s.t, len(s.lines) != 0, "no events\n%s", s.dump())
	first, ok := s.lines[0].Body.(contract.Session)
	testkit.Need(s.t, ok, "the first line is %s", s.lines[0].Body.EventName())
	testkit.Check(s.t, s.offScript || !strings.Contains(s.stderr.String(), "REHEARSAL PROBLEM"),
		"the play left its script\n%s", s.dump())
	testkit.Empty(s.t, "left behind", survivors(first.Session))
	last, ok := s.lines[len(s.lines)-1].Body.(contract.Result)
	testkit.Need(s.t, ok, "the last line is %s\n%s", s.lines[len(s.lines)-1].Body.EventName(), s.dump())
	if status := statusOf[want]; status != "" {
		testkit.Same(s.t, "the status of the result", status, last.Status)
	}
	return last
}

// completes waits for the result before it finishes a run: the end of stdin would be an answer to what is asked until
// then.
func (s *script) completes() contract.Result {
	s.t.Helper()
	await[contract.Result](s, "the result", nil)
	return s.finish(contract.ExitComplete)
}

// finishes ends a run that is complete, with this summary.
func (s *script) finishes(summary string) contract.Result {
	s.t.Helper()
	r := s.finish(contract.ExitComplete)
	testkit.Check(s.t, sums(r, summary), "result %+v", r)
	return r
}

// cancels ends a run as a human does who wants no more of it.
func (s *script) cancels() {
	s.t.Helper()
	s.send(contract.Cancel{})
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitFailed)
}

// bridge returns the process of its bridge.
func (s *script) bridge() int {
	s.t.Helper()
	onlyLinux(s.t)
	pid, ok := childNamed(s.cmd.Process.Pid, "bridge")
	testkit.Need(s.t, ok, "no bridge")
	return pid
}

// childNamed finds the child of a process that was started with an argument.
func childNamed(parent int, arg string) (pid int, ok bool) {
	for _, pid := range childrenOf(parent) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if slices.Contains(strings.Split(string(cmdline), "\x00"), arg) {
			return pid, true
		}
	}
	return 0, false
}

// childrenOf returns the child processes of a process.
func childrenOf(parent int) (pids []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, list := range lists {
		raw, _ := os.ReadFile(list)
		for _, word := range strings.Fields(string(raw)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// process is a live process, as /proc shows it.
type process struct {
	pid                  int
	command, environment string // a NUL ends each of their words
}

// processes returns the live processes that fit, none without /proc.
func processes(fits func(process) bool) (list []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		command, _ := os.ReadFile(dir + "/cmdline") // it may have ended, or be another user's
		environment, _ := os.ReadFile(dir + "/environ")
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if p := (process{pid, string(command), string(environment)}); fits(p) {
			list = append(list, p)
		}
	}
	return list
}

// survivors returns the live processes that have the run's mark in their environment, by pid.
func survivors(run string) map[int]string {
	left := map[int]string{}
	for _, p := range processes(func(p process) bool { return strings.Contains(p.environment, "ARBITER_RUN="+run) }) {
		left[p.pid] = strings.ReplaceAll(p.command, "\x00", " ")
	}
	return left
}

// filesBelow returns the texts of the regular files below a directory, by their paths, except for those in directories
// with one of these names.
func filesBelow(t testing.TB, dir string, except ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	testkit.OK(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && slices.Contains(except, e.Name()):
			return filepath.SkipDir
		case e.Type().IsRegular():
			text, err := os.ReadFile(path)
			files[path] = string(text)
			return err
		}
		return nil
	}))
	return files
}

// dump returns stderr and the last events, for a failure message.
func (s *script) dump() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "stderr:\n%s\nevents:\n", s.stderr.String())
	from := max(0, len(s.lines)-40)
	for _, l := range s.lines[from:] {
		raw, _ := json.Marshal(l.Body)
		fmt.Fprintf(&b, "%4d %-10s %-14s %.240s\n", l.Seq, l.ID, l.Body.EventName(), raw)
	}
	return b.String()
}

// sums reports whether a result has this summary of the Arbiter, apart from what the supervisor found open.
func sums(r contract.Result, summary string) bool {
	said, _, _ := strings.Cut(r.Summary, ". The cost is not complete: ")
	said, _, _ = strings.Cut(said, ". Open at the end: ")
	return strings.TrimSuffix(said, ".") == strings.TrimSuffix(summary, ".")
}

// commandRun is what an arbiter command has printed, and its exit code.
type commandRun struct {
	out, errs string
	code      contract.Exit
}

// inProcess runs an arbiter command in this process.
func inProcess(stdin string, args ...string) commandRun {
	var out, errs strings.Builder
	code := run(append([]string{"arbiter"}, args...), strings.NewReader(stdin), &out, &errs)
	return commandRun{out.String(), errs.String(), contract.Exit(code)}
}

// ended checks its exit code, and that it has printed the parts: on stderr, if it was called wrongly.
func (c commandRun) ended(t testing.TB, what any, code contract.Exit, parts ...string) commandRun {
	t.Helper()
	testkit.Check(t, c.code == code, "%v: exit code %d, want %d\n%s%s", what, c.code, code, c.out, c.errs)
	text := c.errs
	if code != contract.ExitUsage {
		text += c.out
	}
	testkit.Includes(t, what, text, parts...)
	return c
}

// runIn runs an arbiter command to its end.
func runIn(t testing.TB, env []string, dir, stdin string, args ...string) commandRun {
	t.Helper()
	var out, errs strings.Builder
	cmd := exec.Command("arbiter", args...)
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = env, dir, strings.NewReader(stdin), &out, &errs
	cmd.WaitDelay = waitTimeout
	if err := cmd.Run(); cmd.ProcessState == nil { // else its exit code is used
		t.Fatalf("arbiter %q did not start: %v", args, err)
	}
	return commandRun{out.String(), errs.String(), contract.Exit(cmd.ProcessState.ExitCode())}
}

// besideIn runs a command in a second terminal.
func (s *script) besideIn(dir, stdin string, args ...string) commandRun {
	s.t.Helper()
	return runIn(s.t, s.cmd.Env, dir, stdin, args...)
}

// beside runs a command in the run's directory.
func (s *script) beside(args ...string) commandRun {
	s.t.Helper()
	return s.besideIn(s.cmd.Dir, "", args...)
}

// within waits for a condition, of a program that does not notify, for no longer than that.
func within(t *testing.T, most time.Duration, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(most)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s within %s", what, most)
		}
	}
}

// absent reports a file that is there. What says what is wrong then.
func absent(t testing.TB, what, path string) {
	t.Helper()
	_, err := os.Lstat(path)
	testkit.Check(t, err != nil, "%s: %s is there", what, path)
}

func stdoutOf(out, _ string) string { return out }

func stderrOf(_, errs string) string { return errs }
