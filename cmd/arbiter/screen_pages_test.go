package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// changesPlay has an Orchestrator change a file.
var changesPlay = allowing([]string{"Write", "Read"},
	arbiter(summons("Spin it."), asksHuman("Is it well?")),
	orchestrator("spinner", "", []object{
		reads("thread.txt"), writes("thread.txt", "red\nblue\n"),
		question("It is spun.")}))

// committed makes the workspace a Git repository with a file in one commit.
func (h *modelHome) committed(name, text string) {
	h.t.Helper()
	write(h.t, "", h.work, "other.txt")
	testkit.OK(h.t, os.WriteFile(filepath.Join(h.work, name), []byte(text), 0o600))
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = h.work, h.env
		out, err := cmd.CombinedOutput()
		testkit.Need(h.t, err == nil, "git %q: %v\n%s", args, err, out)
	}
}

// TestScreenShowsChanges: F5 lists the files that an Orchestrator has changed, with its name, Enter shows both
// versions, e opens the file in the editor at the change, and x reverts it.
func TestScreenShowsChanges(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := build(t, who, changesPlay)
		h.committed("thread.txt", "red\ngreen\n")
		given := filepath.Join(t.TempDir(), "given")
		seen := filepath.Join(t.TempDir(), "seen")
		h.env = append(h.env, "EDITOR="+program(t, "vi", "echo \"$@\" >"+given+"\necho an editor\n"+
			"until [ -e "+seen+" ]; do sleep 0.02; done\n"))
		p := h.open(h.args...)
		p.await("Is it well?")
		p.pressed("F5", "CHANGES", "1 file ", "thread.txt", "Orch. I", "+1 -1")
		p.press("Enter")
		p.await("1 of 1", "@@ -1,2 +1,2 @@", "- green", "+ blue") // the list's preview has no number of places
		p.press("e")
		p.await("an editor") // a key that is pressed before the screen is back is the editor's
		testkit.OK(t, os.WriteFile(seen, nil, 0o600))
		p.await("1 of 1", "+ blue")
		p.pressed("x", "Revert?", "-1,2 +1,2 of thread.txt")
		p.pressed("y", "reverted a part of thread.txt", "is as it was when the run began")
		p.pressed("Esc", "CHANGES", "No file has changed")
		p.pressed("Esc", "Is it well?")
		p.pressed("Ctrl+C", "Leave?")
		p.press("y")
		h.ended(p, contract.ExitInterrupted)
		for file, want := range map[string]string{
			filepath.Join(h.work, "thread.txt"): "red\ngreen\n",
			given:                               "+2 " + filepath.Join(h.work, "thread.txt") + "\n",
		} {
			testkit.Same(t, filepath.Base(file), want, textOf(t, file))
		}
	})
}

// TestPlainShowsChanges: --plain does the same with commands, and lists settings, models and images.
func TestPlainShowsChanges(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	h := build(t, players(t)[0], changesPlay)
	h.committed("thread.txt", "red\ngreen\n")
	aPicture(t, h.work, "loom.png")
	p := h.open(append([]string{"--plain"}, h.args...)...)
	p.await("Is it well?")
	for _, step := range [][]string{
		{"/changes", "thread.txt modified, +1 -1"},
		{"/changes thread.txt", "-green", "+blue", "/revert thread.txt"},
		{"/revert nothing.txt", "nothing.txt"},
		{"/revert thread.txt", "reverted"},
		{"/land", "land"},
		{"/settings", "max-memory: 0 (default)", "no-mouse"},
		{"/model", "claude-opus-5-5: $4 in, $20 out", "from $0.10 in"},
		{"/image other.txt", "not an image"},
		{"/image loom.png", "64×48 png"},
		{"Like this?", "Like this?"},
		{"/halt", "Everything is halted."},
		{"And this?", "The run is halted: nothing is sent before it is continued"},
	} {
		p.Type(step[0] + "\n")
		p.await(step[1:]...)
	}
	p.press("Ctrl+C")
	h.ended(p, contract.ExitInterrupted)
}

// overriding starts the play in which the human decides, on the screen or with --plain.
func (h *testHome) overriding(mode, work string, args ...string) *pane {
	h.t.Helper()
	scenario := scenarioFile(h.t, overridden(work))
	return h.play(scenario, append(args, "--task", mode)...)
}

// replayed returns the lines of the only run there.
func (h *testHome) replayed() []contract.Line {
	h.t.Helper()
	return testkit.Must(contractLines(h.output("replay", h.runs()[0])))(h.t)
}

// tasksStates returns the state changes of the task, with their triggers.
func tasksStates(lines []contract.Line) []string {
	var list []string
	for _, l := range lines {
		if b, ok := l.Body.(contract.State); ok {
			list = append(list, b.Trigger+" "+b.To)
		}
	}
	return list
}

// TestScreenOverrides: another agent is spawned, everything is reset, and the next task is cancelled in the
// middle of a tool. Each command that cannot be undone asks first, and the end says what was left half-done.
func TestScreenOverrides(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.overriding("developer", spinning)
	p.await("Orchestrator I", "Bash")
	p.typed("/summon wizard\n", `There is no mode "wizard"`)
	p.clear()
	p.typed("/retry\n", "orch-1 is already at work")
	p.typed("/summon reviewer\n", "Orchestrator II")
	p.typed("/reset\n", "Reset?", "Every Orchestrator is released")
	p.pressed("y", "And now?", "The Arbiter awaits your answer.")
	p.Type("developer\n")
	p.until(func(s pty.Screen) bool { // the agent's row shows its tool
		return slices.ContainsFunc(s.Rows(), func(row string) bool {
			return strings.Contains(row, "Orchestrator III") && strings.Contains(row, "Bash")
		})
	})
	p.typed("/cancel\n", "End the run?", "half-done is said at the end")
	p.pressed("y", "Left half-done:", "(orch-3) was at Bash", "Speak again, or depart.")
	p.press("Ctrl+C")
	h.ended(p, contract.ExitFailed)
	states := tasksStates(h.replayed())
	for _, want := range []string{"RESET idle", "START_TASK selecting", "CANCEL cancelled"} {
		testkit.Check(t, slices.Contains(states, want), "the task went %q, without %s", states, want)
	}
}

// TestPlainReportsInterruptedWork: after an interruption in the middle of a tool, --plain says what was left
// half-done.
func TestPlainReportsInterruptedWork(t *testing.T) {
	t.Parallel()
	h := newTestHome(t, players(t)[0])
	p := h.overriding("developer", spinning, "--plain")
	p.await("Spin it, developer.")
	p.typed("/retry\n", "orch-1 is already at work")
	testkit.Await(t, "a command that runs", func() bool {
		for _, cmd := range h.alive() {
			if strings.HasPrefix(cmd, "sleep 1000") {
				return true
			}
		}
		return false
	})
	p.press("Ctrl+C")
	testkit.Includes(t, "it says", h.ended(p, contract.ExitInterrupted), "Left half-done:", "(orch-1) was at Bash")
}

// handOnScreen is the play hand for the screen: the Arbiter repeats its question when it learns of the human's
// session.
var handOnScreen = handing(on("took the session of", asksHuman("And which thread now?")))

// TestAttachFromTheScreen: the key A opens an agent's session in the screen's terminal; a rehearsal's new home
// causes no first-start questions. A second terminal is refused meanwhile. The session follows the window's
// size, Ctrl+] brings the screen back, the Arbiter receives what was said, and the run completes.
func TestAttachFromTheScreen(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.play(scenarioFile(t, handOnScreen), "--task", "Weave")
		p.await("Which thread shall it be?", "The Arbiter awaits your answer.")
		p.pressed("Esc", "NORMAL")
		p.pressed("1", "session ", "generation 1")
		p.press("A")
		if who.real { // it clears the screen
			p.await("Claude Code v", "Spin it.", "for shortcuts")
		} else if s := p.await("This is the session of Orchestrator I", "Ctrl+] gives it back", "> "); s.Alt() ||
			s.Mouse() {
			t.Errorf("it got a terminal with %v", s.Leftovers())
		}
		second := h.open("attach", "orch-1")
		second.await("attached already: the screen has it")
		h.left(second, contract.ExitUsage)
		p.typed("my word is sesame", "my word is sesame")
		p.typed("\r", "I-shall-remember-it.")
		size := pty.Size{Columns: 80, Rows: 24}
		testkit.OK(t, p.Resize(size))
		if who.real {
			p.until(func(s pty.Screen) bool { return strings.Contains(s.Text(), "| id:\n") }) // broken here
		}
		p.pressed("Ctrl+]", "generation", "i write")
		p.pressed("q", "THE WEAVING", "And which thread now?")
		p.press("i")
		p.typed("the red one\n", "It is done.", "Speak again, or depart.")
		h.over(p)
		var told string
		for _, l := range h.replayed() {
			if m, ok := l.Body.(contract.Message); ok && m.To == "arbiter" &&
				strings.Contains(m.Text, "took the session of") {
				told = m.Text
			}
		}
		testkit.Includes(t, "the Arbiter was notified", told, "1 message typed", "sesame")
	})
}

// TestAttachmentReportsFailure: if Claude Code ends at once, its output is shown to the human who attached, on
// the screen and in another terminal.
func TestAttachmentReportsFailure(t *testing.T) {
	t.Parallel()
	onlyLinux(t)
	h := newTestHome(t, players(t)[0])
	claude := sickClaude(t, sick{"orch-1.2": "sh:echo 'No conversation found with that id'; exit 1",
		"orch-1.4": "sh:echo 'No conversation found with that id'; read enter; exit 1"})
	p := h.open("--rehearse", "--claude", claude, "--scenario", scenarioFile(t, handOnScreen), "--task", "Weave")
	p.await("Which thread shall it be?", "The Arbiter awaits your answer.")
	p.typed("/attach orch-1\n", "exit code 1", "No conversation found", "awaits a reply")
	second := h.open("attach", "orch-1")
	second.await("No conversation found")
	second.Type("\r") // the terminal was opened, so a program that ends is not a refusal
	second.await("exit code 1")
	h.left(second, contract.ExitComplete)
	h.interrupted(p)
}

// TestReplayOnTheScreen: a finished run is played back on the screen, without Claude Code, and none of its
// files changes. Keys jump to the end, show the timeline and leave.
func TestReplayOnTheScreen(t *testing.T) {
	t.Parallel()
	size := pty.Size{Columns: 100, Rows: 30}
	p := show(t, size, "", nil, "--stand-in", "--scenario", scenarioFile(t, brief), "--task", "Count the omens")
	p.await("It is woven.", "It is done")
	p.leave()
	home := p.cmd.Dir // it has no directory of its own
	log := testkit.Must(filepath.Glob(filepath.Join(home, ".local/state/arbiter/runs/*/events.ndjson")))(t)
	testkit.Need(t, len(log) == 1, "the run's directory is not found: %v", log)
	run := filepath.Base(filepath.Dir(log[0]))
	before := filesBelow(t, filepath.Dir(log[0]))
	env := append(p.cmd.Env, "PATH=/nowhere", "ARBITER_CLAUDE=/nowhere/claude")
	again := show(t, size, "", env, "replay", run[:8], "--screen", "--theme", "high-contrast-dark")
	again.await("PLAYBACK 1×", "Count the omens")
	again.press("$") // TestPlayback tests pausing: this run would be over before a key is pressed
	again.await("It is woven.", "the end", "It is done")
	again.press("F6")
	again.await("TIMELINE", "The Arbiter")
	again.press("Esc")
	again.await("PLAYBACK", "It is woven.")
	again.press("q")
	state, err := again.Exit(again.ctx)
	testkit.Check(t, err == nil && state.ExitCode() == 0, "it ends with %v, %v", state, err)
	testkit.Same(t, "the files of the run", before, filesBelow(t, filepath.Dir(log[0])))
}
