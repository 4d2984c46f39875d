package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func TestRunIsPrinted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{}, newFake())
		s.expect("Speak, mortal.\n")
		s.typeLines("", "Write a parser.")
		s.expect("So it shall be.\n")
		testkit.Same(t, "", []string{"Write a parser."}, s.host.tasks)
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
		s.typeLines("That.", "//literally", "!git push", "!!now")
		want := []contract.CommandBody{contract.Say{Text: "That."}, contract.Say{Text: "/literally"},
			contract.Say{Text: "!now"}}
		testkit.Same(t, "", want, s.host.puts)
		testkit.Same(t, "the answer to a text is known by", "message", s.host.ref)
		s.expect("! needs a screen: use another terminal; to send the line as text, begin with !!\n")
		s.emit("arbiter", contract.Question{Text: "This or that?"}) // asked again
		s.expect("The Arbiter asks: This or that?\nType your answer.\n\n")
		s.emit("human", contract.Rejected{Message: "no such agent"})
		s.expect("Refused: no such agent.\n")
		s.emit("supervisor", contract.Result{Status: "complete", Summary: "The parser stands", CostUSD: 1.5,
			DurationMS: 61_000, Iterations: 1, Checks: &contract.Checks{Passed: 2}})
		s.expect("It is done. The parser stands. $1.50, 1 min 01 s, 1 iteration. Checks: 2 passed, 0 failed, 0 unproven.\n")
		testkit.Works(t, "end", s.end())
	})
}

func TestPermissionIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Begin: true}, newFake())
		ask := contract.PermissionRequest{Request: "r-9", Tool: "Bash",
			Input: json.RawMessage(`{"command":"rm -rf build\nls"}`), Reason: "It deletes"}
		s.emit("orch-1", ask)
		s.emit("orch-1", ask)
		s.expect("Request 1. Orchestrator I asks to use Bash:\n\n    rm -rf build\n    ls\n\nWhy it asks: It " +
			"deletes\nAnswer with: 1 y, 1 run (this very action, for the whole run), 1 always (in later runs here, too), or 1 " +
			"n REASON.\n\n")
		s.emit("orch-2",
			contract.PermissionRequest{Request: "r-10", Tool: "Read",
				Input: json.RawMessage(`{"file_path":"/etc/passwd","limit":5}`)})
		s.expect("Request 2. Orchestrator II asks to use Read:\n\n    file_path: /etc/passwd\n    limit: 5\nAnswer " +
			"with: 2 y, 2 run (this very action, for the whole run), 2 always (in later runs here, too), or 2 n REASON.\n\n")
		s.typeLines("y")
		s.expect("Say which: 1 y, 1 run, 1 always, or 1 n REASON. 2 y, 2 run, 2 always, or 2 n REASON.\n")
		s.typeLines("2 n it is not yours", "run the tests, please", "1 RUN")
		want := []contract.CommandBody{
			contract.Permit{Request: "r-10", Behavior: "deny", Message: "it is not yours"},
			contract.Say{Text: "run the tests, please"},
			contract.Permit{Request: "r-9", Behavior: "allow", Scope: "run"},
		}
		testkit.Same(t, "", want, s.host.puts)
		s.emit("orch-2", contract.Permission{Request: "r-10", Behavior: "deny", By: "human", Tool: "Read"})
		s.emit("orch-1", contract.Permission{Request: "r-9", Behavior: "deny", By: "timeout", Tool: "Bash"})
		s.emit("orch-1", contract.Permission{Request: "r-11", Behavior: "deny", By: "rule", Tool: "Bash"})
		s.expect("Request 2: Denied by the human: Read for Orchestrator II.\nRequest 1: Denied because nobody answered in " +
			"time: Bash for Orchestrator I.\n")
		s.emit("orch-1", contract.PermissionRequest{Request: "r-12", Tool: "Elicitation",
			Input: json.RawMessage(`{"server":"maps","message":"Which region?"}`)})
		s.expect("Request 3. Orchestrator I asks to use Elicitation:\n\n    server: maps\n    message: Which region?\n" +
			"Answer with: 3 y ANSWER, or 3 n REASON.\n\n")
		s.emit("orch-1", contract.Permission{Request: "r-12", Behavior: "deny", By: "timeout", Tool: "Elicitation"})
		s.expect("Request 3: Denied because nobody answered in time: Elicitation for Orchestrator I.\n")
		s.typeLines("y") // no request is open: this is a normal message
		got := s.host.puts[len(s.host.puts)-1]
		testkit.Check(t, cmp.Equal(got, contract.CommandBody(contract.Say{Text: "y"})), "put %v", got)
		s.end()
	})
}

// TestPlainAnswers: only an unambiguous line gives permission.
func TestPlainAnswers(t *testing.T) {
	open := func(id string, rules ...string) supervisor.InboxItem {
		return supervisor.InboxItem{ID: id, Request: &contract.PermissionRequest{Tool: "Bash", Action: "a" + id,
			Suggestions: rules}}
	}
	v := &narrator{open: []supervisor.InboxItem{open("c", "Bash(go *)", "Bash"), open("l")},
		numbers: map[string]int{"c": 3, "l": 12}}
	type plainAnswer struct {
		contract.Permit
		problem string
	}
	allow := func(id, scope string) plainAnswer {
		return plainAnswer{Permit: contract.Permit{Request: id, Behavior: "allow", Scope: scope, Action: "a" + id}}
	}
	by := func(id, scope, rule string) plainAnswer { a := allow(id, scope); a.Rule = rule; return a }
	deny := func(reason string) plainAnswer {
		return plainAnswer{Permit: contract.Permit{Request: "c", Action: "ac", Behavior: "deny", Message: reason}}
	}
	for line, want := range map[string]plainAnswer{
		"3 y": allow("c", "once"), "y 3": allow("c", "once"), " 12  Yes ": allow("l", "once"),
		"3 run": allow("c", "run"), "run 12": allow("l", "run"), "3 n": deny(""),
		"n 3 use make":     deny("use make"),
		"3 no use  make":   deny("use make"),
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
		body, problem := v.answer(line)
		permit, _ := body.(contract.Permit) // none
		got := (plainAnswer{permit, problem})
		testkit.Check(t, got == want, "%q: %+v, want %+v", line, got, want)
	}
	v.open = nil
	body, problem := v.answer("3 y")
	testkit.Check(t, body == nil && problem == "", "with no request open: %+v %s", body, problem)
}

func TestInputEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{Task: "Go."}, newFake())
		s.in.Close()
		synctest.Wait()
		testkit.Check(t, s.host.ended == 1 && s.host.stops == 0, "ended %d, stopped %d", s.host.ended, s.host.stops)
		testkit.Works(t, "end", s.end())
	})
	synctest.Test(t, func(t *testing.T) {
		s := play(t, &Frontend{}, newFake())
		s.in.Close()
		testkit.Fails(t, "the end", <-s.ended, ErrNoTask)
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
		diff := cmp.Diff([]contract.CommandBody{contract.Say{Text: "and this, without a newline"}}, host.puts)
		testkit.Check(t, diff == "" && host.ended == 1, "ended %d, put %s", host.ended, diff)
		s.end()
	})
}

func TestBeginFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		host.fail = errors.New("no claude")
		s := play(t, &Frontend{Task: "Go."}, host)
		testkit.Fails(t, "the end", <-s.ended, host.fail)
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
			testkit.Check(t, early == errors.Is(err, context.Canceled) && (early || err == nil && host.stops == 1),
				"early %v: error %v, stopped %d times", early, err, host.stops)
			s.in.Close()
		})
	}
	synctest.Test(t, func(t *testing.T) { // before anything was asked
		s := play(t, &Frontend{}, newFake())
		s.cancel()
		testkit.Works(t, "the end", <-s.ended)
		s.in.Close()
	})
}

func TestCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		host.commands = map[string]string{"/cost": "$1"}
		s := play(t, &Frontend{Begin: true}, host)
		s.typeLines("/cost", "/brew tea")
		s.expect("$1\nThere is no command /brew; /help lists them. To send it as text, begin with two slashes.\n")
		s.end()
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
		testkit.Same(t, "", want, s.host.puts)
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

// TestSilenceIsSaid: that a run does not answer is said once, and that it does again.
func TestSilenceIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		s := play(t, &Frontend{Begin: true}, host)
		at := time.Now()
		for _, c := range []struct {
			since time.Time
			says  string
		}{
			{time.Time{}, ""},
			{at, "The run has not answered since " + at.Format("15:04:05") + ": its process is stopped, or hangs. What you " +
				"write waits for it; arbiter halt 0a1b2c3d --state-dir /s ends its agents.\n"},
			{at, ""},
			{time.Time{}, "The run answers again.\n"},
		} {
			host.mu.Lock()
			host.silent = c.since
			host.mu.Unlock()
			time.Sleep(silentLook)
			synctest.Wait()
			s.expect(c.says)
		}
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

// TestInbox: the number of waiting items is reported after they have waited for a minute, again when it
// changes, and every ten minutes; /inbox lists them, with the numbers for answers.
func TestInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var list []supervisor.InboxItem
		waits := func(items ...supervisor.InboxItem) { mu.Lock(); list = items; mu.Unlock() }
		host := newFake()
		host.inbox = func() []supervisor.InboxItem { mu.Lock(); defer mu.Unlock(); return list }
		s := play(t, &Frontend{Begin: true}, host)
		passes := func(d time.Duration) { time.Sleep(d); synctest.Wait() }
		s.typeLines("/inbox")
		s.expect("Nothing waits for you.\n")
		leave := supervisor.InboxItem{ID: "r-9", Kind: supervisor.InboxPermission, Agent: "orch-1", Text: "Bash: make",
			Since: time.Now(), Request: &contract.PermissionRequest{Request: "r-9", Tool: "Bash"}}
		s.emit("orch-1", contract.PermissionRequest{Request: "r-9", Tool: "Bash",
			Input: json.RawMessage(`{"command":"make"}`)})
		s.output()
		waits(leave)
		passes(progressPause)
		s.expect("Something waits for you, the first for 1 min: /inbox lists what for.\n")
		question := supervisor.InboxItem{ID: "question-1", Kind: supervisor.InboxQuestion, Agent: "arbiter",
			Text: "This\nor that?", Since: time.Now()}
		waits(
			leave,
			question,
			supervisor.InboxItem{ID: "recovery-orch-2", Kind: supervisor.InboxRecovery, Agent: "orch-2", Optional: true,
				Choices: []string{"retry", "skip"}, Text: "failed", Since: time.Now()},
		)
		passes(progressPause)
		s.expect("2 things wait for you, the first for 2 min: /inbox lists what for.\n")
		passes(9 * progressPause)
		s.expect("")
		passes(progressPause)
		s.expect("2 things wait for you, the first for 12 min: /inbox lists what for.\n")
		s.typeLines("/inbox")
		s.expect("2 things wait for you.\n" +
			"1. Orchestrator I asks permission, for 12 min: answer with 1 y, 1 run, 1 always, or 1 n REASON.\n" +
			"    Bash: make\n" +
			"2. The Arbiter asks, for 11 min: your next word to the Arbiter is the answer, or /answer 2 TEXT.\n" +
			"    This\n    or that?\n" +
			"3. Orchestrator II has failed, for 11 min, can wait: /answer 3 retry, or skip.\n\n")
		waits()
		passes(20 * progressPause)
		s.expect("")
		s.end()
	})
}

// TestAnswerInbox: items that /inbox lists are answered by number, also those from before the frontend
// started; all requests can be answered at once only after they were listed.
func TestAnswerInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leave := func(id, agent string) supervisor.InboxItem {
			return supervisor.InboxItem{ID: id, Kind: supervisor.InboxPermission, Agent: agent, Text: "Bash: go test ./" + id,
				Since: time.Now(),
				Request: &contract.PermissionRequest{Request: id, Action: "hash of " + id,
					Suggestions: []string{"Bash(go test *)"}}}
		}
		list := []supervisor.InboxItem{leave("a", "orch-1"), leave("b", "orch-2"),
			{ID: "question-1", Kind: supervisor.InboxQuestion, Agent: "arbiter", Text: "This or that?", Since: time.Now()},
			{ID: "trust", Kind: supervisor.InboxTrust, Text: "It has changed.", Choices: []string{"trust", "without"},
				Since: time.Now()}}
		host := newFake()
		host.inbox, host.covered = func() []supervisor.InboxItem { return list }, []string{"a", "b", "gone"}
		s := play(t, &Frontend{Begin: true}, host)
		took := func(want ...contract.CommandBody) {
			t.Helper()
			host.mu.Lock()
			defer host.mu.Unlock()
			testkit.Same(t, "the run was told", want, host.puts)
			host.puts = nil
		}
		s.typeLines("/inbox")
		s.expect("4 things wait for you.\n" +
			"1. Orchestrator I asks permission, just now: answer with 1 y, 1 run, 1 always, or 1 n REASON.\n" +
			"    Bash: go test ./a\n    1 run a allows Bash(go test *), which also settles 2: every command that begins with " +
			"`go test` (its options can run programs).\n" +
			"2. Orchestrator II asks permission, just now: answer with 2 y, 2 run, 2 always, or 2 n REASON.\n" +
			"    Bash: go test ./b\n    2 run a allows Bash(go test *), which also settles 1: every command that begins with " +
			"`go test` (its options can run programs).\n" +
			"3. The Arbiter asks, just now: your next word to the Arbiter is the answer, or /answer 3 TEXT.\n" +
			"    This or that?\n" +
			"4. The workspace needs your trust, just now: /answer 4 trust, or without.\n    It has changed.\n" +
			"/answer all y allows these 2 requests once, /answer all n denies them.\n\n")
		s.typeLines("/answer 1 run a", "/answer 2 n not that", "/answer 3 That one", "/answer 4 without")
		took(contract.Permit{Request: "a", Behavior: "allow", Scope: "run", Rule: "Bash(go test *)",
			Action: "hash of a"},
			contract.Permit{Request: "b", Behavior: "deny", Message: "not that", Action: "hash of b"},
			contract.Say{Text: "That one"}, contract.Choose{Option: "without"})
		for line, want := range map[string]string{
			"/answer 9 y":      "Nothing waits under number 9: /inbox lists what does.",
			"/answer x":        "Say which: /inbox lists",
			"/answer 1 please": "That was not taken, answer with y, run, always, or n REASON: answer with 1 y",
			"/answer 3":        "That was not taken, write the answer: ",
			"/answer 4 maybe":  "That was not taken, answer with trust, or without: /answer 4 trust, or without.",
			"/answer all":      "Say /answer all y, or /answer all n.", "/answer all always": "Say /answer all y",
		} {
			s.typeLines(line)
			got := s.output()
			testkit.Check(t, strings.Contains(got, want), "%s: said %q", line, got)
		}
		const which = "That allows 2 permission requests:\n    1. Orchestrator I asks permission: Bash: go test ./a\n" +
			"    2. Orchestrator II asks permission: Bash: go test ./b\nTo do it, say /answer all y 2.\n\n"
		s.typeLines("/answer all y 2")
		s.expect(which)
		asked := leave("d", "orch-1")
		asked.Request.Tool = "Elicitation" // of an MCP server: each has an answer of its own
		list = append(list[1:], leave("c", "orch-1"), asked)
		s.typeLines("/answer all y 2") // these are other requests
		took()
		s.output()
		s.typeLines("/answer all y 2")
		took(contract.Permit{Request: "b", Behavior: "allow", Scope: "once", Action: "hash of b"},
			contract.Permit{Request: "c", Behavior: "allow", Scope: "once", Action: "hash of c"})
		s.end()
	})
}

// FuzzLines: any input, in any pieces, becomes its lines, and only a line that contains nothing else gives
// permission.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "a", "a\nb", "a\r\n\r\n", "1 y\n1 run\n1 n why\nrun 1 2\ny", "\xff\x00\n\ufeffx",
		strings.Repeat("z", 70_000) + "\nq"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got []string
		lines := make(chan inputLine)
		go listen(iotest.HalfReader(bytes.NewReader(data)), lines, nil) // ends with its last line
		for h := <-lines; !h.end; h = <-lines {
			got = append(got, h.text)
		}
		want := strings.Split(string(data), "\n")
		if last := len(want) - 1; want[last] == "" {
			want = want[:last]
		}
		testkit.Need(t, len(got) == len(want), "%d lines, want %d", len(got), len(want))
		v := &narrator{open: []supervisor.InboxItem{{ID: "r", Request: &contract.PermissionRequest{}}},
			numbers: map[string]int{"r": 1}}
		for i := range want {
			w := strings.ToValidUTF8(strings.TrimRight(want[i], "\r"), "\uFFFD")
			if i == 0 {
				w = strings.TrimPrefix(w, "\ufeff")
			}
			testkit.Same(t, fmt.Sprintf("line %d", i), w, got[i])
			body, _ := v.answer(got[i])
			p, ok := body.(contract.Permit)
			testkit.Check(t, !ok || p.Behavior != "allow" || len(strings.Fields(got[i])) == 2, "%q gave leave", got[i])
		}
	})
}

// TestQuestionIsAskedAgain: an open question of a resumed run is printed once, and one that was answered, in whatever
// way, is printed when it is asked again.
func TestQuestionIsAskedAgain(t *testing.T) {
	v := newNarrator(false, eventtext.Name)
	asked := 0
	ask := contract.Event{ID: contract.Arbiter, Body: contract.Question{Text: "Shall I go on?", Question: "question-1"}}
	for _, e := range []contract.Event{ask, {ID: contract.Supervisor, Body: contract.Session{Resumed: true}}, ask,
		{ID: contract.Arbiter, Body: contract.Settled{Item: "question-1"}}, ask} {
		if text, _ := v.describe(time.Now(), e); strings.Contains(text, "Shall I") {
			asked++
		}
	}
	testkit.Same(t, "it is printed", 2, asked)
}

// TestDocumentIsReadOnce: the document is shown with its author's message; its hand-off to a reader is one
// sentence.
func TestDocumentIsReadOnce(t *testing.T) {
	v := newNarrator(false, eventtext.Name)
	d := &verdict.Document{Accomplished: []string{"one", "two"}, KeyContext: "port 8080"}
	printed := ""
	for _, e := range []contract.Event{
		{ID: "orch-1", Body: contract.Message{From: "orch-1", To: "arbiter", Kind: "handoff",
			Text: "Enough.\n\n" + d.Markdown()}},
		{ID: "orch-1", Body: contract.Handoff{From: "orch-1", To: "orch-2", Document: d}},
		{ID: "arbiter", Body: contract.Message{From: "arbiter", To: "orch-2", Kind: "brief",
			Text: "Go on.\n\n## Handed over by Orchestrator I (orch-1)\n\n" + d.Markdown()}},
	} {
		text, _ := v.describe(time.Now(), e)
		printed += text + "\n"
	}
	n := strings.Count(printed, "port 8080")
	testkit.Check(t, n == 1, "it is read %d times:\n%s", n, printed)
	testkit.Includes(t, "what is printed", printed,
		"Orchestrator I hands off to Orchestrator II: 2 accomplished.", "Go on.",
		"goes with it")
}

// TestModelOutputIsPlainText: every event with any text in all of its fields, and an unknown command, is reported
// without characters that a terminal acts on, or that hide or reorder.
func TestModelOutputIsPlainText(t *testing.T) {
	testkit.WithoutRace(t)
	for i, c := range corpus.ModelOutput(t, "../../../..") {
		asciiOnly := i%4 == 3
		synctest.Test(t, func(t *testing.T) {
			host := newFake()
			host.name = func(string) string { return c.Text }
			s := play(t, &Frontend{Begin: true, Verbose: true, ASCII: asciiOnly}, host)
			defer s.end()
			printed := 0
			plain := func(what string) {
				t.Helper()
				text := s.output()
				printed += len(text)
				for _, r := range text {
					testkit.Need(t, !alien(r) && (!asciiOnly || r <= '~'), "%s: %s: said %U in %.300q", c.Name, what, r, text)
				}
			}
			for j, b := range contract.Events() {
				if c.Large() && (i+j)%9 != 0 {
					continue
				}
				body := corpus.Filled(reflect.TypeOf(b), c.Text).Interface().(contract.Body)
				s.host.sink(time.Now(), contract.Event{ID: c.Text, Body: body})
				synctest.Wait()
				plain(b.EventName())
			}
			s.typeLines("/" + strings.Join(strings.Fields(c.Text), " "))
			plain("a command")
			testkit.Check(t, printed >= 40, "%s: %d bytes were told", c.Name, printed)
		})
	}
}

// alien reports whether a terminal acts on a character, or a reader cannot see it.
func alien(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r == '\u200c' || r == '\u200d': // if they join visible characters
		return false
	case strings.ContainsRune("\u2028\u2029\u2060\ufeff\u00ad\u115f\u3164", r):
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// TestReaderGoesAway: an output that accepts no data blocks neither the run nor its end, and the queue for
// it is bounded.
func TestReaderGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		r, w := io.Pipe()
		in, feed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- (&Frontend{Begin: true}).Run(t.Context(), in, w, host) }()
		synctest.Wait()
		notice := contract.Event{ID: "supervisor", Body: contract.Notice{Text: strings.Repeat("n", 1000)}}
		for range 20_000 {
			host.sink(time.Now(), notice) // if it blocks, the test hangs
		}
		synctest.Wait()
		for range 3 {
			host.sink(time.Now(),
				contract.Event{ID: "arbiter", Body: contract.Question{Text: fmt.Sprint("Well? ", time.Now())}})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		buf := make([]byte, 8<<20)
		n, err := r.Read(buf)
		for err == nil && !bytes.Contains(buf[:n], []byte("left out")) && n < 7<<20 {
			var more int
			more, err = r.Read(buf[n:])
			n += more
		}
		if text := string(buf[:n]); n > 2<<20 || strings.Count(text, "Well?") != 3 ||
			!strings.Contains(text, "announcements left out") {
			t.Errorf("%d bytes, %d questions, error %v", n, strings.Count(text, "Well?"), err)
		}
		host.sink(time.Now(), notice)
		host.end()
		testkit.Fails(t, "the end", <-ended, "nobody reads")
		r.Close()
		feed.Close()
	})
}

// TestOutputIsClosed: when the output is closed, the run is stopped, and can be resumed.
func TestOutputIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		r, w := io.Pipe()
		r.Close()
		in, feed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- (&Frontend{Begin: true}).Run(t.Context(), in, w, host) }()
		synctest.Wait()
		host.sink(time.Now(), contract.Event{ID: "supervisor", Body: contract.Notice{Text: "x"}})
		err := <-ended
		testkit.Check(t, errors.Is(err, io.ErrClosedPipe) && host.stops == 1, "error %v, stopped %d times", err, host.stops)
		feed.Close()
	})
}

// fake is a host and its run.
type fake struct {
	mu     sync.Mutex
	silent time.Time
	sink   runloop.Sink
	tasks  []string
	puts   []contract.CommandBody
	ref    string // of the last one
	ended  int
	stops  int
	fail   error
	hold   chan struct{} // Begin waits for it
	done   chan struct{}
	once   sync.Once

	commands map[string]string // what they say
	name     func(id string) string
	inbox    func() []supervisor.InboxItem
	covered  []string // by any rule
}

func newFake() *fake {
	return &fake{done: make(chan struct{}), name: eventtext.Name, inbox: func() []supervisor.InboxItem { return nil }}
}

func (f *fake) Run(line string) (bool, string) {
	text, ok := f.commands[line]
	return ok, text
}

func (f *fake) Name(id string) string         { return f.name(id) }
func (f *fake) Inbox() []supervisor.InboxItem { return f.inbox() }
func (f *fake) Covers(string) []string        { return f.covered }

func (f *fake) Begin(ctx context.Context, task string, sink runloop.Sink) (PlainRun, error) {
	if f.hold != nil {
		select {
		case <-f.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tasks = append(f.tasks, task)
	if f.fail != nil {
		return nil, f.fail
	}
	f.sink = sink
	return f, nil
}

func (f *fake) Put(c contract.Command) string {
	select {
	case <-f.done:
		return NotTaken
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.puts, f.ref = append(f.puts, c.Body), c.Ref
	return ""
}

func (f *fake) Left() <-chan struct{} { return nil }
func (f *fake) Named() string         { return "0a1b2c3d --state-dir /s" }

func (f *fake) Silent() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.silent
}
func (f *fake) InputEnded() { f.mu.Lock(); f.ended++; f.mu.Unlock() }
func (f *fake) Stop()       { f.mu.Lock(); f.stops++; f.mu.Unlock(); f.end() }
func (f *fake) end()        { f.once.Do(func() { close(f.done) }) }

func (f *fake) Done() <-chan struct{} { return f.done }

// stage is a frontend that runs, in a bubble.
type stage struct {
	t      *testing.T
	host   *fake
	out    *testkit.Buffer
	in     *io.PipeWriter
	cancel context.CancelFunc
	ended  chan error
}

func play(t *testing.T, f *Frontend, host *fake) *stage {
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := &stage{t: t, host: host, out: &testkit.Buffer{}, in: w, cancel: cancel, ended: make(chan error, 1)}
	go func() { s.ended <- f.Run(ctx, r, s.out, host) }()
	synctest.Wait()
	return s
}

// typeLines types lines.
func (s *stage) typeLines(lines ...string) {
	s.t.Helper()
	for _, l := range lines {
		io.WriteString(s.in, l+"\n")
	}
	synctest.Wait()
}

// emit makes the run report an event.
func (s *stage) emit(id string, b contract.Body) {
	s.host.sink(time.Now(), contract.Event{ID: id, Body: b})
	synctest.Wait()
}

// output returns the output since its last call.
func (s *stage) output() string { return s.out.Take() }

func (s *stage) expect(want string) {
	s.t.Helper()
	testkit.Same(s.t, "said", want, s.output())
}

func (s *stage) end() error {
	s.host.end()
	err := <-s.ended
	s.in.Close()
	synctest.Wait()
	return err
}
