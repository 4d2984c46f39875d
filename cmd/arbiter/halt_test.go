package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// stuckVariable names a file: once it exists, the run's goroutine blocks forever.
const stuckVariable = "ARBITER_TEST_STUCK"

func blockLoop() {
	mark := os.Getenv(stuckVariable)
	if mark == "" {
		return
	}
	host.Publishing = func() {
		if _, err := os.Stat(mark); err == nil {
			select {}
		}
	}
}

// unresponsivePlay is a play whose Orchestrator runs a command that does not end, and that ignores SIGTERM and the end
// of its terminal.
var unresponsivePlay = spin(
	"trap '' TERM HUP INT; echo begun > begun; while [ ! -e go ]; do sleep 0.05; done; echo spun > went")

// busy is a run whose Orchestrator is at work, and whose goroutine can be made to block.
type busy struct {
	*script
	home, work, run string
	mark            string
}

func atWork(t *testing.T, who player, args ...string) *busy {
	t.Helper()
	onlyLinux(t)
	mark := filepath.Join(t.TempDir(), "stuck")
	s := prepare(t, []string{stuckVariable + "=" + mark},
		append(append(who.args, "--json", "--scenario", scenarioFile(t, unresponsivePlay), "--task", "Weave"), args...)...)
	s.launch()
	first := await[contract.Session](s, "the session", nil)
	b := &busy{script: s, home: s.cmd.Dir, work: first.CWD, run: first.Session, mark: mark}
	awaitFile(t, filepath.Join(b.work, "begun"))
	return b
}

// halt runs `arbiter halt` in another process.
func (b *busy) halts(run string, parts ...string) {
	b.t.Helper()
	b.beside("halt", run).ended(b.t, "halt", contract.ExitComplete, parts...)
}

// agents returns the run's processes except the bridge.
func (b *busy) agents() map[int]string {
	left := survivors(b.run)
	for pid, cmd := range left {
		if strings.HasSuffix(strings.TrimSpace(cmd), "bridge") {
			delete(left, pid)
		}
	}
	return left
}

// awaitStill waits until no agent is alive.
func (b *busy) awaitStill(most time.Duration) {
	b.t.Helper()
	within(b.t, most, "end of all agents", func() bool { return len(b.agents()) == 0 })
}

// TestHaltAndContinue: `arbiter halt` in another process stops every agent, the run reports it, and after
// continue the run completes.
func TestHaltAndContinue(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver's TestLiveStop ends the real CLI
		b := atWork(t, who)
		b.halts(b.run[:8], "is halted. No agent is alive")
		b.awaitStill(0)
		by := await[contract.Halted](b.script, "the halt", nil)
		testkit.Check(t, by.By == "socket", "it came by %q", by.By)
		b.halts("--all", "No agent is alive")
		testkit.OK(t, os.WriteFile(filepath.Join(b.work, "go"), nil, 0o600))
		b.send(contract.Continue{})
		b.script.completes()
	})
}

// TestHaltOfAStoppedArbiter: if arbiter does not answer at all, halt kills the processes itself, and arbiter
// starts nothing when it is continued.
func TestHaltOfAStoppedArbiter(t *testing.T) {
	t.Parallel()
	b := atWork(t, players(t)[0])
	b.mustSignal(syscall.SIGSTOP)
	awaitProcess(t, b.cmd.Process.Pid, "T")
	b.halts(b.run[:8], "does not answer", "Killed: ")
	testkit.Empty(t, "alive", survivors(b.run))
	b.mustSignal(syscall.SIGCONT)
	await[contract.Halted](b.script, "the halt", nil)
	b.beside("send", b.run[:8], "Go on.").ended(t, "send", contract.ExitComplete,
		"message to arbiter; the run is halted: nothing is sent before it is continued")
	b.send(contract.Cancel{})
	await[contract.Result](b.script, "the result", nil)
	testkit.Empty(t, "alive after all", b.agents())
	c := b.beside("halt", b.run[:8])
	testkit.Check(t, c.code == contract.ExitUsage || c.code == contract.ExitComplete, "of a run that is over: %+v", c)
	b.finish(contract.ExitFailed)
}

// TestHaltKey: Ctrl+\ stops everything, even while a dialog is open and the run's goroutine is blocked, or when a
// terminal has sent half a paste. tui.FuzzHaltingKey has more of what may come before it.
func TestHaltKey(t *testing.T) {
	for name, before := range map[string]func(t *testing.T, p *pane, mark string){
		"after half a paste": func(_ *testing.T, p *pane, _ string) { p.Type("\x1b[200~") },
		"of a stuck run, from a dialog": func(t *testing.T, p *pane, mark string) {
			testkit.OK(t, os.WriteFile(mark, nil, 0o600))
			p.Type("/interrupt orch-9\n")
			p.pressed("Ctrl+C", "Leave?")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onlyLinux(t)
			h := newTestHome(t, players(t)[0])
			mark := filepath.Join(t.TempDir(), "stuck")
			h.env = append(h.env, stuckVariable+"="+mark)
			p := h.play(scenarioFile(t, unresponsivePlay), "--task", "Weave")
			p.await("THE WEAVING", "Orchestrator I", "Bash")
			awaitFile(t, filepath.Join(h.scratch(), "begun"))
			before(t, p, mark)
			p.Type("\x1c")
			p.until(func(s pty.Screen) bool { // one text is shown briefly, the other stays
				return s.Shows("All is still.") || name == "after half a paste" && s.Shows("Everything is halted.")
			})
			b := &busy{script: &script{t: t}, run: h.runs()[0]}
			b.awaitStill(waitTimeout)
		})
	}
}

// TestAgentsCannotHalt: commands to arbiter from an Orchestrator's shell, with or without its environment, and calls of
// an MCP server that it has started, are refused, and the human is notified of this once.
func TestAgentsCannotHalt(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	self := testkit.Must(exec.LookPath("arbiter"))(t)
	home := t.TempDir()
	state := filepath.Join(home, "state")
	calls := ""
	for tool, more := range map[string]string{"answer": `,"text":"Approved."`, "status": "", "cancel": ""} {
		calls += `echo '{"jsonrpc":"2.0","id":"` + tool + `","method":"tools/call","params":{"name":"` + tool +
			`","arguments":{"run":"'$ARBITER_RUN'"` + more + `},"_meta":{"` + mcp.MetaKeyProtocolVersion +
			`":"2026-07-28","` + mcp.MetaKeyClientCapabilities + `":{}}}}' >&3` + "\n"
	}
	tries := `export HOME=` + home + `; A=` + self + `; {
$A halt --all --state-dir ` + state + `; echo "halt $?"
env -i PATH="$PATH" HOME="$HOME" $A halt --all --state-dir ` + state + `; echo "bare halt $?"
(setsid env -i PATH="$PATH" $A halt --all --state-dir ` + state + ` > later 2>&1; echo "detached halt $?" >> later) &
script -qec "$A attach arbiter --state-dir ` + state + ` --session $ARBITER_RUN; echo attach \$?" /dev/null < /dev/null
for try in "status" "watch" "send Complete." "allow all" "deny all" "choose retry" "stop" "stop --now"; do
  $A $try --state-dir ` + state + `; echo "$try $?"
done
env -i PATH="$PATH" $A send --to arbiter Complete. --state-dir ` + state + `; echo "bare send $?"
$A ps --state-dir ` + state + `
mkfifo in; $A mcp --state-dir ` + state + ` --allow-dir $HOME < in > out & exec 3> in
` + calls + `until [ $(grep -c isError out) = 3 ]; do sleep 0.05; done; exec 3>&-
wait; cat later out
} > tries 2>&1; echo done > tried`
	s := prepare(t, nil, append(players(t)[0].args, "--json", "--state-dir", state, "--scenario",
		scenarioFile(t, spin(tries)), "--task", "Weave")...)
	s.cmd.Dir = home
	s.launch()
	first := await[contract.Session](s, "the session", nil)
	s.awaitNotice("asked the control socket")
	await[contract.Result](s, "the result", nil)
	raw := testkit.Must(os.ReadFile(filepath.Join(first.CWD, "tries")))(t)
	text := string(raw)
	testkit.Includes(t, "", text, "halt 2", "bare halt 2", "detached halt 2", "refused", "status 2", "watch 2",
		"send Complete. 2", "allow all 2", "deny all 2", "choose retry 2", "stop 2", "stop --now 2", "bare send 2")
	testkit.Same(t, "refused calls", 3, strings.Count(text, `"isError":true`))
	testkit.Includes(t, "ps shows", text, first.Session[:8]+"  refused")
	if n := len(collect[contract.Accepted](s)); n > 0 {
		t.Errorf("%d commands were accepted", n)
	}
	testkit.Excludes(t, "one got through", text, "attach 0", "No agent is alive")
	if n := len(collect[contract.Halted](s)); n > 0 {
		t.Errorf("%d halts", n)
	}
	n := testkit.Count(collect[contract.Notice](s),
		func(notice contract.Notice) bool { return strings.Contains(notice.Text, "control socket") })
	testkit.Same(t, "how often the human was told", 1, n)
	log, _ := os.ReadFile(filepath.Join(state, "runs", first.Session, runstore.LogName))
	testkit.Check(t, strings.Count(string(log), "control: refused") >= 3, "the log says:\n%.3000s", log)
	s.finish(contract.ExitComplete)
}

// TestWhoMayAskARun: another user is refused, also one who can reach the socket. TestAgentsCannotHalt shows the same of
// the descendants of an agent.
func TestWhoMayAskARun(t *testing.T) {
	t.Parallel()
	onlyLinux(t) // where arbiter can recognize users
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	s := dialogue(t)
	b := &busy{script: s, home: s.cmd.Dir, run: s.run()}
	for who, ask := range map[string]func() (out string, code int){
		"another user":                         b.asNobody,
		"another user, who reaches the socket": b.asNobodyAtTheSocket,
	} {
		out, code := ask()
		testkit.Check(t, (code == int(contract.ExitUsage) || code == int(contract.ExitEnvironment)) &&
			strings.Contains(out, "refused"), "%s: %d, %s", who, code, out)
	}
	testkit.Empty(t, "halted", collect[contract.Halted](s))
	s.named()
}

// asNobody halts the run as another user, who cannot enter the directory of the runs.
func (b *busy) asNobody() (out string, code int) {
	b.t.Helper()
	out, code = b.nobodyRuns("arbiter", "halt", b.run, "--state-dir", b.stateDir())
	return strings.ReplaceAll(out, "permission denied", "refused"), code
}

// asNobodyAtTheSocket connects to the socket as another user, after it has made all directories on the way
// accessible.
func (b *busy) asNobodyAtTheSocket() (out string, code int) {
	b.t.Helper()
	socket := testkit.Must(filepath.EvalSymlinks(filepath.Join(b.stateDir(), "runs", b.run, control.SocketName)))(b.t)
	testkit.OK(b.t, os.Chmod(socket, 0o777))
	for dir := filepath.Dir(socket); dir != filepath.Clean(os.TempDir()) && dir != "/"; dir = filepath.Dir(dir) {
		testkit.OK(b.t, os.Chmod(dir, 0o755))
	}
	return b.nobodyRuns("ask-socket", socket)
}

// nobodyRuns runs a program of these tests as another user. It links the program into an accessible directory.
func (b *busy) nobodyRuns(name string, args ...string) (out string, code int) {
	b.t.Helper()
	self, err := exec.LookPath(name)
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	testkit.OK(b.t, err)
	dir := testkit.Must(os.MkdirTemp("", "arbiter-nobody-"))(b.t)
	defer os.RemoveAll(dir)
	// A link, not a copy: another test's child could have inherited a descriptor that has the copy open for
	// writing, and the copy could not be executed.
	err = os.Link(self, filepath.Join(dir, name))
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	testkit.OK(b.t, err)
	const nobody = 65534
	cmd := exec.Command(filepath.Join(dir, name), args...)
	cmd.Dir, cmd.Env = "/", []string{"HOME=/nonexistent", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	text, err := cmd.CombinedOutput()
	testkit.Need(b.t, cmd.ProcessState != nil, "%v", err)
	return string(text), cmd.ProcessState.ExitCode()
}

// askSocket is a program that connects to the socket in its argument.
func askSocket() {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	client, _, err := control.Dial[runstore.LiveStatus](ctx, os.Args[1], nil)
	if err == nil {
		client.Close()
		return
	}
	fmt.Println(err)
	os.Exit(int(contract.ExitUsage))
}
