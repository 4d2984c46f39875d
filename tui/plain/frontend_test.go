package plain

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func TestRunIsPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{}, newFake())
		s.expect("Speak, mortal.\n")
		s.typeLines("", "Write a parser.")
		s.expect("So it shall be.\n")
		if diff := cmp.Diff([]string{"Write a parser."}, s.host.tasks); diff != "" {
			t.Error(diff)
		}
		s.emit("supervisor", contract.Session{ClaudeVersion: "2.1.329", CWD: "/p", Rehearsal: true,
			Permissions: "allow-all"})
		s.expect("The weaving begins. Claude Code 2.1.329, in /p. Rehearsal. Everything is allowed.\n")
		s.emit("orch-1", contract.Spawn{Name: "Orchestrator I", Mode: "developer"})
		s.expect("Orchestrator I is summoned as developer.\n")
		s.emit("arbiter", contract.Delta{Text: "no"})
		s.emit("arbiter", contract.Decision{Decision: "SELECT_MODE", Source: "session"})
		s.emit("orch-1", contract.Context{Pct: 70})
		s.emit("orch-1", contract.Assistant{Text: "hm"})
		s.emit("supervisor", contract.Message{From: "supervisor", To: "orch-1", Kind: "continue", Text: "Continue."})
		s.expect("")
		s.emit("orch-1", contract.ContextWarning{Pct: 71.3, Level: "warn"})
		s.expect("Context of Orchestrator I: 71 percent, warning.\n")
		s.emit("orch-1",
			contract.Message{From: "orch-1", To: "arbiter", Kind: "question", Text: "Which?\n\n1. this\n2. that"})
		s.expect("Orchestrator I to the Arbiter, question:\n\nWhich?\n\n1. this\n2. that\n\n")
		for range 2 { // reported again when the run is resumed
			s.emit("arbiter", contract.Question{Text: "This or that?"})
		}
		s.expect("The Arbiter asks: This or that?\nType your answer.\n\n")
		s.typeLines("That.", "//literally")
		want := []contract.CommandBody{contract.Say{Text: "That."}, contract.Say{Text: "/literally"}}
		if diff := cmp.Diff(want, s.host.puts); diff != "" {
			t.Error(diff)
		}
		s.emit("arbiter", contract.Question{Text: "This or that?"}) // asked again
		s.expect("The Arbiter asks: This or that?\nType your answer.\n\n")
		s.emit("human", contract.Rejected{Message: "no such agent"})
		s.expect("Refused: no such agent.\n")
		s.emit("supervisor", contract.Result{Status: "complete", Summary: "The parser stands", CostUSD: 1.5,
			DurationMS: 61_000, Iterations: 1, Checks: &contract.Checks{Passed: 2}})
		s.expect("It is done. The parser stands. $1.50, 1 min 01 s, 1 iteration. Checks: 2 passed, 0 failed, 0 unproven.\n")
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
}

func TestPermissionIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		ask := contract.PermissionRequest{Request: "r-9", Tool: "Bash",
			Input: json.RawMessage(`{"command":"rm -rf build\nls"}`), Reason: "It deletes"}
		s.emit("orch-1", ask)
		s.emit("orch-1", ask)
		s.expect("Request 1. Orchestrator I asks leave to use Bash:\n\n    rm -rf build\n    ls\n\nWhy it asks: It " +
			"deletes\nAnswer with: 1 y, 1 run (this very action, for the whole run), 1 always (in later runs here, too), or 1 " +
			"n REASON.\n\n")
		s.emit("orch-2",
			contract.PermissionRequest{Request: "r-10", Tool: "Read",
				Input: json.RawMessage(`{"file_path":"/etc/passwd","limit":5}`)})
		s.expect("Request 2. Orchestrator II asks leave to use Read:\n\n    file_path: /etc/passwd\n    limit: 5\nAnswer " +
			"with: 2 y, 2 run (this very action, for the whole run), 2 always (in later runs here, too), or 2 n REASON.\n\n")
		s.typeLines("y")
		s.expect("Say which: 1 y, 1 run, 1 always, or 1 n REASON. 2 y, 2 run, 2 always, or 2 n REASON.\n")
		s.typeLines("2 n it is not yours", "run the tests, please", "1 RUN")
		want := []contract.CommandBody{
			contract.Permit{Request: "r-10", Behavior: "deny", Message: "it is not yours"},
			contract.Say{Text: "run the tests, please"},
			contract.Permit{Request: "r-9", Behavior: "allow", Scope: "run"},
		}
		if diff := cmp.Diff(want, s.host.puts); diff != "" {
			t.Error(diff)
		}
		s.emit("orch-2", contract.Permission{Request: "r-10", Behavior: "deny", By: "human", Tool: "Read"})
		s.emit("orch-1", contract.Permission{Request: "r-9", Behavior: "deny", By: "timeout", Tool: "Bash"})
		s.emit("orch-1", contract.Permission{Request: "r-11", Behavior: "deny", By: "rule", Tool: "Bash"})
		s.expect("Request 2: Denied by the human: Read for Orchestrator II.\nRequest 1: Denied because nobody answered in " +
			"time: Bash for Orchestrator I.\n")
		s.typeLines("y") // no request is open: this is a normal message
		if got := s.host.puts[len(s.host.puts)-1]; !cmp.Equal(got, contract.CommandBody(contract.Say{Text: "y"})) {
			t.Errorf("put %v", got)
		}
		s.end()
	})
}

// TestAnswers: only an unambiguous line gives permission.
func TestAnswers(t *testing.T) {
	v := &narrator{open: []request{{number: 3, id: "c", action: "ac", rules: []string{"Bash(go *)", "Bash"}},
		{number: 12, id: "l", action: "al"}}}
	allow := func(id, scope string) answer {
		return answer{request: id, behavior: "allow", scope: scope, action: "a" + id}
	}
	by := func(id, scope, rule string) answer { a := allow(id, scope); a.rule = rule; return a }
	for line, want := range map[string]answer{
		"3 y": allow("c", "once"), "y 3": allow("c", "once"), " 12  Yes ": allow("l", "once"),
		"3 run": allow("c", "run"), "run 12": allow("l", "run"), "3 n": {request: "c", action: "ac", behavior: "deny"},
		"n 3 use make":     {request: "c", action: "ac", behavior: "deny", reason: "use make"},
		"3 no use  make":   {request: "c", action: "ac", behavior: "deny", reason: "use make"},
		"3 run a":          by("c", "run", "Bash(go *)"),
		"always 3 B":       by("c", "always", "Bash"),
		"3 always":         allow("c", "always"),
		"3 always c":       {problem: "That was not taken. To allow request 3, say 3 always and nothing more."},
		"3 y a":            {problem: "That was not taken. To allow request 3, say 3 y and nothing more."},
		"12 run a":         {problem: "That was not taken. To allow request 12, say 12 run and nothing more."},
		"always a":         {},
		"hello":            {},
		"3":                {},
		"3 apples":         {},
		"run the tests":    {},
		"no that is wrong": {},
		"yes please go on": {},
		"run 2 tests":      {},
		"4 y": {
			problem: "No request 4 is open. 3 y, 3 run, 3 always, or 3 n REASON. 12 y, 12 run, 12 always, or 12 n REASON."},
		"99999999999999999 y": {},
		"3 y but carefully":   {problem: "That was not taken. To allow request 3, say 3 y and nothing more."},
		"n": {
			problem: "Say which: 3 y, 3 run, 3 always, or 3 n REASON. 12 y, 12 run, 12 always, or 12 n REASON."},
	} {
		if line == "99999999999999999 y" {
			want.problem = "No request 99999999999999999 is open. 3 y, 3 run, 3 always, or 3 n REASON. 12 y, 12 run, 12 " +
				"always, or 12 n REASON."
		}
		if got := v.answer(line); got != want {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
	v.open = nil
	if got := v.answer("3 y"); got != (answer{}) {
		t.Errorf("with no request open: %+v", got)
	}
}

func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Task: "Go."}, newFake())
		s.in.Close()
		synctest.Wait()
		if s.host.ended != 1 || s.host.stops != 0 {
			t.Errorf("ended %d, stopped %d", s.host.ended, s.host.stops)
		}
		if err := s.end(); err != nil {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{}, newFake())
		s.in.Close()
		if err := <-s.ended; !errors.Is(err, ErrNoTask) {
			t.Errorf("error %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // while the run is starting
		host := newFake()
		host.hold = make(chan struct{})
		s := play(t, &Frontend{Task: "Go."}, host)
		io.WriteString(s.in, "and this, without a newline")
		s.in.Close()
		synctest.Wait()
		close(host.hold)
		synctest.Wait()
		if diff := cmp.Diff([]contract.CommandBody{contract.Say{Text: "and this, without a newline"}},
			host.puts); diff != "" || host.ended != 1 {
			t.Errorf("ended %d, put %s", host.ended, diff)
		}
		s.end()
	})
}

func TestBeginFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		host.fail = errors.New("no claude")
		s := play(t, &Frontend{Task: "Go."}, host)
		if err := <-s.ended; !errors.Is(err, host.fail) {
			t.Errorf("error %v", err)
		}
		s.in.Close()
	})
}

func TestCancel(t *testing.T) {
	for _, early := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			host := newFake()
			if early {
				host.hold = make(chan struct{})
			}
			s := play(t, &Frontend{Task: "Go."}, host)
			s.cancel()
			err := <-s.ended
			if early != errors.Is(err, context.Canceled) || !early && (err != nil || host.stops != 1) {
				t.Errorf("early %v: error %v, stopped %d times", early, err, host.stops)
			}
			s.in.Close()
		})
	}
	synctest.Test(t, func(t *testing.T) { // before anything was asked
		s := play(t, &Frontend{}, newFake())
		s.cancel()
		if err := <-s.ended; err != nil {
			t.Error(err)
		}
		s.in.Close()
	})
}

type table map[string]string

func (c table) Run(line string) (bool, string) {
	text, ok := c[line]
	return ok, text
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true, Commands: table{"/cost": "$1"}}, newFake())
		s.typeLines("/cost", "/brew tea")
		s.expect("$1\nThere is no command /brew; /help lists them. To send it as text, begin with two slashes.\n")
		s.end()
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		s.typeLines("/cost", "/quit")
		if err := <-s.ended; err != nil || s.host.stops != 1 {
			t.Errorf("error %v, stopped %d times", err, s.host.stops)
		}
		s.expect("There is no command /cost; there is /quit. To send it as text, begin with two slashes.\nPatience. The " +
			"run is being stopped.\n")
		s.in.Close()
	})
}

func TestLongInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		s.typeLines(strings.Repeat("x", maxLine+1), "short", strings.Repeat("y", maxLine), `"""`, "a", "", "3 y", `"""`,
			`"""`, strings.Repeat("z", maxLine), "z", `"""`)
		s.expect(tooLong + "\n" + tooLong + "\n")
		want := []contract.CommandBody{contract.Say{Text: "short"}, contract.Say{Text: strings.Repeat("y", maxLine)},
			contract.Say{Text: "a\n\n3 y"}}
		if diff := cmp.Diff(want, s.host.puts); diff != "" {
			t.Error(diff)
		}
		s.end()
	})
}

// TestProgressIsThrottled: tools are reported in one line a minute, or each of them.
func TestProgressIsThrottled(t *testing.T) {
	use := contract.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"go test"}`)}
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		for range 100 {
			s.emit("orch-1", use)
			s.emit("orch-1", contract.ToolResult{Text: "ok"})
			s.emit("orch-1", contract.Retry{Attempt: 1, DelayMS: 500, Reason: "overloaded"})
		}
		s.expect("Patience. The API is asked again after 500 ms, attempt 1: overloaded.\n")
		time.Sleep(progressPause)
		synctest.Wait()
		s.expect("Orchestrator I is at work: 100 tools since the last word; the last was Bash: go test.\n")
		time.Sleep(10 * progressPause)
		synctest.Wait()
		s.expect("")
		s.end()
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true, Verbose: true}, newFake())
		s.emit("orch-1", use)
		s.emit("orch-1", contract.Assistant{Text: "I test."})
		s.expect("Orchestrator I uses Bash: go test\nOrchestrator I: I test.\n")
		s.end()
	})
}

func TestPlanIsPrintedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		plan := func(a, b string) contract.Plan {
			return contract.Plan{Steps: []contract.Step{{Text: "Build", Status: a, Agent: "orch-1"},
				{Text: "Test", Status: b}}}
		}
		s.emit("arbiter", plan("active", "pending"))
		s.expect("The plan:\n\n- Build – under way (Orchestrator I)\n- Test – pending\n\n")
		s.emit("arbiter", plan("active", "pending"))
		s.emit("arbiter", plan("done", "active"))
		s.expect("Step 1 of 2, Build: done.\nStep 2 of 2, Test: under way.\n\n")
		s.end()
	})
}
