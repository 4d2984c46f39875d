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
	"github.com/arbiter-cli/arbiter/internal/testkit"
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
	s := start(m.t, nil, slices.Concat(m.claude, []string{"--json", "--config", m.config, "--start-timeout", "90s",
		"--scenario", scenarioFile(m.t, play), "--task", cmp.Or(m.task, "Do it")}, args)...)
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

const arbiterWaits = `
    otherwise:
      - {expect: It is done, verdict: {decision: COMPLETE, message: It is done., summary: all of it, reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
`

const handOver = `[[verdict {"expects_response":true,"kind":"handoff","message":"Half is done.","handoff":` +
	`{"accomplished":["made.txt"],"remaining":["the rest"],"key_context":"none"}}]]`

// othersPlay: an agent of another make begins, Claude continues, and the other make ends it.
const othersPlay = `name: others
title: Others
allow: ["Bash(*)", Write]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__set_plan, input: {steps: [{text: Begin, make: other}, {text: End}]}},
              {tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: '[[say Begun.]] [[shell touch forbidden]]
                [[write {{.cwd}}/made.txt|by another]] [[tool report_progress|{"message":"halfway"}]] ` + handOver + `'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: Half is done
        use: [{tool: mcp__arbiter__status, input: {}}]
      - expect: 'of make other'
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: claude, prompt: Take it up.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: Claude was here
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: 'End it. [[say Ended.]]'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is done
        verdict: {decision: COMPLETE, message: It is done., summary: all of it, reason: r}
` + arbiterWaits + `
  - name: claude
    match: {role: orchestrator}
    otherwise:
      verdict: {expects_response: true, kind: handoff, message: Claude was here., handoff: {accomplished: [a],
        remaining: [the end], key_context: none}}
`

// TestAnotherMake: an Orchestrator of another make gets its brief, asks for permission in the inbox, obeys deny rules,
// gives its verdict, and hands off to Claude, who hands off to another of that make.
func TestAnotherMake(t *testing.T) {
	withEach(t, func(t *testing.T, m *made) {
		play, tool := othersPlay, "Write"
		if slices.Contains(endTurns, m.name) {
			play = strings.Replace(play, "[[shell touch forbidden]]", "", 1)
		}
		if m.name == "codex" { // it writes with commands
			play, tool = strings.Replace(play, "[[write {{.cwd}}/made.txt|by another]]",
				`[[shell printf "by another" >made.txt]]`, 1), "Bash"
		}
		s := m.start(play, "--deny", "Bash(touch forbidden*)", "--permissions", "ask")
		if r := s.permits("orch-1", bridge.Allow); r.Tool != tool || !strings.Contains(string(r.Input), "made.txt") {
			t.Errorf("request %+v", r)
		}
		if r := s.finish(contract.ExitComplete); !sums(r, "all of it") {
			t.Errorf("result %+v", r)
		}
		if raw, err := os.ReadFile(filepath.Join(m.work, "made.txt")); err != nil || string(raw) != "by another" {
			t.Errorf("made.txt: %q, %v", raw, err)
		}
		if _, err := os.Stat(filepath.Join(m.work, "forbidden")); err == nil {
			t.Error("a denied call ran")
		}
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
		if makes["orch-1"] != "other" || makes["orch-2"] != "" || makes["orch-3"] != "other" || makes["arbiter"] != "" ||
			written == 0 || lacks != 2 {
			t.Errorf("makes %v, %d written, %d lacks", makes, written, lacks)
		}
	})
}

// interruptPlay: the Arbiter has an interrupted agent go on, and answers its question.
const interruptPlay = `name: interrupt
title: Interrupt
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: '[[shell touch begun; sleep 600]]'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (interrupted|process ended)
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, reason: r, message: 'Leave it. [[verdict
          {"kind":"question","expects_response":true,"message":"Leave what?"}]]'}
      - expect: Leave what
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, reason: r, message: All of it.}
      - expect: It is done
        verdict: {decision: COMPLETE, message: It is done., summary: all of it, reason: r}
` + arbiterWaits

// TestAnotherMakeIsInterrupted: nothing that its turn has started is left, and it goes on.
func TestAnotherMakeIsInterrupted(t *testing.T) {
	for _, name := range append(slices.Clone(madeOf), "fake leave") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, trap, _ := strings.Cut(name, " ")
			m := newMade(t, name, acptest.TrapsEnv+"="+trap)
			s := m.start(interruptPlay)
			s.permits("orch-1", bridge.Allow)
			awaitFile(t, filepath.Join(m.work, "begun"))
			s.send(contract.Interrupt{ID: "orch-1"})
			await[contract.Turn](s, "the end of the turn", func(id string, b contract.Turn) bool {
				return id == "orch-1" && b.Outcome == bridge.TurnInterrupted
			})
			for _, p := range proctree.Survivors(s.run()) {
				if p.Name == "sleep" {
					t.Errorf("it is left running: %+v", p)
				}
			}
			if r := s.finish(contract.ExitComplete); !sums(r, "all of it") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

const resumePlay = `name: resume
title: Resume
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: '[[shell touch begun; sleep 600]]'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is done
        verdict: {decision: COMPLETE, message: It is done., summary: all of it, reason: r}
` + arbiterWaits

// TestAnotherMakeResumes: after a kill of the host and its bridge, the session is loaded, or another begins with the
// supervisor's record.
func TestAnotherMakeResumes(t *testing.T) {
	for _, name := range append(slices.Clone(madeOf), "fake no-load") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, trap, _ := strings.Cut(name, " ")
			m := newMade(t, name, acptest.TrapsEnv+"="+trap)
			s := m.start(resumePlay)
			s.permits("orch-1", bridge.Allow)
			awaitFile(t, filepath.Join(m.work, "begun"))
			n := m.killed(s)
			await[contract.Spawn](n, "its next process", func(id string, b contract.Spawn) bool {
				return id == "orch-1" && b.Resumed == (trap == "" && slices.Contains(resumes, name)) && b.Make == "other"
			})
			if r := n.finish(contract.ExitComplete); !sums(r, "all of it") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// killed kills the host and its bridge, and resumes the run.
func (m *made) killed(s *script) *script {
	m.t.Helper()
	pid, ok := childNamed(s.cmd.Process.Pid, "bridge")
	if !ok {
		m.t.Skip("no /proc here")
	}
	made := map[string]bool{} // the agents of the make
	for _, l := range s.lines {
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

// killedPlay: each message begins a command that a kill cuts off.
const killedPlay = `name: killed
title: Killed again and again
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: '[[shell touch cut-1; sleep 600]]'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is done
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, reason: r, message: '[[shell touch cut-2; sleep 600]]'}
      - expect: It is done
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, reason: r, message: '[[shell touch cut-3; sleep 600]]'}
      - expect: It is done
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, reason: r, message: '[[shell touch cut-4; sleep 600]]'}
      - expect: It is done
        verdict: {decision: COMPLETE, message: It is done., summary: all of it, reason: r}
    otherwise:
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
`

// TestAnotherMakeIsKilledAgainAndAgain: the host and its bridge are killed in every turn, with a question open or with
// a command running. Each message is in the conversation of the make exactly once. A make that is killed before it has
// saved the message begins afresh, or gets it again: here it has saved it.
func TestAnotherMakeIsKilledAgainAndAgain(t *testing.T) {
	for _, name := range []string{"fake", "opencode", "claude-acp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMade(t, name)
			s := m.start(killedPlay)
			given := map[string]bool{}
			note := func() {
				for _, l := range s.lines {
					if b, ok := l.Body.(contract.Delivered); ok && l.ID == "orch-1" {
						given[b.MessageID] = true
					}
				}
			}
			for i := range 4 {
				if i%2 == 0 {
					await[contract.PermissionRequest](s, "a request", func(id string, _ contract.PermissionRequest) bool {
						return id == "orch-1"
					})
				} else {
					s.permits("orch-1", bridge.Allow)
					awaitFile(t, filepath.Join(m.work, fmt.Sprintf("cut-%d", i+1)))
				}
				next := m.killed(s)
				note()
				s = next
			}
			if r := s.finish(contract.ExitComplete); !sums(r, "all of it") {
				t.Errorf("result %+v", r)
			}
			note()
			told := map[string]int{}
			for _, found := range envelopeID.FindAllStringSubmatch(m.told(), -1) {
				told[found[1]]++
			}
			if len(given) < 4 || len(told) != len(given) {
				t.Errorf("%d messages were given, and %d are in the conversation", len(given), len(told))
			}
			for id := range given {
				if told[id] != 1 {
					t.Errorf("message %s is in the conversation %d times", id, told[id])
				}
			}
		})
	}
}

// told is the longest conversation of the make: its model gets all of it each time.
func (m *made) told() (longest string) {
	texts := []string{}
	if m.model != nil {
		texts = m.model.Requests()
	}
	files, _ := filepath.Glob(filepath.Join(m.home, ".fake-acp", "*[0-9]"))
	for _, file := range files {
		texts = append(texts, textOf(m.t, file))
	}
	for _, text := range texts {
		if len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// failPlay: the model of the other make fails, and Claude does the work.
const failPlay = `name: fail
title: Fail
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {make: none, prompt: x}},
              {tool: mcp__arbiter__spawn_orchestrator, input: {make: other, prompt: '[[fail 401]]'}}]
      - expect: 'There is no make "none". Makes: claude, other'
        verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: orch-1
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: It fails.}},
              {tool: mcp__arbiter__spawn_orchestrator, input: {successor_of: none, prompt: Do it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is done
        verdict: {decision: COMPLETE, message: It is done., summary: by Claude, reason: r}
` + arbiterWaits + `
  - name: claude
    match: {role: orchestrator}
    otherwise:
      verdict: {expects_response: true, kind: done, message: It is done., handoff: {accomplished: [a], remaining: [],
        key_context: none}}
`

// TestAnotherMakeFails: a make whose model fails, openly or as if all were well, or that does not start, does not end
// the run: the Arbiter gets a message about it. (claude-acp repeats such a request for minutes.)
func TestAnotherMakeFails(t *testing.T) {
	for _, name := range []string{"fake", "opencode", "codex", "gemini", "copilot", "fake end-turn", "fake unasked"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, trap, _ := strings.Cut(name, " ")
			m := newMade(t, name, acptest.TrapsEnv+"="+trap)
			if trap == "unasked" { // a make that is not known to ask does not start without a sandbox
				raw := testkit.Must(os.ReadFile(m.config))(t)
				raw = []byte(strings.Replace(string(raw), "like: opencode", "like: unknown", 1))
				testkit.OK(t, os.WriteFile(m.config, raw, 0o600))
			}
			s := m.start(failPlay)
			if r := s.finish(contract.ExitComplete); !sums(r, "by Claude") {
				t.Errorf("result %+v", r)
			}
			var told []string
			for _, l := range s.lines {
				if b, ok := l.Body.(contract.Error); ok && l.ID == "orch-1" {
					told = append(told, b.Message)
				}
			}
			want := map[string]string{"": "401", "unasked": "use --sandbox, or set makes.other.accept_unasked to true"}[trap]
			switch name {
			case "codex":
				want = "Authentication required"
			case "copilot":
				want = ""
			}
			if text := strings.Join(told, "\n"); !strings.Contains(text, want) {
				t.Errorf("told %q", text)
			}
		})
	}
}

// opinionPlay: Claude builds, and another make reviews.
const opinionPlay = `name: second-opinion
title: A second opinion
allow: [Write, "Bash(grep *)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Build it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is built
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {mode: reviewer, make: other, successor_of: none, prompt:
          'Review it. [[read {{.cwd}}/made.txt]] [[write {{.cwd}}/made.txt|mended]]
          [[verdict {"expects_response":true,"kind":"done","message":"It is reviewed.","handoff":{"accomplished":["read"],
          "remaining":[],"key_context":"none","checks":[{"command":"grep -c bug made.txt","expect":"1"},
          {"command":"grep -c leak made.txt","expect":"1"}],"claims":[{"claim":"There is a bug.","verified":true,"check":1},
          {"claim":"There is a leak.","verified":true,"check":2}]}}]]'}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (?s)It is reviewed.*[^N]VERIFIED[^\n]*There is a bug.*REFUTED[^\n]*There is a leak
        verdict: {decision: COMPLETE, message: It is done., summary: one of two findings is proven, reason: r}
    otherwise:
      - {expect: COMPLETE, verdict: {decision: COMPLETE, message: It is done., summary: one of two findings is proven,
          reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: claude
    match: {role: orchestrator}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/made.txt", content: "a bug\n"}}]
      - verdict: {expects_response: true, kind: done, message: It is built., handoff: {accomplished: [a], remaining: [],
          key_context: none, files: [made.txt]}}
`

// TestSecondOpinion: what a reviewer of another make finds comes with checks, and only what they reproduce is proven.
// Its mode holds for it: it changes nothing.
func TestSecondOpinion(t *testing.T) {
	withEach(t, func(t *testing.T, m *made) {
		play := opinionPlay
		if slices.Contains(endTurns, m.name) {
			play = strings.Replace(play, "[[write {{.cwd}}/made.txt|mended]]", "", 1)
		}
		s := m.start(play)
		if r := s.finish(contract.ExitFailed); !strings.Contains(r.Summary, "one of two findings is proven") ||
			len(r.Failing) != 1 { // a finding that does not reproduce stays open
			t.Errorf("result %+v", r)
		}
		if raw, err := os.ReadFile(filepath.Join(m.work, "made.txt")); err != nil || string(raw) != "a bug\n" {
			t.Errorf("made.txt: %q, %v", raw, err)
		}
		var proofs []string
		for _, l := range s.lines {
			if b, ok := l.Body.(contract.Handoff); ok && l.ID == "orch-2" && len(b.Proofs) > 0 {
				proofs = b.Proofs
			}
		}
		if !slices.Equal(proofs, []string{"verified", "refuted"}) {
			t.Errorf("proofs %q", proofs)
		}
	})
}
