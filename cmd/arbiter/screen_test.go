package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// wide is the terminal of most tests.
var wide = pty.Size{Columns: 110, Rows: 32}

// testHome is a home and a workspace that can be used by several arbiters.
type testHome struct {
	t          *testing.T
	home, work string
	env        []string
	player     player
}

func newTestHome(t *testing.T, p player) *testHome {
	t.Helper()
	home := t.TempDir()
	work := filepath.Join(home, "work")
	testkit.OK(t, os.Mkdir(work, 0o700))
	h := &testHome{t: t, home: home, work: work, player: p, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CACHE_HOME=" + host.CacheHome(), "TMPDIR=" + t.TempDir(),
		"LANG=C.UTF-8", "COLORFGBG=15;0", "SHELL=/bin/sh", "GORACE=atexit_sleep_ms=0",
	}}
	t.Cleanup(h.endHosts)
	return h
}

// endHosts kills the host processes of runs there: the end of a screen does not end them.
func (h *testHome) endHosts() {
	for _, pid := range h.hosts() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended already
	}
	for _, run := range h.runs() {
		awaitGone(h.t, run)
	}
}

// hosts returns the host processes of runs there.
func (h *testHome) hosts() (pids []int) {
	h.t.Helper()
	runs := h.runs()
	if len(runs) == 0 {
		return nil
	}
	store := testkit.Must(journal.OpenStore(filepath.Join(h.home, ".local", "state", "arbiter")))(h.t)
	defer store.Close()
	for _, run := range runs {
		if pid := store.Player(run); pid != 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// theTitle is the title of the window before arbiter starts and after it has ended.
const theTitle = "a shell"

// open starts arbiter in a terminal that already has a title.
func (h *testHome) open(args ...string) *pane {
	h.t.Helper()
	return h.run(exec.Command("/bin/sh",
		append([]string{"-c", `printf '\033]2;` + theTitle + `\007'; exec arbiter "$@"`, "sh"}, args...)...))
}

// play starts a rehearsal of a scenario there.
func (h *testHome) play(scenario string, args ...string) *pane {
	h.t.Helper()
	return h.open(append(h.rehearsing(scenario), args...)...)
}

func (h *testHome) rehearsing(scenario string) []string {
	return append(slices.Clone(h.player.args), "--scenario", scenario)
}

// run starts a command in a terminal there.
func (h *testHome) run(cmd *exec.Cmd) *pane {
	h.t.Helper()
	cmd.Env, cmd.Dir = h.env, h.work
	term := testkit.Must(pty.Start(cmd, wide))(h.t)
	h.t.Cleanup(term.Close)
	ctx, cancel := context.WithTimeout(h.t.Context(), waitTimeout)
	h.t.Cleanup(cancel)
	return &pane{Terminal: term, t: h.t, ctx: ctx, cmd: cmd}
}

// output runs an arbiter command there, without a terminal.
func (h *testHome) output(args ...string) string {
	h.t.Helper()
	c := runIn(h.t, h.env, h.work, "", args...)
	if c.code != contract.ExitComplete {
		h.t.Fatalf("arbiter %q: exit code %d\n%s", args, c.code, c.errs)
	}
	return c.out
}

// runs returns the ids of the runs that were played there.
func (h *testHome) runs() []string {
	h.t.Helper()
	dirs := testkit.Must(filepath.Glob(filepath.Join(h.home, ".local", "state", "arbiter", "runs", "*")))(h.t)
	for i, d := range dirs {
		dirs[i] = filepath.Base(d)
	}
	return dirs
}

// alive returns the processes of the runs there, except arbiter itself, which has no mark in its environment.
func (h *testHome) alive() map[int]string {
	left := map[int]string{}
	for _, run := range h.runs() {
		for pid, cmd := range survivors(run) {
			left[pid] = cmd
		}
	}
	return left
}

// ended waits for the end and checks the exit code, that the terminal is as it was before, and that no
// process is left. It returns the text on the terminal after it.
func (h *testHome) ended(p *pane, want contract.Exit) string {
	h.t.Helper()
	text := h.left(p, want)
	if left := h.alive(); len(left) > 0 {
		h.t.Errorf("left behind: %v", left)
	}
	return text
}

// left does the same as ended while another arbiter plays there, except for the check for processes.
func (h *testHome) left(p *pane, want contract.Exit) string {
	h.t.Helper()
	state := testkit.Must(p.Exit(p.ctx))(h.t)
	text := p.Screen().Text()
	if got := state.ExitCode(); got != int(want) {
		h.t.Errorf("exit code %d (%v), want %d, with the screen\n%s", got, state, want, text)
	}
	h.restored(p)
	return text
}

// restored checks that the terminal is as arbiter found it.
func (h *testHome) restored(p *pane) {
	h.t.Helper()
	if now, err := p.Line(); err != nil || now != p.Before() {
		h.t.Errorf("line settings %v, %v, before %v", now, err, p.Before())
	}
	s := p.Screen()
	for _, what := range s.Leftovers() {
		h.t.Errorf("left in the terminal: %s", what)
	}
	if s.Title != theTitle {
		h.t.Errorf("the window is called %q, and was %q", s.Title, theTitle)
	}
}

// asking plays screen.yaml until it asks for a name.
func (h *testHome) asking(args ...string) *pane {
	h.t.Helper()
	p := h.play(absolute(h.t, "testdata/scenarios/screen.yaml"), append([]string{"--task", "Make a thing"}, args...)...)
	p.await("What shall it be called?", "The Arbiter awaits your answer.")
	return p
}

// over leaves the screen of a run that is complete.
func (h *testHome) over(p *pane) {
	h.t.Helper()
	p.press("Ctrl+C")
	h.ended(p, contract.ExitComplete)
}

// interrupted ends a run by keys.
func (h *testHome) interrupted(p *pane) {
	h.t.Helper()
	p.press("Ctrl+C", "Ctrl+C")
	h.ended(p, contract.ExitInterrupted)
}

// armed waits until the choices of a dialog that opened on its own can be made: their keys are highlighted
// then.
func (p *pane) armed(choice string) {
	p.t.Helper()
	p.until(func(s pty.Screen) bool {
		x, y, ok := s.Find(choice)
		return ok && s.Cells[y][x].Style != s.Cells[y][x+2].Style
	})
}

// begin enters the task of the play screen.yaml and answers its questions, until a tool needs a
// permission.
func (p *pane) begin() {
	p.t.Helper()
	p.await("Speak, mortal.")
	p.Type("Make a thing\n")
	p.await("What shall it be called?", "The Arbiter awaits your answer.")
	p.Type("call it dawn\n")
	p.await("wants to use", "dawn.txt", "y Allow once")
}

// finish allows the permission request and waits for the end of the play.
func (p *pane) finish() {
	p.t.Helper()
	p.armed("y Allow once")
	p.press("y")
	p.await("It is done.", "The file is there.", "Speak again, or depart.")
}

// TestScreenFromTheFirstWordToTheEnd: a user enters a task, answers the Arbiter, allows a call by a key, looks
// at an agent and at the logbook, and leaves. The run is the same as that of a script that plays the same
// scenario.
func TestScreenFromTheFirstWordToTheEnd(t *testing.T) {
	scenario := absolute(t, "testdata/scenarios/screen.yaml")
	eachPlayerLong(t, func(t *testing.T, who player) { // TestFeatureInteractions plays the real CLI on the screen
		h := newTestHome(t, who)
		p := h.play(scenario)
		p.begin()
		p.finish()
		p.await("Orchestrator I")
		p.press("Alt+1")
		p.await("session ", "generation 1", "It stands.")
		p.press("q", "F2")
		p.await("LOGBOOK", "result")
		p.press("q")
		p.await("THE WEAVING")
		if faults := pty.FullScreen.Check(p.Output()); len(faults) > 0 {
			t.Errorf("what it sent: %q", faults)
		}
		if s := p.Screen(); !strings.Contains(s.Title, "arbiter") {
			t.Errorf("the window is called %q", s.Title)
		}
		p.press("Ctrl+C")
		after := h.ended(p, contract.ExitComplete)
		runs := h.runs()
		if len(runs) != 1 {
			t.Fatalf("runs %v", runs)
		}
		if want := "--resume --session " + command.ShortID(runs[0]); !strings.Contains(after, want) {
			t.Errorf("nothing says %q after it:\n%s", want, after)
		}
		told := testkit.Must(contractLines(h.output("replay", runs[0])))(t)
		s := start(t, nil, append(h.rehearsing(scenario), "--json", "--task", "Make a thing")...)
		await[contract.Question](s, "a question", nil)
		s.send(contract.Say{Text: "call it dawn"})
		ask := await[contract.PermissionRequest](s, "a request", nil)
		s.send(contract.Permit{Request: ask.Request, Behavior: "allow"})
		s.finish(contract.ExitComplete)
		if diff := cmp.Diff(story(s.lines), story(told)); diff != "" {
			t.Errorf("a script sees another run (-script +screen):\n%s", diff)
		}
	})
}

// story returns the messages and decisions, without paths and times.
func story(lines []contract.Line) []string {
	var list []string
	work := ""
	for _, l := range lines {
		text := ""
		switch b := l.Body.(type) {
		case contract.Session:
			work = b.CWD
		case contract.Message:
			text = fmt.Sprintf("%s to %s, %s: %s", b.From, b.To, b.Kind, b.Text)
		case contract.Decision:
			text = fmt.Sprintf("%s decides %s", l.ID, b.Decision)
		case contract.Permission:
			text = "permission: " + b.Behavior
		case contract.Result:
			text = b.Status + ": " + b.Summary
		}
		if text != "" {
			list = append(list, strings.ReplaceAll(text, work, "WORK"))
		}
	}
	return list
}

// TestScreenGoesOn: another message after the end resumes the run, and a later --resume shows what was said
// before, and continues.
func TestScreenGoesOn(t *testing.T) {
	testkit.Long(t)
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.play(absolute(t, "testdata/scenarios/screen.yaml"))
		p.begin()
		p.finish()
		p.Type("once more\n")
		p.await("It is done again.", "Nothing was left to do.", "Speak again, or depart.")
		h.over(p)
		if runs := h.runs(); len(runs) != 1 {
			t.Errorf("runs %v", runs)
		}
		p = h.open("--resume")
		p.await("It is done again.", "once more", "Speak again, or depart.")
		p.Type("once more, and last\n")
		p.until(func(s pty.Screen) bool {
			_, last, _ := strings.Cut(s.Text(), "▌ once more, and last")
			return strings.Contains(last, "Nothing was left to do.") && s.Shows("Speak again, or depart.")
		})
		h.over(p)
	})
}

// TestScreenAfterItsDeath: arbiter is killed while a permission request is open. --resume shows what was said,
// and the run completes.
func TestScreenAfterItsDeath(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.play(absolute(t, "testdata/scenarios/screen.yaml"))
		p.begin()
		testkit.OK(t, p.Process().Signal(syscall.SIGKILL))
		testkit.Must(p.Exit(p.ctx))(t)
		p = h.open("--resume")
		p.await("y Allow once")
		p.press("Esc") // put the dialog aside, and read from the beginning
		p.until(func(s pty.Screen) bool { return !s.Shows("y Allow once") })
		p.press("Esc")
		p.await("NORMAL")
		p.press("g")
		p.await("What shall it be called?", "call it dawn")
		p.press("G", "i", "Alt+p")
		p.await("y Allow once")
		p.finish()
		h.over(p)
	})
}

// TestScreenWithRequirements: a file on the command line is the task.
func TestScreenWithRequirements(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	testkit.OK(t, os.WriteFile(filepath.Join(h.work, "REQUIREMENTS.md"), []byte("# A lighthouse\n\nIt must be *tall*.\n"),
		0o600))
	p := h.play(absolute(t, "testdata/scenarios/screen.yaml"), "REQUIREMENTS.md")
	p.await("THE WEAVING", "A lighthouse", "It must be tall.", "What shall it be called?",
		"The Arbiter awaits your answer.") // the question's text is streamed before the question is open
	p.Type("call it dawn\n")
	p.await("y Allow once")
	p.finish()
	h.over(p)
}

// TestTwoScreensOfOneRun: a second screen of a live run shows its whole history, an answer on one screen
// settles the request on the other, and a script cannot play the run a second time.
func TestTwoScreensOfOneRun(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	other := h.open()
	other.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
	hosts := h.hosts()
	if len(hosts) != 1 {
		t.Fatalf("the run is played by %v", hosts)
	}
	want := fmt.Sprintf("is still running (process %d)", hosts[0])
	if errs := h.fails(contract.ExitUsage, "--json", "--resume"); !strings.Contains(errs, want) {
		t.Errorf("a script: %s, and nothing says %q", errs, want)
	}
	other.Type("call it dawn\n")
	p.await("y Allow once")
	other.await("y Allow once")
	p.finish()
	other.await("Speak again, or depart.")
	p.press("Ctrl+C")
	h.left(p, contract.ExitComplete)
	other.press("Ctrl+C")
	h.ended(other, contract.ExitComplete)
}
