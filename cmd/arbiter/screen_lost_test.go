package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// lends are the programs that use the screen's terminal. Each entry stops at the moment when its program has
// the terminal.
var lends = []struct {
	name  string
	begun bool // whether there is a run by then
	start func(h *testHome, hup string) *pane
}{
	{"log-in", false, func(h *testHome, hup string) *pane {
		claude := program(h.t, "claude", `case "$1" in
--version) echo "2.1.329 (Claude Code)" ;;
auth) [ "$2" = login ] || { echo '{"loggedIn":false,"authMethod":"none"}'; exit 1; }; printf 'Paste the code: '; read -r code ;;
esac
`)
		p := h.openWith(hup, "--claude", claude)
		p.await("Log in", "Rehearse")
		p.press("l")
		p.await("Ctrl+] comes back", "Paste the code:")
		return p
	}},
	{"editor", false, func(h *testHome, hup string) *pane {
		h.env = append(h.env, "EDITOR="+program(h.t, "edit", "echo '[editing]'\nread -r line\n"))
		p := h.openWith(hup, h.rehearsing(absolute(h.t, "testdata/scenarios/screen.yaml"))...)
		p.await("Speak, mortal.")
		p.press("Ctrl+G")
		p.await("[editing]")
		return p
	}},
	// This editor does not use its terminal, like a graphical editor with its own window.
	{"deaf editor", true, func(h *testHome, hup string) *pane {
		h.env = append(h.env,
			"EDITOR="+program(h.t, "edit", "trap '' HUP\necho '[editing]'\nexec sleep 1000 <&- >&- 2>&-\n"))
		p := h.openWith(hup, append(h.rehearsing(absolute(h.t, "testdata/scenarios/screen.yaml")), "--task",
			"Make a thing")...)
		p.await("What shall it be called?", "The Arbiter awaits your answer.")
		p.press("Ctrl+G")
		p.await("[editing]")
		return p
	}},
	{"session", true, func(h *testHome, hup string) *pane {
		p := h.openWith(hup, append(h.rehearsing(scenarioFile(h.t, handOnScreen)), "--task", "Weave")...)
		p.await("Which thread shall it be?", "The Arbiter awaits your answer.")
		p.Type("/attach orch-1\n")
		if h.player.real {
			p.await("Claude Code v", "Spin it.", "for shortcuts")
		} else {
			p.await("This is the session of Orchestrator I", "> ")
		}
		return p
	}},
	{"session that is being opened", true, func(h *testHome, hup string) *pane {
		onlyLinux(h.t)
		claude := sickClaude(h.t, sick{"orch-1.1": `sh:trap '' TERM INT HUP; $standin "$@"; exec sleep 1000`})
		p := h.openWith(hup, "--rehearse", "--claude", claude, "--scenario", scenarioFile(h.t, unresponsivePlay), "--task",
			"Weave")
		p.await("THE WEAVING", "Orchestrator I", "Bash")
		p.Type("/attach orch-1\n")
		p.await("Attaching to orch-1")
		return p
	}},
}

// openWith starts arbiter from a shell that first sets how to handle SIGHUP.
func (h *testHome) openWith(hup string, args ...string) *pane {
	h.t.Helper()
	script := hup + ` exec arbiter --on-hangup stop "$@"`
	return h.run(exec.Command("/bin/sh", append([]string{"-c", script, "sh"}, args...)...))
}

// hups are prefixes of the shell command that starts arbiter: when its terminal is closed, arbiter gets SIGHUP,
// or ignores it as under nohup.
var hups = map[string]string{"told": "", "untold": "trap '' HUP;"}

// TestTerminalGoneDuringTerminalUse: the window is closed while another program uses the terminal. Even if arbiter gets
// no signal, it ends, stops the run in order, and the run can be resumed.
func TestTerminalGoneDuringTerminalUse(t *testing.T) {
	testkit.Long(t)
	for _, l := range lends {
		for name, hup := range hups {
			for _, who := range players(t) {
				if who.real && l.name != "session" {
					continue // the real CLI makes no difference
				}
				t.Run(fmt.Sprintf("%s, %s, %s", l.name, name, who.name), func(t *testing.T) {
					who.long(t)
					if name == "told" {
						who.long(t)
					}
					t.Parallel()
					h := newTestHome(t, who)
					p := l.start(h, hup)
					p.HangUp()
					state := testkit.Must(p.Exit(p.ctx))(t)
					h.endedUnseen(contract.Exit(state.ExitCode()), l.begun)
				})
			}
		}
	}
}

// TestTerminalGoneWhileSuspended: while arbiter is stopped, the window is closed, which ends the shell.
func TestTerminalGoneWhileSuspended(t *testing.T) {
	testkit.Long(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	for name, hup := range hups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			// The witness is stopped and continued together with arbiter, survives the signals, and writes down
			// the exit code. It survives SIGTERM too: Bash sends it to a job that it believes to be stopped,
			// even right after it has continued the job with SIGHUP and SIGCONT, unless it has noticed the
			// change meanwhile.
			code := filepath.Join(h.home, "code")
			recorder := program(t, "witness", fmt.Sprintf("trap : TERM\n[ -n \"$UNTOLD\" ] || trap : HUP\n"+
				"arbiter --on-hangup stop \"$@\"\necho $? > %[1]s.new\nmv %[1]s.new %[1]s\n", code))
			h.env = append(h.env, "PS1=shell> ", "HISTFILE=", "BASH_SILENCE_DEPRECATION_WARNING=1", "UNTOLD="+hup)
			p := h.run(exec.Command("/bin/sh", "-c", hup+` exec "$0" --norc --noprofile -i`, bash))
			p.await("shell>")
			play := append(h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml")), "--task", "Make")
			p.Type(recorder + " " + strings.Join(play, " ") + "\n")
			p.await("What shall it be called?", "The Arbiter awaits your answer.")
			p.press("Ctrl+Z")
			p.await("Stopped", "shell>")
			p.HangUp()
			awaitFile(t, code)
			text := testkit.Must(os.ReadFile(code))(t)
			exit := testkit.Must(strconv.Atoi(strings.TrimSpace(string(text))))(t)
			h.endedUnseen(contract.Exit(exit), true)
		})
	}
}

// endedUnseen checks the exit code of an arbiter that ended without a terminal, and that its run, if any, has
// ended and can be resumed.
func (h *testHome) endedUnseen(exit contract.Exit, begun bool) {
	h.t.Helper()
	if exit != contract.ExitTerminated {
		h.t.Errorf("exit code %d, want %d", exit, contract.ExitTerminated)
	}
	runs := h.runs()
	if begun != (len(runs) == 1) {
		h.t.Fatalf("a run was begun: %v; there are %v", begun, runs)
	}
	if !begun {
		return
	}
	awaitGone(h.t, runs[0]) // the bridge may end a moment later
	var list []struct{ Resumable bool }
	testkit.OK(h.t, json.Unmarshal([]byte(h.output("sessions", "ls", "--json")), &list))
	if len(list) != 1 || !list[0].Resumable {
		h.t.Errorf("it cannot be taken up: %+v", list)
	}
}
