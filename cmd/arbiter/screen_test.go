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
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	pty "github.com/arbiter-cli/arbiter/rehearsal/terminal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/view"
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
	testkit.Need(h.t, c.code == contract.ExitComplete, "arbiter %q: exit code %d\n%s", args, c.code, c.errs)
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
	testkit.Empty(h.t, "left behind", h.alive())
	return text
}

// left does the same as ended while another arbiter plays there, except for the check for processes.
func (h *testHome) left(p *pane, want contract.Exit) string {
	h.t.Helper()
	state := testkit.Must(p.Exit(p.ctx))(h.t)
	text := p.Screen().Text()
	got := state.ExitCode()
	testkit.Check(h.t, got == int(want), "exit code %d (%v), want %d, with the screen\n%s", got, state, want, text)
	h.restored(p)
	return text
}

// restored checks that the terminal is as arbiter found it.
func (h *testHome) restored(p *pane) {
	h.t.Helper()
	now, err := p.Line()
	testkit.Check(h.t, err == nil && now == p.Before(), "line settings %v, %v, before %v", now, err, p.Before())
	s := p.Screen()
	for _, what := range s.Leftovers() {
		h.t.Errorf("left in the terminal: %s", what)
	}
	testkit.Same(h.t, "the window's title", theTitle, s.Title)
}

// asking plays screen.yaml until it asks for a name.
func (h *testHome) asking(args ...string) *pane {
	h.t.Helper()
	p := h.play(absolute(h.t, "testdata/scenarios/screen.yaml"), append([]string{"--task", "Make a thing"}, args...)...)
	p.await("What shall it be called?", "The Arbiter awaits your answer.")
	return p
}

// idle opens the screen without a task.
func (h *testHome) idle(args ...string) *pane {
	h.t.Helper()
	p := h.play(absolute(h.t, "testdata/scenarios/screen.yaml"), args...)
	p.await("Speak, mortal.")
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
	p.typed("Make a thing\n", "What shall it be called?", "The Arbiter awaits your answer.")
	p.typed("call it dawn\n", "wants to use", "dawn.txt", "y Allow once")
}

// finish allows the permission request and waits for the end of the play.
func (p *pane) finish() {
	p.t.Helper()
	p.armed("y Allow once")
	p.pressed("y", "It is done.", "The file is there.", "Speak again, or depart.")
}

// TestScreenFromTheFirstWordToTheEnd: a user enters a task, answers the Arbiter, allows a call by a key, looks
// at an agent and at the logbook, and leaves. The run is the same as that of a script that plays the same
// scenario.
func TestScreenFromTheFirstWordToTheEnd(t *testing.T) {
	scenario := absolute(t, "testdata/scenarios/screen.yaml")
	eachPlayerLong(t, func(t *testing.T, who player) { // the driver does not depend on the frontend
		h := newTestHome(t, who)
		p := h.play(scenario)
		p.begin()
		p.finish()
		p.await("Orchestrator I")
		p.pressed("Alt+1", "session ", "generation 1", "It stands.")
		p.press("q", "F2")
		p.await("LOGBOOK", "result")
		p.pressed("q", "THE WEAVING")
		testkit.Empty(t, "what it sent", pty.FullScreen.Check(p.Output()))
		testkit.Includes(t, "the window's title", p.Screen().Title, "arbiter")
		p.press("Ctrl+C")
		after := h.ended(p, contract.ExitComplete)
		runs := h.runs()
		testkit.Need(t, len(runs) == 1, "runs %v", runs)
		want := "--resume --session " + command.ShortID(runs[0])
		testkit.Check(t, strings.Contains(after, want), "nothing says %q after it:\n%s", want, after)
		told := testkit.Must(contractLines(h.output("replay", runs[0])))(t)
		s := start(t, nil, append(h.rehearsing(scenario), "--json", "--task", "Make a thing")...)
		await[contract.Question](s, "a question", nil)
		s.send(contract.Say{Text: "call it dawn"})
		ask := await[contract.PermissionRequest](s, "a request", nil)
		s.send(contract.Permit{Request: ask.Request, Behavior: "allow"})
		s.finish(contract.ExitComplete)
		testkit.Same(t, "a script sees another run (-script +screen)", story(s.lines), story(told))
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

// TestTwoScreensOfOneRun: a second screen of a live run shows its whole history, an answer on one screen
// settles the request on the other, and a script cannot play the run a second time.
func TestTwoScreensOfOneRun(t *testing.T) {
	h := newTestHome(t, players(t)[0])
	p := h.asking()
	other := h.open()
	other.await("What shall it be called?", "The Arbiter awaits your answer.", "Make a thing")
	hosts := h.hosts()
	testkit.Need(t, len(hosts) == 1, "the run is played by %v", hosts)
	want := fmt.Sprintf("is still running (process %d)", hosts[0])
	testkit.Includes(t, "a script", h.fails(contract.ExitUsage, "--json", "--resume"), want)
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

// TestPlainFromTheFirstWordToTheEnd plays the screen's play with --plain in a terminal: a task, an answer, a
// permission by the number of its request. The output contains nothing but lines, and the run is the same as on
// the screen.
func TestPlainFromTheFirstWordToTheEnd(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		h := newTestHome(t, who)
		p := h.open(append([]string{"--plain"}, h.rehearsing(absolute(t, "testdata/scenarios/screen.yaml"))...)...)
		p.await("Speak, mortal.")
		p.typed("Make a thing\n", "What shall it be called?")
		p.typed("call it dawn\n", "1 y")
		p.typed("/cost\n", "$")
		p.typed("/timeline\n", "waits for you")
		p.typed("/runs\n", "live")
		p.await("To show a live one")
		p.typed("/agents\n", "planner")
		p.typed("/plan 9 done\n", "no step 9")
		p.Type("1 y\n")
		text := h.ended(p, contract.ExitComplete)
		testkit.Includes(t, "", text, "It is done. The file is there.", "asked    Make a thing",
			"done     complete: The file is there.", "proved   nothing was checked", "files    not known",
			"To resume: arbiter --plain --resume --session ")
		out := strings.TrimPrefix(string(p.Output()), "\x1b]2;"+theTitle+"\a")
		testkit.Empty(t, "what it sent", pty.Lines.Check([]byte(out)))
		told := testkit.Must(contractLines(h.output("replay", h.runs()[0])))(t)
		want := []string{"Make a thing", "call it dawn", "It stands.",
			"COMPLETE did not take effect yet. The supervisor finds these points open:", "It is done."}
		var said []string
		for _, l := range told {
			if m, ok := l.Body.(contract.Message); ok && m.Kind != "brief" {
				line, _, _ := strings.Cut(m.Text, "\n")
				said = append(said, line)
			}
		}
		testkit.Same(t, "what was said", want, said)
	})
}

// TestPlainHelp: every command that the help of --plain lists works there, and each command that works in the
// same way as on the screen is listed.
func TestPlainHelp(t *testing.T) {
	for _, s := range view.EditorCommands {
		_, told := view.SlashAnswers[s.Name]
		_, body, _ := view.CommandsFor(nil, view.EditorCommand{Name: s.Name, Rest: "set"})
		listed := strings.Contains(plainHelp(), s.Usage()+": "+s.Help)
		inPlain := s.Name == "inbox" || s.Name == "answer" // handled in package plain
		if listed && !told && !body && !inPlain && plainHere[s.Name] == nil || !listed && (told || body) {
			t.Errorf("%s: listed %v", s.Usage(), listed)
		}
	}
	for name := range plainHere {
		testkit.Includes(t, "the help", plainHelp(), "\n/"+name)
	}
}

// TestFocusInWords: /focus says who the agent is, what its brief is, and what it said and did last, with the
// times.
func TestFocusInWords(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	a := &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2},
		Mode: "developer", Brief: "Mend it.\n\nAll of it."},
		AgentProcess:  supervisor.AgentProcess{Status: supervisor.AgentBusy},
		AgentSpending: supervisor.AgentSpending{CostUnknown: true}}
	items := []eventtext.ActivityItem{{At: at, Text: "I begin"}}
	for range maxFocusItems {
		items = append(items,
			eventtext.ActivityItem{At: at, Until: at.Add(2 * time.Second), Tool: "Edit", Summary: "a.go", Added: 3})
	}
	items = append(
		items,
		eventtext.ActivityItem{At: at, Until: at.Add(time.Second), Tool: "Bash", Summary: "go vet", Failed: true,
			Result: "exit\x1b[31m 1"},
	)
	s := &supervisor.State{}
	s.Agents = []*supervisor.Agent{a}
	s.Options.Rehearsal = true
	got := focusText(s, a, items)
	testkit.Includes(t, "", got, " (developer): works, process 2, ", "$0.00 simulated + ?.\n", "Its brief: Mend it.\n",
		"- 03:04:05 Edit a.go, +3 -0 lines, 2 s.\n", "- 03:04:05 Bash go vet, failed: exit")
	testkit.Check(t, !strings.Contains(got, "I begin") && !strings.Contains(got, "\x1b") &&
		strings.Count(got, "\n- ") == maxFocusItems, "told\n%s", got)
	testkit.Includes(t, "told", focusText(s, a, nil), "said and done nothing yet")
}

// modelHome is a home, a workspace and a scripted model that can be used by several arbiters.
type modelHome struct {
	*testHome
	model  *rehearsal.Server
	claude string
	args   []string // arguments of a run's first process
}

// build makes a dwelling for a play. more has further flags for its run.
func build(t *testing.T, who player, play string, more ...string) *modelHome {
	t.Helper()
	onlyLinux(t)
	sc := testkit.Must(rehearsal.Parse("play.yaml", []byte(play)))(t)
	model := serve(t, play)
	h := newTestHome(t, who)
	h.knows(model)
	h.env = append(append(h.env, asksOf(model)...), "CLAUDE_CODE_MAX_RETRIES=0", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_SANDBOXED=1", "NO_PROXY=127.0.0.1")
	claude := who.program(t)
	args := []string{"--trust", "--claude", claude, "--model", "claude-sonnet-4-5", "--task", "Weave"}
	for _, rule := range sc.Allow {
		args = append(args, "--allow", rule)
	}
	return &modelHome{h, model, claude, append(args, more...)}
}

// script begins a run with this test at its stdin and stdout.
func (h *modelHome) script(more ...string) *script {
	h.t.Helper()
	s := prepare(h.t, h.env, slices.Concat([]string{"--json"}, h.args, more)...)
	s.cmd.Env, s.cmd.Dir = h.env, h.work
	s.launch()
	return s
}

// processRunsOf splits the lines of a run by process.
func processRunsOf(lines []contract.Line) [][]contract.Line {
	var processRuns [][]contract.Line
	for _, l := range lines {
		if _, ok := l.Body.(contract.Session); ok {
			processRuns = append(processRuns, nil)
		}
		processRuns[len(processRuns)-1] = append(processRuns[len(processRuns)-1], l)
	}
	return processRuns
}

// take attaches another terminal to an agent's session.
func (h *modelHome) take(id string) *pane {
	h.t.Helper()
	p := h.open("attach", id)
	if h.player.real {
		p.await("for shortcuts")
	} else {
		p.await("stand-in, session", "> ")
	}
	return p
}

// giveBack detaches it again.
func (h *modelHome) giveBack(p *pane) {
	h.t.Helper()
	p.press("Ctrl+]")
	h.left(p, contract.ExitComplete)
}
