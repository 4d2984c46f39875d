package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// program writes a script and returns its path.
func program(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	testkit.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700))
	return path
}

// scratch returns the directory in which this home's rehearsal plays.
func (h *testHome) scratch() string {
	h.t.Helper()
	for _, v := range h.env {
		if dir, ok := strings.CutPrefix(v, "TMPDIR="); ok {
			if found, _ := filepath.Glob(filepath.Join(dir, "arbiter-rehearsal-*", "workspace")); len(found) == 1 {
				return found[0]
			}
		}
	}
	h.t.Fatal("no rehearsal plays")
	return ""
}

// TestScreenSuspended: Ctrl+Z, or the signal that it stands for, gives the terminal back to the shell, the agents
// continue, and fg draws everything again, in the current size of the window. A stop without a warning leaves the
// terminal as it is; fg takes it anew, whatever the shell has done to it.
func TestScreenSuspended(t *testing.T) {
	stopBy := func(sig syscall.Signal) func(*pane) {
		return func(p *pane) {
			onlyLinux(p.t)
			pid := p.Process().Pid
			text := testkit.Must(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))(p.t)
			screen, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err == nil {
				err = syscall.Kill(screen, sig)
			}
			if err != nil {
				p.t.Fatal(err)
			}
		}
	}
	t.Run("key", func(t *testing.T) { suspended(t, func(p *pane) { p.press("Ctrl+Z") }, true) })
	t.Run("TSTP", func(t *testing.T) { suspended(t, stopBy(syscall.SIGTSTP), true) })
	t.Run("STOP", func(t *testing.T) { suspended(t, stopBy(syscall.SIGSTOP), false) })
}

func suspended(t *testing.T, stop func(*pane), given bool) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	h := newTestHome(t, players(t)[0])
	h.env = append(h.env, "PS1=shell> ", "HISTFILE=", "BASH_SILENCE_DEPRECATION_WARNING=1")
	p := h.run(exec.Command(bash, "--norc", "--noprofile", "-i"))
	p.await("shell>")
	p.Type(`printf '\033]2;` + theTitle + `\007'` + "\n")
	play := spin("until [ -e go ]; do sleep 0.05; done; echo spun > went")
	p.Type("arbiter " + strings.Join(h.rehearsing(scenarioFile(t, play)), " ") + " --task Weave\n")
	p.await("THE WEAVING", "Orchestrator I", "works", "Bash")
	work := h.scratch()
	stop(p)
	s := p.await("Stopped")
	if !given {
		p.Type(`printf '\033[?1049l\033[?1000l\033[?1002l\033[?1003l\033[?25h\033[2J\033[H'` + "\n")
	}
	if given && (s.Alt() || s.Mouse() || s.Keyboard > 0 || s.Title != theTitle || !s.Cursor.Visible) {
		t.Errorf("the shell got a terminal with %v, called %q", s.Leftovers(), s.Title)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
	awaitFile(t, filepath.Join(work, "went"))
	p.Type("echo usable-$((40+2))\n")
	p.await("usable-42")
	size := pty.Size{Columns: 90, Rows: 28}
	testkit.OK(t, p.Resize(size))
	p.Type("fg\n")
	s = p.await("THE WEAVING", "It is done.", "spun", "Speak again, or depart.")
	if !s.Alt() || !s.Mouse() || s.Size != size || !strings.HasSuffix(s.Row(-1), "F1 help") ||
		!strings.Contains(s.Title, "arbiter") {
		t.Errorf("after fg, called %q:\n%s", s.Title, s.Text())
	}
	p.press("Ctrl+C")
	p.await("shell>", "--resume --session")
	p.Type("echo code=$?; exit\n")
	testkit.Must(p.Exit(p.ctx))(t)
	if text := p.Screen().Text(); !strings.Contains(text, "code=0") {
		t.Errorf("the shell says:\n%s", text)
	}
	h.restored(p)
	if left := h.alive(); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestSuspendWithoutAShell: without a parent shell no program could continue arbiter with fg. So Ctrl+Z does
// not stop arbiter, and the screen stays.
func TestSuspendWithoutAShell(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.play(absolute(t, "testdata/scenarios/screen.yaml"))
	p.await("Speak, mortal.")
	p.press("Ctrl+Z")
	p.Type("still here")
	p.await("Speak, mortal.", "still here")
	p.press("Ctrl+C", "Ctrl+C")
	h.ended(p, contract.ExitComplete)
}

// TestEditor: Ctrl+G opens the typed text in the user's editor, on the same terminal, and takes the edited text
// back. Meanwhile Ctrl+C goes to the editor.
func TestEditor(t *testing.T) {
	testkit.Long(t)
	for _, variable := range []string{"%s --wait", "LINES=9 %s --wait"} {
		t.Run(variable, func(t *testing.T) { t.Parallel(); edits(t, variable) })
	}
}

func edits(t *testing.T, variable string) {
	h := newTestHome(t, players(t)[0])
	editor := program(t, "edit", `trap 'echo not now' INT
printf '[editing:%s]\n' "$(cat "$2")"
while read -r line || [ -z "$line" ]; do
	case "$line" in "") ;; save) printf 'call it dawn\n' > "$2"; exit 0;; *) exit 3;; esac
done
`)
	h.env = append(h.env, "VISUAL="+fmt.Sprintf(variable, editor))
	p := h.asking()
	p.Type("half a word")
	p.await("half a word")
	p.press("Ctrl+G")
	if s := p.await("[editing:half a word]"); s.Alt() || s.Mouse() {
		t.Errorf("the editor got a terminal with %v", s.Leftovers())
	}
	p.press("Ctrl+C")
	p.await("not now")
	p.press("Ctrl+C", "Ctrl+C", "Ctrl+C") // each goes to the editor
	p.Type("\nsave\n")
	p.await("› call it dawn", "What shall it be called?")
	p.press("Ctrl+G")
	p.await("[editing:call it dawn]")
	p.Type("give up\n")
	p.await("› call it dawn", "the text is as it was: exit status 3")
	p.press("Enter")
	p.await("y Allow once")
	p.finish()
	h.over(p)
}

// TestEndedDuringTerminalUse: a signal ends arbiter even while another program uses the terminal.
func TestEndedDuringTerminalUse(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	h.env = append(h.env, "EDITOR="+program(t, "edit", "echo \"[editing $$]\"\nwhile :; do read -r line; done\n"))
	p := h.asking()
	p.press("Ctrl+G")
	p.await("[editing ")
	testkit.OK(t, p.Process().Signal(syscall.SIGTERM))
	h.ended(p, contract.ExitTerminated)
}

// TestLoginOnTheFirstScreen: the first screen runs claude's login in its terminal. Ctrl+] returns from there;
// after a login, the oracle waits for a task.
func TestLoginOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, player{})
	claude := program(t, "claude", `case "$*" in
--version) echo "2.1.329 (Claude Code)" ;;
"auth status --json")
	if [ -e "$HOME/in" ]; then echo '{"loggedIn":true,"authMethod":"claude.ai","email":"a@b.example"}'; exit; fi
	echo '{"loggedIn":false,"authMethod":"none"}'; exit 1 ;;
"auth login")
	printf 'Paste the code: '; read -r code
	[ "$code" = sesame ] || { echo wrong; exit 1; }
	touch "$HOME/in" ;;
esac
`)
	p := h.open("--claude", claude)
	p.await("Log in", "Rehearse")
	p.press("l")
	if s := p.await("Ctrl+] comes back", "Paste the code:"); s.Alt() || s.Mouse() {
		t.Errorf("claude got a terminal with %v", s.Leftovers())
	}
	p.press("Ctrl+]")
	p.await("Log in", "Rehearse")
	p.press("l")
	p.await("Paste the code:")
	p.Type("nonsense\n")
	p.await("Log in", "Rehearse", "ended with 1")
	p.press("l")
	p.await("Paste the code:")
	p.Type("sesame\n")
	p.await("Speak, mortal.", "a@b.example")
	h.over(p)
}

// TestLoggedOut: if the user leaves the first screen without a login, the exit code is that for the
// environment.
func TestLoggedOut(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, player{})
	claude := program(t,
		"claude", `case "$1" in --version) echo "2.1.329 (Claude Code)" ;; *) echo '{"loggedIn":false,"authMethod":"none"}'; exit 1 ;; esac
`)
	p := h.open("--claude", claude)
	p.await("Log in", "Rehearse")
	p.press("q")
	if after := h.ended(p, contract.ExitEnvironment); !strings.Contains(after, "not logged in") {
		t.Errorf("it says:\n%s", after)
	}
}

// TestMouseSwitch: /mouse gives the mouse to the terminal, and takes it back.
func TestMouseSwitch(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.play(absolute(t, "testdata/scenarios/screen.yaml"))
	for _, c := range []struct {
		says string
		on   bool
	}{{"The terminal has the mouse.", false}, {"The mouse works here again.", true}} {
		p.await("Speak, mortal.")
		p.Type("/mouse\n")
		if s := p.await(c.says); s.Mouse() != c.on {
			t.Errorf("%s: mouse reports are %v", c.says, s.Mouse())
		}
	}
	h.over(p)
}

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
