package main

import (
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
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
			var told []string
			for _, l := range s.lines {
				if b, ok := l.Body.(contract.Error); ok {
					told = append(told, b.Message+" "+strings.Join(b.RecoveryOptions, "; "))
				}
			}
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
