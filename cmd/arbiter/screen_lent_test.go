package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
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
			testkit.OK(p.t, err)
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
	testkit.Check(t, !given || !s.Alt() && !s.Mouse() && s.Keyboard <= 0 && s.Title == theTitle && s.Cursor.Visible,
		"the shell got a terminal with %v, called %q", s.Leftovers(), s.Title)
	testkit.OK(t, os.WriteFile(filepath.Join(work, "go"), nil, 0o600))
	awaitFile(t, filepath.Join(work, "went"))
	p.typed("echo usable-$((40+2))\n", "usable-42")
	size := pty.Size{Columns: 90, Rows: 28}
	testkit.OK(t, p.Resize(size))
	p.Type("fg\n")
	s = p.await("THE WEAVING", "It is done.", "spun", "Speak again, or depart.")
	testkit.Check(t, s.Alt() && s.Mouse() && s.Size == size && strings.HasSuffix(s.Row(-1), "F1 help") &&
		strings.Contains(s.Title, "arbiter"), "after fg, called %q:\n%s", s.Title, s.Text())
	p.pressed("Ctrl+C", "shell>", "--resume --session")
	p.Type("echo code=$?; exit\n")
	testkit.Must(p.Exit(p.ctx))(t)
	testkit.Includes(t, "the shell says", p.Screen().Text(), "code=0")
	h.restored(p)
	testkit.Empty(t, "left behind", h.alive())
}

// TestEndedDuringTerminalUse: a signal ends arbiter even while another program uses the terminal.
func TestEndedDuringTerminalUse(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	h.env = append(h.env, "EDITOR="+program(t, "edit", "echo \"[editing $$]\"\nwhile :; do read -r line; done\n"))
	p := h.asking()
	p.pressed("Ctrl+G", "[editing ")
	testkit.OK(t, p.Process().Signal(syscall.SIGTERM))
	h.ended(p, contract.ExitTerminated)
}

// TestLoginOnTheFirstScreen: the first screen runs claude's login in its terminal. Ctrl+] returns from there;
// after a login, the oracle waits for a task. If the user leaves it without a login, the exit code is that for the
// environment.
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
	p.armed("q Quit")
	p.press("q")
	testkit.Includes(t, "it says", h.ended(p, contract.ExitEnvironment), "not logged in")
	p = h.open("--claude", claude)
	p.armed("q Quit")
	p.press("l")
	s := p.await("Ctrl+] comes back", "Paste the code:")
	testkit.Check(t, !s.Alt() && !s.Mouse(), "claude got a terminal with %v", s.Leftovers())
	p.pressed("Ctrl+]", "Log in", "Rehearse")
	p.pressed("l", "Paste the code:")
	p.typed("nonsense\n", "Log in", "Rehearse", "ended with 1")
	p.pressed("l", "Paste the code:")
	p.typed("sesame\n", "Speak, mortal.", "a@b.example")
	h.over(p)
}

// TestMouseSwitch: /mouse gives the mouse to the terminal, and takes it back. Ctrl+Z does not stop arbiter where no
// parent shell could continue it with fg: the screen stays.
func TestMouseSwitch(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.idle()
	for _, c := range []struct {
		says string
		on   bool
	}{{"The terminal has the mouse.", false}, {"The mouse works here again.", true}} {
		p.await("Speak, mortal.")
		p.Type("/mouse\n")
		s := p.await(c.says)
		testkit.Check(t, s.Mouse() == c.on, "%s: mouse reports are %v", c.says, s.Mouse())
	}
	p.press("Ctrl+Z")
	p.typed("still here", "Speak, mortal.", "still here")
	p.press("Ctrl+C", "Ctrl+C")
	h.ended(p, contract.ExitComplete)
}

// hand is a play in which an Orchestrator asks a question and waits, so that a test can attach to its session.
// The attached session is an ordinary one.
var hand = handing()

// handing is hand, with more answers of the Arbiter.
func handing(more ...object) string {
	return playOf(
		arbiter([]object{spawns("Spin it.")}, append(more, on("It is spun", complete("spun")),
			on("Which thread", asksHuman("Which thread shall it be?")),
			on("the red one", tells("orch-1", "Take the red one.")), patience)...),
		orchestrator("orchestrator", "", nil, on("Take the red one", done("It is spun.")),
			on("Spin it", question("Which thread?"))),
		anybody(says("I-shall-remember-it.")))
}

// twoTerminals is a run in one terminal, and a place from which other terminals can attach.
type twoTerminals struct {
	*testHome
	run   *script
	model *rehearsal.Server
}

// openTwoTerminals starts a run with `--json`, and waits until its Orchestrator waits for the human.
func openTwoTerminals(t *testing.T, who player, play string) *twoTerminals {
	t.Helper()
	h := build(t, who, play)
	h.args = []string{"--trust", "--claude", h.claude, "--permissions", "rules", "--allow", "Bash(*)", "--task",
		"Weave"}
	return &twoTerminals{h.testHome, h.script(), h.model}
}

// asks waits until the Orchestrator waits for the human's answer.
func (w *twoTerminals) asks() {
	w.t.Helper()
	await[contract.Question](w.run, "the question", nil)
}

// attach opens a second terminal.
func (w *twoTerminals) attach(args ...string) *pane {
	w.t.Helper()
	return w.testHome.open(append([]string{"attach"}, args...)...)
}

// awaitIdle waits until the session in the terminal accepts typed input.
func (w *twoTerminals) awaitIdle(p *pane) {
	w.t.Helper()
	if w.player.real {
		p.await("Spin it.", "for shortcuts")
	} else {
		p.await("stand-in, session", "> ")
	}
}

// takeover waits for a takeover event with a state.
func (w *twoTerminals) takeover(state string) contract.Takeover {
	w.t.Helper()
	return await[contract.Takeover](w.run, "a takeover that is "+state, func(id string, b contract.Takeover) bool {
		return id == "orch-1" && b.State == state
	})
}

// sent returns the request that an actor received, as JSON.
func (w *twoTerminals) sent(incoming string) string {
	w.t.Helper()
	for _, r := range w.model.Requests() {
		if strings.Contains(r.Incoming, incoming) {
			return string(r.Messages)
		}
	}
	w.t.Fatalf("no request had %q", incoming)
	return ""
}

// TestAttachFromAnotherTerminal: a person takes an Orchestrator's session into a second terminal, speaks
// with it, and gives it back; the run continues, the Orchestrator knows what was said, and the Arbiter is notified.
func TestAttachFromAnotherTerminal(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver's TestTakeoverInATerminal covers the real CLI
		w := openTwoTerminals(t, who, hand)
		w.takenAndGivenBack("Orchestrator I")
	})
}

// takenAndGivenBack takes the session of an Orchestrator into a terminal, speaks with it, and gives it back; a
// second terminal is refused meanwhile. It then finishes the run and checks that no process of it is left.
func (w *twoTerminals) takenAndGivenBack(name string) {
	w.t.Helper()
	w.asks()
	p := w.attach("orch-1")
	p.await("This is the session of "+name, "Ctrl+] gives it back")
	w.takeover("open")
	second := w.attach("orch-1")
	second.await("attached already", "process")
	w.left(second, contract.ExitUsage)
	w.awaitIdle(p)
	p.typed("my word is sesame", "my word is sesame")
	p.typed("\r", "I-shall-remember-it.")
	p.press("Ctrl+]")
	p.await(name + " continues. The Arbiter learns of one message of yours.")
	w.left(p, contract.ExitComplete)
	ended := w.takeover("ended")
	testkit.Check(w.t, ended.Words == 1, "it ended with %+v", ended)
	w.run.send(contract.Say{Text: "the red one"})
	w.run.completes()
	testkit.Includes(w.t, "the Orchestrator does not know what was said", w.sent("Take the red one"), "my word is sesame",
		"I-shall-remember-it")
	testkit.Includes(w.t, "the Arbiter was not told", w.sent("the red one"), "sesame")
	testkit.Empty(w.t, "left behind", w.alive())
}

// TestAttachRefuses: if a target cannot be attached to, attach says why and exits with the documented code.
func TestAttachRefuses(t *testing.T) {
	t.Parallel()
	w := openTwoTerminals(t, players(t)[0], hand)
	w.asks()
	for _, tt := range []struct {
		args   []string
		want   contract.Exit
		output string
	}{
		{[]string{"orch-9"}, contract.ExitUsage, `no agent "orch-9"`},
		{[]string{"orch-1", "orch-2"}, contract.ExitUsage, "one AGENT"},
		{[]string{"--session", "", "orch-1"}, contract.ExitUsage, "--session is empty"},
		{[]string{"--session", "0000", "orch-1"}, contract.ExitUsage, "0000"},
		{[]string{"--detach-key", "ctrl+m", "orch-1"}, contract.ExitUsage, "use another key"},
		{[]string{"--detach-key", "F12", "orch-1"}, contract.ExitUsage, "use ctrl+"},
	} {
		testkit.Includes(t, fmt.Sprintf("%v: it says", tt.args), w.left(w.attach(tt.args...), tt.want), tt.output)
	}
	w.fails(contract.ExitEnvironment, "attach", "orch-1") // without a terminal
	w.run.cancels()
}
