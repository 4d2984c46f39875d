package rehearsal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

// The effect of each fault on the real CLI, and its cost in requests: every hidden retry consumes a step.
// The streams are "s" with, "w" without (stream: false, the CLI's last resort). Observed with CLI 2.1.329.
func TestLiveFaults(t *testing.T) {
	tests := []struct {
		long    bool // others show as much
		fault   string
		retries string
		forever bool
		result  string // in the result's text
		reason  string // terminal_reason
		streams string
	}{
		{long: true, fault: "status: 401", retries: "0", result: "Failed to authenticate", reason: "api_error",
			streams: "s"},
		{long: true, fault: "status: 401", retries: "1", result: "recovered", reason: "completed", streams: "ss"},
		{long: true, fault: "status: 403", retries: "1", result: "Failed to authenticate", reason: "api_error",
			streams: "s"},
		{long: true, fault: "status: 404", retries: "0", result: "recovered", reason: "completed", streams: "sw"},
		{long: true, fault: "status: 400", retries: "0", result: "recovered", reason: "completed", streams: "ss"},
		{fault: "status: 400", retries: "0", forever: true, result: "Rehearsed failure", reason: "api_error",
			streams: "ssssss"},
		{long: true, fault: "status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum'", retries: "1",
			result: "Prompt is too long", reason: "prompt_too_long", streams: "s"},
		{long: true, fault: "status: 429, headers: {retry-after: '1'}, message: Patience.", retries: "0", result: "Patience.",
			reason: "api_error", streams: "s"},
		{long: true, fault: "status: 500", retries: "1", forever: true, result: "500", reason: "api_error",
			streams: "ss"},
		{long: true, fault: "status: 529", retries: "1", result: "recovered", reason: "completed", streams: "ss"},
		{long: true, fault: "garbage: true", retries: "1", result: "recovered", reason: "completed", streams: "sw"},
		{long: true, fault: "garbage: true", retries: "1", forever: true, result: "JSON Parse error",
			reason: "api_error", streams: "sw"},
		{long: true, fault: "error_event: overloaded_error", retries: "0", result: "recovered", reason: "completed",
			streams: "sw"},
		{long: true, fault: "error_event: overloaded_error", retries: "1", result: "recovered", reason: "completed",
			streams: "ss"},
		{long: true, fault: "error_event: overloaded_error", retries: "1", forever: true, result: "529",
			reason: "api_error", streams: "ssw"},
		{long: true, fault: "error_event: api_error", retries: "0", forever: true, result: "500", reason: "api_error",
			streams: "sw"},
		{long: true, fault: "error_event: api_error", retries: "1", forever: true, result: "500", reason: "api_error",
			streams: "sw"},
		{long: true, fault: "error_event: api_error", retries: "2", forever: true, result: "500", reason: "api_error",
			streams: "sww"},
		{long: true, fault: "cut_after: 4", retries: "0", result: "recovered", reason: "completed", streams: "sw"},
		{fault: "cut_after: 4", retries: "1", forever: true, result: "Connection dropped", reason: "api_error",
			streams: "ssw"},
		{fault: "stall: 300ms", retries: "0", result: "late", reason: "completed", streams: "s"},
		{long: true, fault: "stall_mid: 300ms", retries: "0", result: "late", reason: "completed", streams: "s"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s retries %s forever %v", tt.fault, tt.retries, tt.forever), func(t *testing.T) {
			if tt.long {
				testkit.Long(t)
			}
			t.Parallel()
			repeat := "1"
			if tt.forever {
				repeat = "forever"
			}
			srv := play(t, fmt.Sprintf(`
actors:
  - name: worker
    steps:
      - {say: late, fault: {%s}, repeat: %s}
      - say: recovered
`, tt.fault, repeat), rehearsal.Options{})
			c := startClaude(t, srv, claudeOptions{env: []string{"CLAUDE_CODE_MAX_RETRIES=" + tt.retries}})
			r := c.sendAndWait("begin")
			if !strings.Contains(r.str("result"), tt.result) || r.str("terminal_reason") != tt.reason {
				t.Errorf("result %q, reason %q; want %q, %q", r.str("result"), r.str("terminal_reason"), tt.result,
					tt.reason)
			}
			streams := ""
			for _, q := range srv.Requests() {
				if q.Stream {
					streams += "s"
				} else {
					streams += "w"
				}
			}
			testkit.Same(t, "requests", tt.streams, streams)
		})
	}
}

const threeWords = `
actors:
  - name: worker
    steps:
      - {expect: "I am (?P<who>\\w+)", say: first}
      - {say: second, delay: 500ms}
      - {say: "third of {{.who}}"}
`

func awaitRequests(t *testing.T, srv *rehearsal.Server, n int) {
	t.Helper()
	testkit.Await(t, fmt.Sprintf("request %d", n), func() bool { return len(srv.Requests()) >= n })
}

// An answer that a killed CLI did not save is given again after the resume.
func TestLiveKilledWhileAnswered(t *testing.T) {
	testkit.Long(t) // TestTakenUp has what the CLI sends then
	t.Parallel()
	srv := play(t, threeWords, rehearsal.Options{})
	home, cwd, id := t.TempDir(), t.TempDir(), "5b0c7b0e-6a51-4a8e-9d3a-0f5f6f2d9c11"
	c := startClaude(t, srv, claudeOptions{home: home, cwd: cwd, args: []string{"--session-id", id}})
	c.sendAndWait("I am one")
	c.post("go on")
	awaitRequests(t, srv, 2)
	c.kill()
	c = startClaude(t, srv, claudeOptions{home: home, cwd: cwd, args: []string{"--resume", id}})
	testkit.Same(t, "result", "second", c.sendAndWait("go on again").str("result"))
	testkit.Same(t, "result", "third of one", c.sendAndWait("and now").str("result"))
	noProblems(t, srv)
}

// A session that is resumed with another server continues where its history ends, with the values that its
// expectations had captured.
func TestLiveResumedElsewhere(t *testing.T) {
	testkit.Long(t) // TestTakenUp has what the CLI sends then
	t.Parallel()
	srv := play(t, threeWords, rehearsal.Options{})
	home, cwd, id := t.TempDir(), t.TempDir(), "5b0c7b0e-6a51-4a8e-9d3a-0f5f6f2d9c12"
	c := startClaude(t, srv, claudeOptions{home: home, cwd: cwd, args: []string{"--session-id", id}})
	c.sendAndWait("I am two")
	c.sendAndWait("go on")
	c.kill()
	srv = play(t, threeWords, rehearsal.Options{})
	c = startClaude(t, srv, claudeOptions{home: home, cwd: cwd, args: []string{"--resume", id}})
	testkit.Same(t, "result", "third of two", c.sendAndWait("and now").str("result"))
	noProblems(t, srv)
}

// An answer that an interrupt cut off is used up: the next message gets the next answer.
func TestLiveInterrupted(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	srv := play(t, threeWords, rehearsal.Options{})
	c := startClaude(t, srv, claudeOptions{})
	c.sendAndWait("I am three")
	c.post("go on")
	awaitRequests(t, srv, 2)
	c.control("interrupt", nil)
	c.until(`{"type":"result"}`)
	testkit.Same(t, "result", "third of three", c.sendAndWait("and now").str("result"))
	noProblems(t, srv)
}
