package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// socketCommands are the commands that reach a live run by its socket, with the exit code that the run's own
// user gets if the run waits for no answer.
var socketCommands = []struct {
	args string
	own  contract.Exit
}{
	{"status RUN", contract.ExitComplete},
	{"send RUN A-note.", contract.ExitComplete},
	{"allow RUN", contract.ExitUsage}, // there is no request
	{"deny RUN all", contract.ExitComplete},
	{"choose RUN retry", contract.ExitUsage},
	{"halt RUN", contract.ExitComplete},
	{"stop RUN", contract.ExitComplete},
}

// TestWhoMayAskARun: what the run's own user may do is refused to all others, and their commands have no
// effect.
func TestWhoMayAskARun(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onlyLinux(t) // where arbiter can recognize descendants and users
	for who, ask := range map[string]func(b *busy, args string) (out string, code int){
		"another user":                         (*busy).asNobody,
		"another user, who reaches the socket": (*busy).asNobodyAtTheSocket,
		"a descendant of an agent":             (*busy).asAgent,
		"its own user":                         nil,
	} {
		t.Run(who, func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(who, "another") && os.Getuid() != 0 {
				t.Skip("only root can become another user")
			}
			b := exposed(t)
			for _, c := range socketCommands {
				args := strings.Replace(c.args, "RUN", b.run, 1)
				if ask == nil {
					if out, code := b.asUser(args); code != int(c.own) || strings.Contains(out, "refused") {
						t.Errorf("arbiter %s: %d, want %d: %s", c.args, code, c.own, out)
					}
					continue
				}
				out, code := ask(b, args)
				if code != int(contract.ExitUsage) && code != int(contract.ExitEnvironment) ||
					!strings.Contains(out, "refused") {
					t.Errorf("arbiter %s: %d, %s", c.args, code, out)
				}
			}
			effects := len(collect[contract.Accepted](b.script)) + len(collect[contract.Halted](b.script))
			if (effects > 0) != (ask == nil) {
				t.Errorf("%d commands had an effect", effects)
			}
		})
	}
}

// exposed is a run whose Orchestrator executes the file `try` whenever it exists, and writes the output to
// `tried`.
func exposed(t *testing.T) *busy {
	t.Helper()
	const play = "echo begun > begun; while :; do while [ ! -e try ]; do sleep 0.02; done; mv try trying; " +
		"sh ./trying > out 2>&1; echo $? >> out; mv out tried; done"
	s := prepare(t, nil, append(players(t)[0].args, "--json", "--scenario", scenarioFile(t, spin(play)), "--task",
		"Weave")...)
	s.launch()
	first := await[contract.Session](s, "the session", nil)
	b := &busy{script: s, home: s.cmd.Dir, work: first.CWD, run: first.Session}
	awaitFile(t, filepath.Join(b.work, "begun"))
	return b
}

func (b *busy) state() string { return filepath.Join(b.home, ".local", "state", "arbiter") }

// asUser runs an arbiter command as the run's user.
func (b *busy) asUser(args string) (out string, code int) {
	b.t.Helper()
	c := b.beside(strings.Fields(args)...)
	return c.out + c.errs, int(c.code)
}

// asAgent runs an arbiter command in the Orchestrator's shell, without the run's environment.
func (b *busy) asAgent(args string) (out string, code int) {
	b.t.Helper()
	self := testkit.Must(exec.LookPath("arbiter"))(b.t)
	return b.inAgent(fmt.Sprintf("env -i HOME=%s setsid %s %s --state-dir %s < /dev/null", b.home, self, args,
		b.state()))
}

// inAgent runs a command line in the Orchestrator's shell.
func (b *busy) inAgent(line string) (out string, code int) {
	b.t.Helper()
	next := filepath.Join(b.work, "next")
	testkit.OK(b.t, os.WriteFile(next, []byte(line), 0o600))
	testkit.OK(b.t, os.Rename(next, filepath.Join(b.work, "try")))
	tried := filepath.Join(b.work, "tried")
	awaitFile(b.t, tried)
	raw, err := os.ReadFile(tried)
	if err == nil {
		err = os.Remove(tried)
	}
	testkit.OK(b.t, err)
	text := strings.TrimSpace(string(raw))
	at := strings.LastIndexByte(text, '\n') + 1
	code, err = strconv.Atoi(text[at:])
	if err != nil {
		b.t.Fatalf("%s: %s", line, text)
	}
	return text[:at], code
}

// asNobody runs an arbiter command as another user, who cannot enter the directory of the runs.
func (b *busy) asNobody(args string) (out string, code int) {
	b.t.Helper()
	out, code = b.nobodyRuns("arbiter", append(strings.Fields(args), "--state-dir", b.state())...)
	return strings.ReplaceAll(out, "permission denied", "refused"), code
}

// asNobodyAtTheSocket connects to the socket as another user, after it has made all directories on the way
// accessible.
func (b *busy) asNobodyAtTheSocket(string) (out string, code int) {
	b.t.Helper()
	socket := testkit.Must(filepath.EvalSymlinks(filepath.Join(b.state(), "runs", b.run, control.SocketName)))(b.t)
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
	if cmd.ProcessState == nil {
		b.t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// askSocket is a program that connects to the socket in its argument.
func askSocket() {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	client, _, err := control.Dial(ctx, os.Args[1], nil)
	if err == nil {
		client.Close()
		return
	}
	fmt.Println(err)
	os.Exit(int(contract.ExitUsage))
}
