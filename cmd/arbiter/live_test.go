package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// runs runs a command and checks its exit code, and that its output contains a text.
func (s *script) runs(code contract.Exit, want string, args ...string) commandRun {
	s.t.Helper()
	return s.beside(args...).ended(s.t, args, code, want)
}

// besideJSON runs a command that prints a JSON value, and decodes it.
func besideJSON[T any](s *script, args ...string) T {
	s.t.Helper()
	return decodedAs[T](s.t, s.runs(contract.ExitComplete, "", append(slices.Clone(args), "--json")...).out)
}

// decodedAs decodes a JSON value.
func decodedAs[T any](t testing.TB, text string) (v T) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &v)
	testkit.Need(t, err == nil, "%v: %s", err, text)
	return v
}

// waitingPlay is a play with each kind of request to a human: two Orchestrators ask for permission at the same
// time, then one asks for more, and at last the Arbiter asks a question.
var waitingPlay = playOf(
	arbiter([]object{spawns("Weave the warp."), spawns("Weave the weft."), patience},
		on("the red one", rules("COMPLETE", "Red it is.", "summary", "woven in red")),
		on("The warp is woven", asksHuman("Which <colour> & why?")), patience),
	orchestrator("warp", "Weave the warp", []object{bash("touch warp"), bash("touch one"), bash("touch two"),
		bash("touch three"), bash("mkdir four"), bash("rm one"), on("Leave it there", bash("rm one")),
		on("Denied", done("The warp is woven."))}),
	orchestrator("weft", "", []object{bash("touch weft"), done("The weft is woven.")}))

// waitingRun is a run whose two Orchestrators wait for permission. Its working directory is the workspace.
func waitingRun(t *testing.T, p player, args ...string) (*script, *rehearsal.Server) {
	t.Helper()
	onlyLinux(t)
	work := t.TempDir()
	s, model := hiredIn(t, p, waitingPlay, work, append([]string{"--task", "Weave <it>"}, args...)...)
	s.cmd.Dir = work
	asked := map[string]bool{}
	s.see("two requests", func(l contract.Line) bool {
		if _, ok := l.Body.(contract.PermissionRequest); ok {
			asked[l.ID] = true
		}
		return len(asked) == 2
	})
	return s, model
}

// TestPsAndStatus: ps lists live runs, and status shows what waits for the human, with the command that answers
// it.
func TestPsAndStatus(t *testing.T) {
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0])
	run := collect[contract.Session](s)[0].Session
	list := besideJSON[[]runstore.LiveReport](s, "ps")
	one := besideJSON[runstore.LiveReport](s, "status", run[:6])
	for i, r := range append(list, one) {
		testkit.Check(t, r.Run == run && r.PID == s.cmd.Process.Pid && r.Title == "Weave <it>" &&
			r.Phase == "executing" && !r.Paused && r.Seq != 0 && len(r.Agents) == 3 && r.Agents[1].Status == "busy" &&
			len(r.Inbox) == 2 && r.Problem == "" && !r.Began.IsZero() && command.SameDir(r.CWD, s.cmd.Dir), "%d: %+v",
			i, r)
		for _, w := range r.Inbox {
			testkit.Check(t, w.Kind == supervisor.InboxPermission && w.Request != nil && w.Request.Tool == "Bash" &&
				!w.Since.IsZero(), "it waits: %+v", w)
		}
	}
	testkit.Same(t, "runs", 1, len(list))
	s.runs(contract.ExitComplete, run[:8], "ps")
	text := s.runs(contract.ExitComplete, "touch weft", "status").out
	testkit.Includes(t, "", text, run, "Weave <it>", "orch-2", "Answer with: arbiter allow "+run[:8]+" perm-")
	told, code := followed(s.stateDir(), run, s.cancels)
	whole, _ := s.output(0, "logs", run)
	testkit.Check(t, code == 0 && told == whole, "of a run that ends meanwhile, logs -f tells, with code %d\n%s\nnot\n%s",
		code, told, whole)
	s.runs(contract.ExitComplete, "No run is live.", "ps")
	got := s.beside("ps", "--json")
	testkit.Check(t, got.out == "[]\n", "ps --json prints %s", got.out)
	s.runs(contract.ExitUsage, "no run is live in", "status")
	next := "arbiter --resume --session " + command.ShortID(run) + " continues it"
	s.runs(contract.ExitUsage, "is not live (cancelled); "+next, "status", run)
	s.runs(contract.ExitUsage, "there is no run", "status", "zz")
	s.runs(contract.ExitUsage, "takes no argument", "ps", "x")
	s.runs(contract.ExitUsage, "at most one RUN", "status", "a", "b")
}

// followed is what logs -f prints, of a run that something happens to when the first line is printed.
func followed(state, id string, happens func()) (string, int) {
	out := &tripping{happens: sync.OnceFunc(happens)}
	code := run([]string{"arbiter", "logs", "-f", "--state-dir", state, id}, strings.NewReader(""), out, io.Discard)
	return out.String(), code
}

type tripping struct {
	strings.Builder
	happens func()
}

func (w *tripping) Write(b []byte) (int, error) {
	w.happens()
	return w.Builder.Write(b)
}

// TestOfASilentRun: a run that does not answer is listed, and marked as not answering.
func TestOfASilentRun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	b := atWork(t, players(t)[0])
	b.mustSignal(syscall.SIGSTOP)
	awaitProcess(t, b.cmd.Process.Pid, "T")
	list := besideJSON[[]runstore.LiveReport](b.script, "ps")
	testkit.Check(t, len(list) == 1 && list[0].Problem == "does not answer" && list[0].Run == b.run, "%+v", list)
	b.runs(contract.ExitComplete, "does not answer", "ps")
	b.runs(contract.ExitEnvironment, "does not answer", "status")
	b.runs(contract.ExitEnvironment, "does not answer", "logs", "-f")
	b.mustSignal(syscall.SIGCONT)
	testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
	b.finish(contract.ExitComplete)
}

// onlooker is an arbiter command that keeps running in a second terminal.
type onlooker struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs testkit.Buffer
}

func (s *script) look(args ...string) *onlooker {
	s.t.Helper()
	o := &onlooker{t: s.t, cmd: exec.Command("arbiter", args...)}
	o.cmd.Env, o.cmd.Dir, o.cmd.Stdout, o.cmd.Stderr = s.cmd.Env, s.cmd.Dir, &o.out, &o.errs
	o.cmd.WaitDelay = waitTimeout
	testkit.OK(s.t, o.cmd.Start())
	s.t.Cleanup(func() {
		if o.cmd.ProcessState == nil {
			_ = o.cmd.Process.Kill()
			_ = o.cmd.Wait()
		}
	})
	return o
}

// shows waits until it has printed a text.
func (o *onlooker) shows(want string) {
	o.t.Helper()
	o.await(want, func() {})
}

// failureCaused waits until it has printed a line, and calls do again and again meanwhile.
func (o *onlooker) failureCaused(do func()) {
	o.t.Helper()
	o.await("\n", do)
}

func (o *onlooker) await(want string, meanwhile func()) {
	o.t.Helper()
	testkit.Await(o.t, strconv.Quote(want)+" that it prints", func() bool {
		meanwhile()
		return strings.Contains(o.out.String(), want)
	})
}

// ends waits for its end, checks its exit code, and returns its stdout.
func (o *onlooker) ends(code contract.Exit) string {
	o.t.Helper()
	late := time.AfterFunc(waitTimeout, func() { _ = o.cmd.Process.Kill() })
	defer late.Stop()
	_ = o.cmd.Wait() // its exit code is checked instead
	got := o.cmd.ProcessState.ExitCode()
	testkit.Check(o.t, got == int(code), "%q ends with %d, want %d: %s", o.cmd.Args, got, code, o.errs.String())
	return o.out.String()
}

// TestWatch: watchers in other terminals print the same bytes as the run's stdout, from the requested event on,
// and end with the run and with its exit code. A signal to a watcher ends only that watcher.
func TestWatch(t *testing.T) {
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0], "--debug")
	run := collect[contract.Session](s)[0].Session
	one, two, third := s.look("watch"), s.look("watch", run[:8]), s.look("watch", "--since", "3")
	late, gone := s.look("watch", "--since", "-1"), s.look("watch")
	log, story := s.look("logs", "-f", "--program"), s.look("logs", "-f")
	gone.shows(`"permission_request"`)
	testkit.OK(t, gone.cmd.Process.Signal(syscall.SIGINT))
	gone.ends(contract.ExitInterrupted)
	s.runs(contract.ExitUsage, "use the seq of an event", "watch", "--since", "-2")
	for _, o := range []*onlooker{one, two, third} {
		o.shows(`"permission_request"`)
	}
	log.shows("level=")
	late.failureCaused(func() { s.send(contract.Interrupt{ID: "orch-9"}) }) // the answer is an event
	s.send(contract.Say{Text: "<&> é", To: "orch-1"})
	s.cancels()
	all := s.raw.Bytes()
	for i, o := range []*onlooker{one, two} {
		got := o.ends(contract.ExitFailed)
		testkit.Check(t, got == string(all), "watcher %d:\n%s\ninstead of\n%s", i, got, all)
	}
	lines := bytes.SplitAfter(all, []byte("\n"))
	testkit.Same(t, "from the fourth on", string(bytes.Join(lines[3:], nil)), third.ends(contract.ExitFailed))
	got := late.ends(contract.ExitFailed)
	testkit.Check(t, got != "" && len(got) < len(all) && bytes.HasSuffix(all, []byte(got)), "from now on:\n%s", got)
	testkit.Includes(t, "it says", one.errs.String(), "the run ended: cancelled")
	kept, err := os.ReadFile(filepath.Join(s.stateDir(), "runs", run, runstore.LogName))
	got = log.ends(contract.ExitComplete)
	testkit.Check(t, err == nil && got == string(kept) && got != "", "logs -f: %v\n%s\ninstead of\n%s", err, got, kept)
	told, _ := s.output(0, "logs", run)
	if got := story.ends(contract.ExitComplete); got != told || !strings.Contains(told, "asks to use") {
		t.Errorf("logs -f tells\n%s\ninstead of\n%s", got, told)
	}
	s.runs(contract.ExitComplete, string(kept), "logs", "--program", "--follow", run)
	s.runs(contract.ExitUsage, "no run is live in", "logs", "-f")
	s.runs(contract.ExitUsage, "is not live", "watch", run)
}

// cutter is a proxy between the clients of a run and its socket.
type cutter struct {
	listener net.Listener
	real     string
	conns    chan net.Conn // connections of clients
	work     sync.WaitGroup
}

func cutBetween(t *testing.T, socket string) *cutter {
	t.Helper()
	dir := testkit.ShortDir(t) // the path of the run's socket may be too long
	c := &cutter{real: filepath.Join(dir, "real"), conns: make(chan net.Conn, 8)}
	if target, err := os.Readlink(socket); err == nil {
		c.real = target
		_ = os.Remove(socket)
	} else if err := os.Rename(socket, c.real); err != nil {
		t.Fatal(err)
	}
	var err error
	if c.listener, err = net.Listen("unix", filepath.Join(dir, "cut")); err == nil {
		err = os.Symlink(filepath.Join(dir, "cut"), socket)
	}
	testkit.OK(t, err)
	c.work.Go(c.accept)
	t.Cleanup(func() {
		_ = c.listener.Close()
		c.work.Wait()
	})
	return c
}

func (c *cutter) accept() {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", c.real)
		if err != nil {
			_ = client.Close()
			continue
		}
		c.conns <- client
		for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
			c.work.Go(func() {
				_, _ = io.Copy(way[0], way[1]) // until either is closed
				_ = client.Close()
				_ = server.Close()
			})
		}
	}
}

// TestWatchIsDropped: a watcher whose connection is cut (as happens to one that does not read for long)
// continues where it was. If the run is gone, the watcher says so.
func TestWatchIsDropped(t *testing.T) {
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0])
	run := collect[contract.Session](s)[0].Session
	between := cutBetween(t, filepath.Join(s.stateDir(), "runs", run, control.SocketName))
	one := s.look("watch")
	one.shows(`"permission_request"`)
	_ = (<-between.conns).Close()
	s.send(contract.Interrupt{ID: "orch-9"})
	one.shows("orch-9")
	s.cancels()
	testkit.Same(t, "it prints", s.raw.String(), one.ends(contract.ExitFailed))

	b := atWork(t, players(t)[0])
	other := b.look("watch")
	other.shows(`"tool_use"`)
	_ = b.cmd.Process.Kill()
	other.ends(contract.ExitEnvironment)
	testkit.Includes(t, "it says", other.errs.String(), "was lost", "arbiter replay "+b.run[:8])
}
