package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// asks waits until an agent asks for permission to run a command, and returns the request.
func (s *script) asks(command string) contract.PermissionRequest {
	s.t.Helper()
	return await(s, "a request for "+command, func(_ string, r contract.PermissionRequest) bool {
		return strings.Contains(string(r.Input), `"`+command+`"`)
	})
}

// wants waits until an agent asks for permission to use a tool, and returns the request.
func (s *script) wants(tool string) contract.PermissionRequest {
	s.t.Helper()
	return await(s, "a request for "+tool, func(_ string, r contract.PermissionRequest) bool { return r.Tool == tool })
}

// decided waits until a request is decided.
func (s *script) decided(r contract.PermissionRequest) contract.Permission {
	s.t.Helper()
	return await(s, "an answer to "+r.Request, func(_ string, p contract.Permission) bool {
		return p.Request == r.Request
	})
}

// TestAnswersFromASecondTerminal: from another terminal, a human grants and denies what agents ask for, steers,
// and answers the question; a watcher there sees the same events as stdout.
func TestAnswersFromASecondTerminal(t *testing.T) {
	testkit.Long(t)
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := waitingRun(t, p)
		run := command.ShortID(collect[contract.Session](s)[0].Session)
		watcher := s.look("watch")
		s.runs(contract.ExitUsage, "several permission requests are open", "allow")
		s.runs(contract.ExitComplete, ": allow", "allow", run, "all")
		for _, command := range []string{"touch warp", "touch weft"} {
			d := s.decided(s.asks(command))
			testkit.Check(t, d.Behavior == "allow" && d.By == "human" && d.Scope == "once", "%s: %+v", command, d)
		}

		one := s.asks("touch one")
		s.runs(contract.ExitUsage, "allow it with its id: arbiter allow "+one.Request, "allow")
		s.runs(contract.ExitComplete, one.Request, "allow", one.Request)
		d := s.decided(one)
		testkit.Check(t, d.Behavior == "allow" && d.Scope == "once", "once: %+v", d)
		two := s.asks("touch two")
		s.runs(contract.ExitUsage, "no permission request \""+one.Request, "deny", one.Request)
		s.runs(contract.ExitUsage, "does not cover", "allow", two.Request, "--for", "run", "--rule", "Bash(make *)")
		answer := besideJSON[struct {
			Run     string
			Answers []subcommands.PermitAnswer
		}](s, "allow", strings.TrimPrefix(two.Request, "perm-")[:12], "--for", "run", "--rule", "Bash(touch *)")
		d = s.decided(two)
		testkit.Check(t, d.Scope == "run" && d.Rule == "Bash(touch *)" && len(answer.Answers) == 1 &&
			answer.Answers[0].Request == two.Request && answer.Answers[0].Accepted, "for the run: %+v, %+v", d, answer)
		four := s.asks("mkdir four") // the run did not ask about three
		s.runs(contract.ExitComplete, ": allow", "allow", run, four.Request, "--for", "always")
		d = s.decided(four)
		testkit.Check(t, d.Scope == "always", "always: %+v", d)
		remove := s.asks("rm one")
		s.runs(contract.ExitComplete, "Run "+run, "deny", "--for", "run", "--message", "Leave it there.")
		d = s.decided(remove)
		testkit.Check(t, d.Behavior == "deny" && d.By == "human" && d.Reason == "Leave it there.", "denied: %+v", d)

		await[contract.Question](s, "the question", nil)
		s.runs(contract.ExitComplete, "Which <colour> & why?\n  Answer with: arbiter send "+run+" TEXT", "status")
		s.runs(contract.ExitUsage, "no permission request is open", "allow")
		s.runs(contract.ExitComplete, "No permission request is open", "allow", "all")
		s.runs(contract.ExitUsage, "nor any other", "allow", "perm-1")
		s.besideIn(s.cmd.Dir, "the red one\n", "send", "--json", "-").ended(t, "send", contract.ExitComplete,
			`"accepted":true`)
		s.completes()
		s.runs(contract.ExitComplete, "one exact action of Bash", "grants") // what was always allowed
		testkit.Same(t, "the watcher prints", s.raw.String(), watcher.ends(contract.ExitComplete))
		var asked, again int
		for _, d := range collect[contract.Permission](s) {
			if d.Behavior == "deny" && strings.Contains(d.Reason, "denied it for this run") {
				again++
			}
		}
		if asked = len(collect[contract.PermissionRequest](s)); asked != 6 || again != 1 {
			t.Errorf("%d requests, and %d denied as before", asked, again)
		}
		for _, name := range []string{"warp", "weft", "one", "two", "three", "four"} {
			testkit.Must(os.Stat(filepath.Join(s.cmd.Dir, name)))(t)
		}
		onScript(t, model)
	})
}

// TestWrongAnswers: an answer that cannot be right is refused before anything is sent, and the error says what
// to type.
func TestWrongAnswers(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0])
	run := collect[contract.Session](s)[0].Session
	weft := s.asks("touch weft")
	for _, w := range []struct {
		want string
		args []string
	}{
		{"use note, steer or stop", []string{"send", "--strength", "hard", "x"}},
		{`no agent "orch-9"`, []string{"send", "--to", "orch-9", "x"}},
		{"the TEXT is empty", []string{"send", " "}},
		{"give one TEXT", []string{"send"}},
		{"is the id of the run: give the TEXT after it", []string{"send", run[:8]}},
		{"give one TEXT", []string{"send", run, "two", "words"}},
		{`there is no run "nowhere"`, []string{"send", "nowhere", "x"}},
		{"use once, run or always", []string{"allow", "--for", "ever"}},
		{"--rule needs --for", []string{"allow", weft.Request, "--rule", "Bash"}},
		{"a denial ends with its run", []string{"deny", weft.Request, "--for", "always"}},
		{`no permission request "perm-x" is open in run ` + run[:8] + ": use one of perm-",
			[]string{"allow", "perm-x"}},
		{"fits several permission requests", []string{"deny", "perm-"}},
		{"at most one RUN and one REQUEST", []string{"deny", run, "all", "x"}},
		{"an argument is empty", []string{"deny", run, ""}},
		{"at most one RUN", []string{"stop", "a", "b"}},
		{"give one OPTION", []string{"choose"}},
		{"Run", []string{"choose", "retry"}},
	} {
		if w.want == "Run" {
			w.want = "run " + run[:8]
		}
		s.runs(contract.ExitUsage, w.want, w.args...)
	}
	s.besideIn(t.TempDir(), "", "send", "x").ended(t, "elsewhere", contract.ExitUsage, "arbiter ps lists the live runs")
	n := len(collect[contract.Accepted](s)) + len(collect[contract.Permission](s))
	testkit.Check(t, n == 0, "%d commands were carried out", n)
	s.runs(contract.ExitComplete, "message to orch-1",
		"send", run[:8], "--to", "orch-1", "--strength", "stop", "Stop it.")
	await(s, "the message", func(_ string, m contract.Message) bool { return m.To == "orch-1" && m.Text == "Stop it." })
	s.send(contract.Cancel{})
	s.offScript = true
	s.finish(contract.ExitFailed)
}

// TestStop: stop, run in another terminal, ends a run in order, and says how it ended and how to continue it.
func TestStop(t *testing.T) {
	t.Parallel()
	s, _ := waitingRun(t, players(t)[0])
	run := collect[contract.Session](s)[0].Session
	watcher := s.look("watch")
	watcher.shows(`"permission_request"`)
	got := besideJSON[subcommands.Stopped](s, "stop")
	testkit.Check(t, got.Run == run && got.Exit == int(contract.ExitTerminated) &&
		strings.Contains(got.Text, "interrupted") && got.Resume == "arbiter --resume --session "+run[:8], "%+v", got)
	testkit.Empty(t, "alive behind it", survivors(run))
	testkit.Same(t, "summary", "stopped on request", s.finish(contract.ExitTerminated).Summary)
	watcher.ends(contract.ExitTerminated)
	s.runs(contract.ExitUsage, "is not live (interrupted)", "stop", run)
	s.runs(contract.ExitUsage, "no run is live in", "stop")

	b := atWork(t, players(t)[0])
	b.runs(contract.ExitComplete, "To resume: arbiter --resume --session "+b.run[:8], "stop", b.run[:8], "--now")
	b.finish(contract.ExitTerminated)
}

// TestChoose: choose, run in another terminal, lists the possible ways out of a failure and takes one.
func TestChoose(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s := override(t, players(t)[0], "tester", spinning)
	await(s, "trouble of orch-1", func(id string, e contract.Error) bool {
		return id == "orch-1" && slices.Equal(e.RecoveryOptions, []string{"retry", "skip", "fallback"})
	})
	run := command.ShortID(s.run())
	s.runs(contract.ExitComplete, "Answer with: arbiter choose "+run+" retry|skip|fallback", "status", run)
	s.runs(contract.ExitUsage, "offered: retry, skip, fallback", "choose", run, "abort")
	s.runs(contract.ExitComplete, "another agent", "choose", run, "fallback")
	s.moves("executing", "selecting", "AGENT_STOPPED")
	s.cancels()
}

// TestCompletionKnowsWhatWaits: completion offers live runs and open requests to the commands that take them, and
// agents to the commands that send or attach to them.
func TestCompletionKnowsWhatWaits(t *testing.T) {
	s, _ := waitingRun(t, standInPlayer)
	run := command.ShortID(s.run())
	warp, weft := s.asks("touch warp").Request, s.asks("touch weft").Request
	requests := warp + " " + weft + " all"
	compare := func(offered map[string]string) {
		t.Helper()
		for line, want := range offered {
			testkit.Same(t, line, sortedWords(want), sortedWords(offers(t, line)))
		}
	}
	(&typist{t: t, dir: t.TempDir(), env: s.cmd.Env}).move()
	compare(map[string]string{
		"arbiter status ":                           run,
		"arbiter stop ":                             run,
		"arbiter halt ":                             run,
		"arbiter halt " + s.run()[:12]:              s.run(),
		"arbiter allow ":                            run,
		"arbiter allow " + run + " ":                requests,
		"arbiter deny " + run + " " + weft:          weft,
		"arbiter send " + run + " --to ":            "arbiter orch-1 orch-2",
		"arbiter send --to ":                        "",
		"arbiter choose " + run + " ":               "",
		"arbiter deny " + run + " all --for":        "--for",
		"arbiter attach ":                           run, // it plays in another directory
		"arbiter attach --session ":                 run,
		"arbiter attach --session " + s.run() + " ": run + " arbiter orch-1 orch-2",
	})
	t.Chdir(s.cmd.Dir)
	compare(map[string]string{
		"arbiter allow ":     requests + " " + run,
		"arbiter send --to ": "arbiter orch-1 orch-2",
		"arbiter attach o":   "orch-1 orch-2",
	})
	s.cancels()
}

// status is that of the live run, as the control socket reports it, and waiting what waits in it for a human.
func (s *script) status() runstore.LiveStatus {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	client, st, err := control.Dial[runstore.LiveStatus](ctx,
		filepath.Join(s.stateDir(), "runs", s.run(), control.SocketName), nil)
	testkit.Need(s.t, err == nil, "ask for the status: %v", err)
	client.Close()
	return st
}

func (s *script) waiting() []supervisor.InboxItem { return s.status().Inbox }

// kindsOf lists the waiting items by kind and agent.
func kindsOf(list []supervisor.InboxItem) string {
	lines := testkit.Each(list, func(i supervisor.InboxItem) string { return string(i.Kind) + " " + i.Agent })
	slices.Sort(lines)
	return strings.Join(lines, ", ")
}

// puzzled is a play in which one Orchestrator asks a question that only a human may decide, and another one
// keeps working and asks for permission.
var puzzled = playOf(
	arbiter([]object{spawns("Choose a colour.", "Touch it.")},
		on("Red or blue", asksHuman("Shall it be red or blue?")),
		on("kind: answer", tells("orch-1", "Blue, says the human.")), on("It is blue", complete("done")), patience),
	orchestrator("chooser", "Choose a colour", nil, on("Blue, says", done("It is blue.")), question("Red or blue?")),
	orchestrator("toucher", "Touch it", []object{bash("touch touched.txt"), done("It is touched.")}))

// TestOpenItemsOfAHuman: one list contains a question that was asked while another agent works, and that agent's
// permission request. After a crash the list contains the items that are really open, and answers to them count.
func TestOpenItemsOfAHuman(t *testing.T) {
	path := scenarioFile(t, puzzled)
	eachPlayerLong(t, func(t *testing.T, p player) { // TestOneRunManyClients covers the real CLI
		s := p.plays(t, path, "Weave")
		asked := await[contract.Question](s, "the question", nil)
		request := await[contract.PermissionRequest](s, "the request", nil)
		list := s.waiting()
		testkit.Same(t, "what waits", "permission orch-2, question arbiter", kindsOf(list))
		for _, i := range list {
			testkit.Check(t, !i.Since.IsZero() &&
				(i.Kind != "question" || i.ID == asked.Question && i.Text == asked.Text) &&
				(i.Kind != "permission" || i.ID == request.Request), "%+v is not %+v, or not %+v", i, asked, request)
		}
		s.killed()
		shown := besideJSON[subcommands.SessionReport](s, "sessions", "show", s.run())
		testkit.Same(t, "what waits in sessions show", 2, len(shown.Inbox))

		n := s.again("--json", "--resume")
		again := await[contract.Question](n, "the question again", nil)
		testkit.Same(t, "asked again", asked, again)
		await[contract.PermissionRequest](n, "the request again", nil)
		testkit.Same(t, "what waits after the resume", "permission orch-2, question arbiter", kindsOf(n.waiting()))
		n.accepts(contract.Permit{Request: request.Request, Behavior: "allow"})
		await(n, "the end of the other's work", func(_ string, m contract.Message) bool {
			return strings.HasPrefix(m.Text, "It is touched.")
		})
		n.accepts(contract.Say{Text: "Blue."})
		n.completes()
		// It is made again when its agent asks again, and not before.
		heard := slices.IndexFunc(n.lines, func(l contract.Line) bool {
			_, ok := l.Body.(contract.Delivered)
			return ok && l.ID == "orch-2"
		})
		open := slices.IndexFunc(n.lines, func(l contract.Line) bool {
			b, ok := l.Body.(contract.PermissionRequest)
			return ok && b.Request == request.Request
		})
		testkit.Check(t, heard >= 0 && open >= heard && len(collect[contract.PermissionRequest](n)) == 1,
			"it is reported as open in line %d, and its agent hears in line %d", open, heard)
		n.files(map[string]bool{"touched.txt": true})
	})
}
