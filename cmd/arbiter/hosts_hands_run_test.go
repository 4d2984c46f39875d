package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// remoteTakeover is a run whose Orchestrator runs on a host over ssh, under another account.
type remoteTakeover struct {
	*twoTerminals
	ssh *hosttest.SSH
}

// takeOverOnHost starts such a run with `--json`.
func takeOverOnHost(t *testing.T, who player, play string) *remoteTakeover {
	t.Helper()
	h := build(t, who, play)
	ssh, claude := hosttest.NewSSH(t), ""
	if who.real {
		claude = who.args[len(who.args)-1]
		// In a terminal, the CLI asks its first-start questions unless its configuration answers them.
		raw, err := os.ReadFile(filepath.Join(h.home, ".claude.json"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, string(raw), ssh.Home, ".claude.json")
		owner, err := os.Stat(ssh.Home)
		if err != nil {
			t.Fatal(err)
		}
		of := owner.Sys().(*syscall.Stat_t)
		if err := os.Chown(filepath.Join(ssh.Home, ".claude.json"), int(of.Uid), int(of.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	equip(t, ssh.Bin, claude)
	config := write(t, fmt.Sprintf("hosts:\n  box:\n    command: [ssh, -F, %s, far]\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, CLAUDE_CODE_SANDBOXED, DISABLE_AUTOUPDATER]\n",
		ssh.Config), t.TempDir(), "config.yaml")
	h.work = gittest.New(t, map[string]string{"old.txt": "old\n"}).Path
	h.args = []string{"--trust", "--claude", h.claude, "--config", config, "--hosts", "box", "--lease", "1h",
		"--permissions", "rules", "--allow", "Bash(*)", "--task", "Weave"}
	return &remoteTakeover{&twoTerminals{h.testHome, h.script(), h.model}, ssh}
}

// elsewhere returns the processes of the run on the host, except its bridge and the bridge's keeper.
func (w *remoteTakeover) elsewhere() map[int]string {
	left := survivors(w.run.run())
	for pid, cmd := range left {
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if !strings.Contains(string(env), "ARBITER_BRIDGE=box\x00") || strings.Contains(cmd, "bridge --remote") {
			delete(left, pid)
		}
	}
	return left
}

// TestAttachOnAHost: a person takes the session of an Orchestrator on another host into a terminal here, speaks with
// it, and gives it back; a second terminal is refused meanwhile. The Orchestrator knows what was said, and the Arbiter
// is notified.
func TestAttachOnAHost(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			w := takeOverOnHost(t, who, hand)
			w.takenAndGivenBack("Orchestrator I @box")
		})
	}
}

// TestStopOnAHost: an Orchestrator on another host that ignores all signals can be stopped in the same ways as
// a local one, and no process of it stays alive there. The lease of an hour is too long to end anything in this
// test.
func TestStopOnAHost(t *testing.T) {
	ways := []struct {
		name, play string
		do         func(t *testing.T, w *remoteTakeover)
	}{
		{"halt and continue", unresponsivePlay, func(t *testing.T, w *remoteTakeover) {
			if text, code := w.beside("halt"); code != 0 || !strings.Contains(text, "is halted. No agent is alive") {
				t.Errorf("halt: exit %d, %s", code, text)
			}
			if left := w.elsewhere(); len(left) > 0 {
				t.Errorf("halted, and alive there: %v", left)
			}
			await[contract.Halted](w.run, "the halt", nil)
			w.release()
			w.run.send(contract.Continue{})
			await[contract.Result](w.run, "the result", nil)
			w.run.finish(contract.ExitComplete)
		}},
		{"kill", unresponsivePlay, func(t *testing.T, w *remoteTakeover) {
			w.run.send(contract.Kill{ID: "orch-1"})
			await(w.run, "its end", func(id string, _ contract.Done) bool { return id == "orch-1" })
			hosttest.Await(t, "the end of the agent there", func() bool { return len(w.elsewhere()) == 0 })
			w.run.send(contract.Cancel{})
			await[contract.Result](w.run, "the result", nil)
			w.run.finish(contract.ExitFailed)
		}},
		{"interrupt", strings.Replace(unresponsivePlay, "trap '' TERM HUP INT; ", "", 1),
			func(t *testing.T, w *remoteTakeover) {
				w.run.send(contract.Interrupt{ID: "orch-1"})
				await(w.run, "the end of the turn", func(id string, b contract.Turn) bool {
					return id == "orch-1" && b.Outcome == bridge.TurnInterrupted
				})
				await[contract.Result](w.run, "the result", nil)
				w.run.finish(contract.ExitComplete)
			}},
		{"halt of a stopped arbiter", unresponsivePlay, func(t *testing.T, w *remoteTakeover) {
			w.run.mustSignal(syscall.SIGSTOP)
			awaitProcess(t, w.run.cmd.Process.Pid, "T")
			text, code := w.beside("halt")
			if code != 0 || !strings.Contains(text, "Killed: ") || !strings.Contains(text, "Agents on box end") {
				t.Errorf("halt: exit %d, %s", code, text)
			}
			hosttest.Await(t, "the end of all on the host", func() bool { return len(survivors(w.run.run())) == 0 })
			w.run.mustSignal(syscall.SIGCONT)
			await[contract.Halted](w.run, "the halt", nil)
			w.run.send(contract.Cancel{})
			await[contract.Result](w.run, "the result", nil)
			w.run.finish(contract.ExitFailed)
		}},
		{"stop at once", unresponsivePlay, func(t *testing.T, w *remoteTakeover) {
			if text, code := w.beside("stop", "--now"); code != 0 || !strings.Contains(text, "resume") {
				t.Errorf("stop: exit %d, %s", code, text)
			}
			w.run.finish(contract.ExitTerminated)
		}},
		{"halt without the link", unresponsivePlay, func(t *testing.T, w *remoteTakeover) {
			w.ssh.Relay.Hole()
			text, code := w.beside("halt")
			if code != int(contract.ExitFailed) || !strings.Contains(text, "still alive: orch-1 @box") {
				t.Errorf("halt: exit %d, %s", code, text)
			}
			w.ssh.Relay.Restore()
			hosttest.Await(t, "the end of the agent there", func() bool { return len(w.elsewhere()) == 0 })
			w.run.send(contract.Cancel{})
			await[contract.Result](w.run, "the result", nil)
			w.run.finish(contract.ExitFailed)
		}},
		{"killed arbiter", unresponsivePlay,
			func(t *testing.T, w *remoteTakeover) { _ = w.run.cmd.Process.Kill(); w.run.gone() }},
	}
	for i, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			if i > 1 && !testkit.AtNight() {
				t.Skip("with ARBITER_LONG=1")
			}
			w := takeOverOnHost(t, players(t)[0], way.play)
			hosttest.Await(t, "the command there", func() bool { return len(w.far("begun")) == 1 })
			way.do(t, w)
			hosttest.Await(t, "the end of all on the host", func() bool { return len(survivors(w.run.run())) == 0 })
		})
	}
}

// far finds a file in the directories of Orchestrators on the host.
func (w *remoteTakeover) far(name string) []string {
	found, _ := filepath.Glob(filepath.Join(w.ssh.Home, ".local/share/arbiter/hosts/*/orch-*", name))
	return found
}

// release lets the agent's command on the host end when it is run again.
func (w *remoteTakeover) release() {
	w.t.Helper()
	for _, file := range w.far("begun") {
		write(w.t, "", filepath.Dir(file), "go")
	}
}

// beside runs an arbiter command in another process, and returns what it writes to stdout and stderr.
func (w *remoteTakeover) beside(args ...string) (text string, code int) {
	w.t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env, cmd.Dir = w.env, w.work
	raw, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return string(raw), cmd.ProcessState.ExitCode()
}
