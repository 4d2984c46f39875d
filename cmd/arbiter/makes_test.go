package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// made is a run that has a make called `other`: the fake one, or a real one in long tests.
type made struct {
	t      *testing.T
	name   string
	claude []string       // who plays Claude; nil: the stand-in
	home   string         // of the make
	model  *acptest.Model // of a real make
	work   string         // of the run
	config string
	task   string
}

var madeOf = acptest.Makes

// unasked are the makes that may run some calls without a question: they have to be accepted, or confined.
var unasked = acptest.With(acptest.Rules, acptest.Pass)

// endTurns are the makes whose turn a denial ends.
var endTurns = acptest.With(acptest.Reason, acptest.EndsTurn)

// resumes are the makes whose sessions go on in another process.
var resumes = acptest.With(acptest.Resume, acptest.Yes)

// withEach runs a test for each make with each player of Claude, those with the real CLI in long tests.
func withEach(t *testing.T, test func(t *testing.T, m *made)) {
	for _, p := range players(t) {
		for _, name := range madeOf {
			t.Run(name+" and "+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				m := newMade(t, name)
				m.claude = p.args
				test(t, m)
			})
		}
	}
}

// eachTrapped runs a test for each of these makes; behind a blank is what the fake one does wrong.
func eachTrapped(t *testing.T, names []string, test func(t *testing.T, m *made, trap string)) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, trap, _ := strings.Cut(name, " ")
			test(t, newMade(t, name, acptest.TrapsEnv+"="+trap), trap)
		})
	}
}

func newMade(t *testing.T, name string, more ...string) *made {
	t.Helper()
	m := &made{t: t, name: name, home: t.TempDir()}
	spec := bridge.MakeSpec{Name: "opencode"}
	if name == "fake" {
		program := testkit.Must(exec.LookPath("fake-acp"))(t)
		spec.Command = []string{program}
	} else {
		testkit.Long(t)
		m.model = acptest.StartModel(t)
		spec = m.model.Real(t, name, m.home)
	}
	env := []string{"HOME=" + m.home}
	for _, entry := range append(spec.Env, more...) {
		if !strings.HasPrefix(entry, "ANTHROPIC_API_KEY=") { // the stage has one
			env = append(env, entry)
		}
	}
	m.config = filepath.Join(t.TempDir(), "config.yaml")
	command, _ := json.Marshal(spec.Command)
	environment, _ := json.Marshal(env)
	if err := os.WriteFile(m.config, fmt.Appendf(nil, "makes:\n  other:\n    like: %s\n    command: %s\n    env: %s\n"+
		"    accept_unasked: %t\n", spec.Name, command, environment, slices.Contains(unasked, name)), 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// start starts the run with a play.
func (m *made) start(play string, args ...string) *script {
	m.t.Helper()
	if m.claude == nil {
		m.claude = []string{"--stand-in"}
	}
	// A real make takes its time to start on a busy machine: how long is no matter of these tests.
	s := start(m.t, []string{"TMPDIR=" + testkit.ShortDir(m.t)}, // for the sockets of tools
		slices.Concat(m.claude, []string{"--json", "--config", m.config, "--start-timeout", "90s", "--scenario",
			scenarioFile(m.t, play), "--task", cmp.Or(m.task, "Do it")}, args)...)
	s.offScript = true
	m.work = await[contract.Session](s, "the session", nil).CWD
	return s
}

// permits answers the next request of an agent.
func (s *script) permits(id, behavior string) contract.PermissionRequest {
	s.t.Helper()
	r := await[contract.PermissionRequest](s, "a request of "+id, func(of string, _ contract.PermissionRequest) bool {
		return of == id
	})
	s.send(contract.Permit{Request: r.Request, Behavior: behavior})
	return r
}

var arbiterWaits = []object{on("It is done", complete("all of it")), patience}

// summonsMake spawns an Orchestrator of a make.
func summonsMake(make, prompt string) object {
	return uses(call("mcp__arbiter__spawn_orchestrator", object{"make": make, "prompt": prompt}))
}

const handOver = `[[verdict {"expects_response":true,"kind":"handoff","message":"Half is done.","handoff":` +
	`{"accomplished":["made.txt"],"remaining":["the rest"],"key_context":"none"}}]]`

// othersPlay: an agent of another make begins, Claude continues, and the other make ends it.
func othersPlay(forbidden, write string) string {
	begins := summonsMake("other", "[[say Begun.]] "+forbidden+" "+write+
		` [[tool report_progress|{"message":"halfway"}]] `+handOver)["use"].([]object)
	plan := call("mcp__arbiter__set_plan", object{"steps": []object{{"text": "Begin", "make": "other"}, {"text": "End"}}})
	return allowing([]string{"Bash(*)", "Write"},
		arbiter([]object{uses(plan, begins[0]), patience,
			on("Half is done", uses(call("mcp__arbiter__status", object{}))),
			on("of make other", summonsMake("claude", "Take it up.")), patience,
			on("Claude was here", summonsMake("other", "End it. [[say Ended.]]")), patience,
			on("It is done", complete("all of it"))}, arbiterWaits...),
		orchestrator("claude", "", nil, handsOff("handoff", "Claude was here.", []string{"the end"})))
}

const (
	touchForbidden = "[[shell touch forbidden]]"
	writeMade      = "[[write {{.cwd}}/made.txt|by another]]"
	shellMade      = `[[shell printf "by another" >made.txt]]`
)

// TestAnotherMake: an Orchestrator of another make gets its brief, asks for permission in the inbox, obeys deny rules,
// gives its verdict, and hands off to Claude, who hands off to another of that make.
func TestAnotherMake(t *testing.T) {
	withEach(t, func(t *testing.T, m *made) {
		forbidden, write, tool := touchForbidden, writeMade, "Write"
		if slices.Contains(endTurns, m.name) {
			forbidden = ""
		}
		if m.name == "codex" { // it writes with commands
			write, tool = shellMade, "Bash"
		}
		s := m.start(othersPlay(forbidden, write), "--deny", "Bash(touch forbidden*)", "--permissions", "ask")
		r := s.permits("orch-1", bridge.Allow)
		testkit.Check(t, r.Tool == tool && strings.Contains(string(r.Input), "made.txt"), "request %+v", r)
		s.finishes("all of it")
		testkit.Same(t, "made.txt", "by another", textOf(t, filepath.Join(m.work, "made.txt")))
		shown, _ := s.output(0, "sessions", "show", s.run())
		some := slices.ContainsFunc(collect[contract.Turn](s), func(t contract.Turn) bool { return t.Unknown })
		testkit.Check(t, strings.Contains(shown, " + ?\n") == some, "unknown costs, %v, are shown as\n%s", some, shown)
		absent(t, "a denied call ran", filepath.Join(m.work, "forbidden"))
		makes := map[string]string{}
		written, lacks := 0, 0
		for _, l := range s.lines {
			switch b := l.Body.(type) {
			case contract.Spawn:
				makes[l.ID] = b.Make
			case contract.Delivered:
				if b.Proof == bridge.ProofWritten && makes[l.ID] == "other" {
					written++
				} else if b.Proof != "" || makes[l.ID] != "" {
					t.Errorf("%s: delivered %+v", l.ID, b)
				}
			case contract.Notice:
				if strings.Contains(b.Text, "What it lacks: ") {
					lacks++
				}
			}
		}
		testkit.Check(t, makes["orch-1"] == "other" && makes["orch-2"] == "" && makes["orch-3"] == "other" &&
			makes["arbiter"] == "" && written != 0 && lacks == 2, "makes %v, %d written, %d lacks", makes, written,
			lacks)
	})
}

// interruptPlay: the Arbiter has an interrupted agent go on, and answers its question.
var interruptPlay = playOf(arbiter([]object{summonsMake("other", "[[shell touch begun; sleep 600]]"), patience,
	on("(interrupted|process ended)", tells("orch-1",
		`Leave it. [[verdict {"kind":"question","expects_response":true,"message":"Leave what?"}]]`)),
	on("Leave what", tells("orch-1", "All of it.")), on("It is done", complete("all of it"))}, arbiterWaits...))

// TestAnotherMakeIsInterrupted: nothing that its turn has started is left, and it goes on.
func TestAnotherMakeIsInterrupted(t *testing.T) {
	eachTrapped(t, append(slices.Clone(madeOf), "fake leave"), func(t *testing.T, m *made, trap string) {
		s := m.start(interruptPlay)
		s.permits("orch-1", bridge.Allow)
		awaitFile(t, filepath.Join(m.work, "begun"))
		s.send(contract.Interrupt{ID: "orch-1"})
		s.interrupted("orch-1")
		for _, p := range proctree.Survivors(s.run()) {
			testkit.Check(t, p.Name != "sleep", "it is left running: %+v", p)
		}
		s.finishes("all of it")
	})
}

var resumePlay = playOf(arbiter([]object{summonsMake("other", "[[shell touch begun; sleep 600]]"), patience,
	on("It is done", complete("all of it"))}, arbiterWaits...))

// TestAnotherMakeResumes: after a kill of the host and its bridge, the session is loaded, or another begins with the
// supervisor's record.
func TestAnotherMakeResumes(t *testing.T) {
	eachTrapped(t, append(slices.Clone(madeOf), "fake no-load"), func(t *testing.T, m *made, trap string) {
		s := m.start(resumePlay)
		s.permits("orch-1", bridge.Allow)
		awaitFile(t, filepath.Join(m.work, "begun"))
		n := m.killed(s)
		await[contract.Spawn](n, "its next process", func(id string, b contract.Spawn) bool {
			return id == "orch-1" && b.Resumed == (trap == "" && slices.Contains(resumes, m.name)) && b.Make == "other"
		})
		n.finishes("all of it")
	})
}

// killed kills the host and its bridge, and resumes the run.
func (m *made) killed(s *script) *script {
	m.t.Helper()
	pid := s.bridge()
	made := map[string]bool{} // the agents of the make
	s.mu.Lock()
	lines := slices.Clone(s.lines)
	s.mu.Unlock()
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Spawn:
			made[l.ID] = b.Make != ""
		case contract.Delivered:
			if m.name == "claude-acp" && made[l.ID] { // it saves a moment later
				awaitText(m.t, filepath.Join(s.stateDir(), "runs", s.run(), "home", ".claude", "projects", "*", "*.jsonl"),
					b.MessageID)
			}
		}
	}
	_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	for _, pid := range []int{pid, s.cmd.Process.Pid} {
		testkit.OK(m.t, syscall.Kill(pid, syscall.SIGKILL))
	}
	s.gone()
	awaitGone(m.t, s.run())
	return s.again("--json", "--resume", "--config", m.config)
}

// failPlay: a make that cannot work is summoned, then another one, and then Claude does the work.
func failPlay(make, prompt, told, then string) string {
	again := call("mcp__arbiter__spawn_orchestrator", object{"successor_of": "none", "prompt": "Do it."})
	return playOf(
		arbiter([]object{summonsMake(make, "x"), on(told, summonsMake("other", prompt)), patience,
			on(then, uses(releases["use"].([]object)[0], again)), patience,
			on("It is done", complete("by Claude"))}, arbiterWaits...),
		orchestrator("claude", "", nil, done("It is done.")))
}

// TestAnotherMakeFails: a make whose model fails, openly or as if all were well, or that does not start, does not end
// the run: the Arbiter gets a message about it. (claude-acp repeats such a request for minutes.)
func TestAnotherMakeFails(t *testing.T) {
	names := []string{"fake", "opencode", "codex", "gemini", "copilot", "fake end-turn", "fake unasked"}
	eachTrapped(t, names, func(t *testing.T, m *made, trap string) {
		if trap == "unasked" { // a make that is not known to ask does not start without a sandbox
			raw := testkit.Must(os.ReadFile(m.config))(t)
			raw = []byte(strings.Replace(string(raw), "like: opencode", "like: unknown", 1))
			testkit.OK(t, os.WriteFile(m.config, raw, 0o600))
		}
		s := m.start(failPlay("none", "[[fail 401]]", `There is no make "none". Makes: claude, other`, "orch-1"))
		s.finishes("by Claude")
		told := testkit.Each(about[contract.Error](s, "orch-1"), func(e contract.Error) string { return e.Message })
		want := map[string]string{"": "401", "unasked": "use --sandbox, or set makes.other.accept_unasked to true"}[trap]
		switch m.name {
		case "codex":
			want = "Authentication required"
		case "copilot":
			want = ""
		}
		testkit.Includes(t, "told", strings.Join(told, "\n"), want)
	})
}

// opinionPlay: Claude builds, and another make reviews.
func opinionPlay(mends string) string {
	insists := complete("one of two findings is proven")
	return allowing([]string{"Write", "Bash(grep *)"},
		arbiter(slices.Concat(summons("Build it."), []object{on("It is built", uses(call("mcp__arbiter__spawn_orchestrator",
			object{"mode": "reviewer", "make": "other", "successor_of": "none", "prompt": "Review it. " +
				"[[read {{.cwd}}/made.txt]] " + mends + ` [[verdict {"expects_response":true,"kind":"done",` +
				`"message":"It is reviewed.","handoff":{"accomplished":["read"],"remaining":[],"key_context":"none","checks":[` +
				`{"command":"grep -c bug made.txt","expect":"1"},{"command":"grep -c leak made.txt","expect":"1"}],"claims":[` +
				`{"claim":"There is a bug.","verified":true,"check":1},{"claim":"There is a leak.","verified":true,"check":2}]` +
				`}}]]`}))), patience,
			on(`(?s)It is reviewed.*[^N]VERIFIED[^\n]*There is a bug.*REFUTED[^\n]*There is a leak`, insists)}),
			on("COMPLETE", insists), patience),
		orchestrator("claude", "", []object{writes("made.txt", "a bug\n"), listing(done("It is built."), "made.txt")}))
}

// TestSecondOpinion: what a reviewer of another make finds comes with checks, and only what they reproduce is proven.
// Its mode holds for it: it changes nothing.
func TestSecondOpinion(t *testing.T) {
	withEach(t, func(t *testing.T, m *made) {
		mends := "[[write {{.cwd}}/made.txt|mended]]"
		if slices.Contains(endTurns, m.name) {
			mends = ""
		}
		s := m.start(opinionPlay(mends))
		if r := s.finish(contract.ExitFailed); !strings.Contains(r.Summary, "one of two findings is proven") ||
			len(r.Failing) != 1 { // a finding that does not reproduce stays open
			t.Errorf("result %+v", r)
		}
		testkit.Same(t, "made.txt", "a bug\n", textOf(t, filepath.Join(m.work, "made.txt")))
		proven := testkit.Only(about[contract.Handoff](s, "orch-2"),
			func(h contract.Handoff) bool { return len(h.Proofs) > 0 })
		testkit.Need(t, len(proven) > 0, "no proofs")
		testkit.Same(t, "proofs", []string{"verified", "refuted"}, proven[len(proven)-1].Proofs)
	})
}

// leads has the make be the Arbiter, which does what the task and the messages to it say.
func (m *made) leads(task string, more ...string) {
	m.t.Helper()
	m.task = task
	config := textOf(m.t, m.config)
	if slices.Contains(unasked, m.name) { // what is accepted of Orchestrators is not accepted of the Arbiter
		if _, err := exec.LookPath("bwrap"); err != nil {
			m.t.Skip("no bubblewrap here")
		}
		more = append(more, "sandbox: 'on'", "sandbox-write: ["+m.home+"]",
			"allow-host: ['"+strings.TrimPrefix(m.model.Base, "http://")+"']")
	}
	config += "provider: {arbiter: other}\n" + strings.Join(more, "\n") + "\n"
	testkit.OK(m.t, os.WriteFile(m.config, []byte(config), 0o600))
}

const ledTask = `Lead it. [[tool set_plan|{"steps":[{"text":"Build it"}]}]] [[write forbidden|x]]
[[shell touch forbidden]] [[tool status|{}]] [[tool spawn_orchestrator|{"prompt":"Build it."}]]`

// ledPlay: what Claude says as an Orchestrator is the script of the Arbiter.
func ledPlay(first string) string {
	return allowing([]string{"Write"}, orchestrator("claude", "", []object{
		question(`Which colour? [[verdict {"decision":"ADDRESS_HUMAN","message":"Which colour?","reason":"r"}]]`),
		on("Blue, said the human", writes("made.txt", "blue")), listing(done(first), "made.txt")}, done(builtAndProven)))
}

const builtAndProven = "It is built. Everything is proven."

// answered waits for the Arbiter's question, and has it pass the answer on.
func (s *script) answered() {
	s.t.Helper()
	q := await[contract.Question](s, "the Arbiter's question", nil)
	testkit.Check(s.t, q.Text == "Which colour?", "question %+v", q)
	s.send(contract.Say{Text: `Blue. [[verdict {"decision":"ADDRESS_ORCHESTRATOR","to":"orch-1",` +
		`"message":"Blue, said the human.","reason":"r"}]]`})
}

// TestAnotherMakeIsTheArbiter: it plans, summons Claude, asks the human, passes the answer on and completes the task.
// It changes nothing itself, and nobody is asked whether it may.
func TestAnotherMakeIsTheArbiter(t *testing.T) {
	withEach(t, func(t *testing.T, m *made) {
		task := ledTask
		if slices.Contains(endTurns, m.name) {
			task = strings.NewReplacer("[[write forbidden|x]]", "", "[[shell touch forbidden]]", "").Replace(task)
		}
		m.leads(task)
		s := m.start(ledPlay(builtAndProven))
		s.answered()
		s.finishes("all of it")
		testkit.Same(t, "made.txt", "blue", textOf(t, filepath.Join(m.work, "made.txt")))
		absent(t, "the Arbiter wrote a file", filepath.Join(m.work, "forbidden"))
		plans := 0
		for _, l := range s.lines {
			switch b := l.Body.(type) {
			case contract.Spawn:
				testkit.Check(t, (b.Make == "other") == (l.ID == contract.Arbiter), "%s is of make %q", l.ID, b.Make)
			case contract.PermissionRequest:
				testkit.Check(t, l.ID != contract.Arbiter || b.Tool == bridge.NetworkTool,
					"a request of the Arbiter: %+v", b)
			case contract.Plan:
				plans++
			}
		}
		testkit.Check(t, plans != 0, "no plan")
	})
}

// TestAnArbiterOfAnotherMakeResumes: after a kill in a turn of its own, or while a human thinks, its session is loaded,
// or another begins with the supervisor's record.
func TestAnArbiterOfAnotherMakeResumes(t *testing.T) {
	for _, name := range append(slices.Clone(madeOf), "fake no-load") {
		name, trap, _ := strings.Cut(name, " ")
		loads := trap == "" && slices.Contains(resumes, name)
		for _, inTurn := range []bool{true, false} {
			if inTurn && !loads {
				continue // its message is sent again, and the script in it is played again
			}
			t.Run(fmt.Sprintf("%s %s in its turn %t", name, trap, inTurn), func(t *testing.T) {
				t.Parallel()
				m := newMade(t, name, acptest.TrapsEnv+"="+trap)
				task := `[[tool spawn_orchestrator|{"prompt":"Build it."}]]`
				if inTurn {
					task += " [[read /etc/hostname]]" // a human is asked
				}
				m.leads(task)
				s := m.start(ledPlay(builtAndProven))
				switch {
				case !inTurn:
					await[contract.Question](s, "its question", nil)
				case name == "opencode": // what it asks before it reads elsewhere does not say that it reads
					await[contract.ToolCall](s, "a call", nil)
				default:
					await[contract.PermissionRequest](s, "its request", nil)
				}
				n := m.killed(s)
				await[contract.Spawn](n, "its next process", func(id string, b contract.Spawn) bool {
					return id == contract.Arbiter && b.Resumed == loads && b.Make == "other"
				})
				n.answered()
				n.finishes("all of it")
			})
		}
	}
}

// TestAnArbiterOfAnotherMakeErrs: a verdict that the schema refuses, and one that cannot be acted on, are given again.
func TestAnArbiterOfAnotherMakeErrs(t *testing.T) {
	play := ledPlay(`It is built. [[verdict {"decision":"DANCE","message":"x","reason":"r"}]] [[verdict ` +
		`{"decision":"ADDRESS_ORCHESTRATOR","to":"` + acptest.Proven + `","message":"x","reason":"r"}]]`)
	for _, name := range madeOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMade(t, name)
			m.leads(`[[tool spawn_orchestrator|{"prompt":"Build it."}]]`)
			s := m.start(play)
			s.answered()
			s.finishes("all of it")
			corrected := slices.ContainsFunc(s.lines, func(l contract.Line) bool {
				b, ok := l.Body.(contract.Message)
				return ok && b.Kind == "correction" && strings.Contains(b.Text, acptest.Proven)
			})
			testkit.Check(t, corrected, "no correction")
		})
	}
}

// TestAnArbiterOfAnotherMakeMerges: it leads two Orchestrators in directories of their own, who change the same line:
// the conflict goes back to its author. The run forks before its first decision and its last one: the Arbiter begins
// another session of that make, and comes to the same end.
func TestAnArbiterOfAnotherMakeMerges(t *testing.T) {
	for _, name := range madeOf {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMade(t, name)
			m.leads(`Weave. [[tool spawn_orchestrator|{"prompt":"Weave part one"}]]
				[[tool spawn_orchestrator|{"prompt":"Weave part two"}]]`)
			meet := filepath.Join(t.TempDir(), "meet") // where the two wait for each other
			one, two, _ := twoAtOneLine(meet)
			for _, hand := range []object{one, two} {
				hand["otherwise"].([]object)[1] = done(acptest.Proven + ".")
			}
			play := playOf(one, two)
			repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
			testkit.OK(t, os.Mkdir(meet, 0o700))
			s, model := hiredIn(t, players(t)[0], play, repo.Path, "--config", m.config, "--isolation", "worktree",
				"--start-timeout", "90s", "--allow", "Bash", "--allow", "Edit", "--no-input", "--task", m.task)
			f := forks{s, repo, model, s.run0()}
			s.finish(contract.ExitComplete)
			f.woven(true)
			before, last := f.bytes(), f.last()
			for _, at := range []int{1, last} {
				testkit.OK(t, os.RemoveAll(meet), os.Mkdir(meet, 0o700))
				n := s.again("fork", f.run, "--at", fmt.Sprint(at), "--json", "--no-input", "--", "--config", m.config)
				fork := forks{n, repo, model, n.run0()}
				n.finish(contract.ExitComplete)
				fork.woven(at == 1)
				f.sameEvents(fork.run, at)
			}
			testkit.Same(t, "the run that was forked", before, f.bytes())
		})
	}
}

// woven: both have worked, and what the second wrote was merged by hand, if there was a conflict in this run.
func (f forks) woven(conflict bool) {
	f.t.Helper()
	testkit.Same(f.t, "shared.txt", "first\none\ntwo\nlast",
		f.repo.Git("show", "arbiter/"+f.run[:8]+"/main:shared.txt"))
	if slices.ContainsFunc(collect[contract.Merge](f.script), func(m contract.Merge) bool {
		return m.Status != "merged"
	}) != conflict {
		f.t.Errorf("conflict: not %t", conflict)
	}
	for _, l := range f.lines {
		b, ok := l.Body.(contract.Spawn)
		testkit.Check(f.t, !ok || (b.Make == "other") == (l.ID == contract.Arbiter), "%s is of make %q", l.ID, b.Make)
	}
}

// TestAMakeThatCannotBeTheArbiter: the run ends, and says why.
func TestAMakeThatCannotBeTheArbiter(t *testing.T) {
	for trap, want := range map[string]string{
		"no-mcp":  "other did not start the MCP server with Arbiter's tools",
		"unasked": "the make other does not ask about each command and edit",
	} {
		t.Run(trap, func(t *testing.T) {
			t.Parallel()
			m := newMade(t, "fake", acptest.TrapsEnv+"="+trap)
			m.leads("Lead it.", "sandbox: 'off'")
			if trap == "unasked" {
				config := strings.NewReplacer("like: opencode", "like: codex", "unasked: false", "unasked: true").
					Replace(textOf(t, m.config))
				testkit.OK(t, os.WriteFile(m.config, []byte(config), 0o600))
			}
			s := m.start(ledPlay(builtAndProven))
			s.finish(contract.ExitEnvironment)
			told := testkit.Each(collect[contract.Error](s), func(e contract.Error) string {
				return e.Message + " " + strings.Join(e.RecoveryOptions, "; ")
			})
			testkit.Includes(t, "told", strings.Join(told, "\n"), want, "arbiter doctor")
		})
	}
}

// madeThere are the makes that are played on another host: the fake one, also in another account, behind ssh, and in
// long tests real ones, which are installed in this account.
var madeThere = []string{"fake", "fake by ssh", "opencode", "claude-acp", "codex", "gemini", "copilot"}

// startThere starts a run whose only host has the make `other`.
func startThere(t *testing.T, name, play string, args ...string) (s *script, repo gittest.Dir) {
	t.Helper()
	spec, env := bridge.MakeSpec{Name: "opencode", Command: []string{"fake-acp"}}, []string{}
	there := hostKinds()[0]
	fake, _, ssh := strings.Cut(name, " by ")
	if ssh {
		there = hostKinds()[1]
	}
	if fake != "fake" {
		testkit.Long(t)
		home := t.TempDir()
		spec = acptest.StartModel(t).Real(t, name, home)
		env = append(spec.Env, "HOME="+home)
	}
	command := there.commands(t, "")["box"]
	for i, entry := range env {
		env[i] = strings.TrimSuffix(entry, "=dummy") // the host passes the key
	}
	words, _ := json.Marshal(spec.Command)
	environment, _ := json.Marshal(env)
	makes := fmt.Sprintf("makes:\n  third: {command: [not-there], accept_unasked: true}\n  other:\n    like: %s\n"+
		"    command: %s\n    env: %s\n    accept_unasked: %t\n", spec.Name, words, environment,
		slices.Contains(unasked, name))
	config := write(t, "hosts:\n"+hostNamed("box", command)+makes, t.TempDir(), "config.yaml")
	repo = gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ = hiredIn(t, players(t)[0], play, repo.Path, append([]string{"--config", config, "--hosts", "box", "--isolation",
		"worktree", "--start-timeout", "90s", "--task", "Weave"}, args...)...)
	return s, repo
}

// TestAnotherMakeOnAHost: an Orchestrator of another make works on another host as it does here, and its work comes
// back.
func TestAnotherMakeOnAHost(t *testing.T) {
	for _, name := range madeThere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forbidden := touchForbidden
			if slices.Contains(endTurns, name) {
				forbidden = ""
			}
			s, repo := startThere(t, name, othersPlay(forbidden, shellMade),
				"--deny", "Bash(touch forbidden*)", "--permissions", "ask")
			r := s.permits("orch-1", bridge.Allow)
			testkit.Check(t, r.Tool == "Bash" && strings.Contains(string(r.Input), "made.txt"), "request %+v", r)
			s.finishes("all of it")
			makes := map[string]string{}
			for _, l := range s.lines {
				if b, ok := l.Body.(contract.Spawn); ok && b.Host == "box" {
					makes[l.ID] = b.Make
				}
			}
			testkit.Check(t, len(makes) == 3 && makes["orch-1"] == "other" && makes["orch-2"] == "" &&
				makes["orch-3"] == "other", "on the host: %v", makes)
			branch := fmt.Sprintf("arbiter/%.8s/main", s.run())
			testkit.Same(t, "merged here", "by another", repo.Git("show", branch+":made.txt"))
			testkit.Excludes(t, "a denied call ran", repo.Git("ls-tree", "--name-only", branch), "forbidden")
		})
	}
}

// TestAnotherMakeOfALostHost: when its host was lost, an agent of another make continues its session there.
func TestAnotherMakeOfALostHost(t *testing.T) {
	onlyLinux(t)
	testkit.Long(t) // the supervisor's TestLosingAHost and TestMakeWithUnknowns show its parts
	for _, name := range madeThere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := startThere(t, name, resumePlay, "--lease", "5s")
			there := await[contract.Workspace](s, "its directory", nil).Dir
			s.permits("orch-1", bridge.Allow)
			awaitFile(t, filepath.Join(there, "begun"))
			for pid, cmd := range survivors(s.run()) {
				if strings.Contains(cmd, "bridge --remote") {
					_ = syscall.Kill(pid, syscall.SIGKILL) // the second may have ended with the first
				}
			}
			await[contract.Spawn](s, "its next process", func(id string, b contract.Spawn) bool {
				return id == "orch-1" && b.Make == "other" && b.Host == "box" &&
					b.Resumed == slices.Contains(resumes, strings.TrimSuffix(name, " by ssh"))
			})
			s.finishes("all of it")
		})
	}
}

// TestAMakeThatAHostLacks: the Arbiter hears on which host the program of a make is missing, that host stays in use,
// and hosts check says what is missing.
func TestAMakeThatAHostLacks(t *testing.T) {
	t.Parallel()
	play := failPlay("third", handOver, "could not start: host box: the make third: .*not-there", "Half is done")
	s, _ := startThere(t, "fake", play)
	s.finishes("by Claude")
	config := s.cmd.Args[slices.Index(s.cmd.Args, "--config")+1]
	_, found := s.checked(0, "--config", config, "--wait=1m", "box")
	f := found["make third"]
	testkit.Check(t, f.State == host.DoctorWarn && f.Found == "not-there is not there", "hosts check: %+v", found)
	f = found["make other"]
	testkit.Check(t, f.State == host.DoctorOK, "hosts check: %+v", found)
}
