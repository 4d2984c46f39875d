package rehearsal_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// wantProblems compares the problems, each with a part of its text.
func wantProblems(t *testing.T, srv *rehearsal.Server, parts ...string) {
	t.Helper()
	got := srv.Problems()
	ok := len(got) == len(parts)
	for i := 0; ok && i < len(got); i++ {
		ok = strings.Contains(got[i], parts[i])
	}
	testkit.Check(t, ok, "problems:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(parts, "\n"))
}

func TestRoles(t *testing.T) {
	srv := play(t, `
actors:
  - {name: A, match: {role: arbiter}, otherwise: {say: arbiter}}
  - {name: O, match: {role: orchestrator}, otherwise: {say: orchestrator}}
  - {name: S, match: {role: subagent}, otherwise: {say: subagent}}
  - {name: M, match: {role: main}, otherwise: {say: main}}
`, rehearsal.Options{})
	const spawn, report = "mcp__arbiter__spawn_orchestrator", "mcp__arbiter__report_progress"
	orch := converse(t, srv, "s2", "Bash", report)
	sub := converse(t, srv, "s2", "Bash", report) // inherits its parent's tools
	sub.agent = "a1"
	steps := []struct {
		c    *client
		want string
	}{
		{converse(t, srv, "s1", "Read", spawn), "arbiter"},
		{orch, "orchestrator"},
		{sub, "subagent"},
		{converse(t, srv, "s2", "Bash"), "subagent"}, // unmarked, in a session known to be an orchestrator's
		{converse(t, srv, "s3", "Bash"), "main"},
		{converse(t, srv, "s3"), "A rehearsal."}, // no tools: outside of the history
	}
	for i, s := range steps {
		testkit.Same(t, fmt.Sprintf("%d: answered by", i), s.want, s.c.askText("hello"))
	}
	got := orch.askText("<system-reminder>This is a side question: one answer.")
	testkit.Check(t, strings.Contains(got, "remembers"), "side question: %q", got)
	noProblems(t, srv)
}

func TestMatch(t *testing.T) {
	srv := play(t, `
actors:
  - {name: marked, match: {contains: "the (mark|sign)"}, otherwise: {say: marked}}
  - {name: small, match: {model: haiku}, otherwise: {say: small}}
  - {name: second, match: {role: main, nth: 2}, otherwise: {say: second}}
  - {name: rest, match: {role: any}, otherwise: {say: rest}}
`, rehearsal.Options{})
	reminder := frame{"type": "text", "text": "<system-reminder>the mark</system-reminder>"}
	first := converse(t, srv, "s1", "Bash")
	testkit.Same(t, "a reminder counts as the first text", "rest",
		first.askText([]frame{reminder, {"type": "text", "text": "hello"}}))
	long := converse(t, srv, "s2", "Bash")
	testkit.Same(t, "late in a long text", "marked", long.askText([]frame{reminder,
		{"type": "text", "text": strings.Repeat("x", 20000) + " the sign"}}))
	third := converse(t, srv, "s3", "Bash")
	third.model = "claude-haiku-4-5"
	testkit.Same(t, "model", "small", third.askText("hello"))
	// s1 and the two above also had the role main, so this is the fourth.
	testkit.Same(t, "nth", "rest", converse(t, srv, "s4", "Bash").askText("hello"))
	testkit.Same(t, "a part was cast anew", "rest", first.askText("again"))
}

func TestNth(t *testing.T) {
	srv := play(t, `
actors:
  - {name: two, match: {role: main, nth: 2}, otherwise: {say: two}}
  - {name: one, match: {role: main, nth: 1}, otherwise: {say: one}}
`, rehearsal.Options{})
	for i, want := range []string{"one", "two", "The script has no more words."} {
		testkit.Same(t, fmt.Sprintf("session %d", i), want, converse(t, srv, fmt.Sprint(i), "Bash").askText("x"))
	}
	wantProblems(t, srv, `no actor fits this conversation, which begins: "x"`)
}

func TestSteps(t *testing.T) {
	srv := play(t, `
vars: {deity: the Weaver}
actors:
  - name: a
    steps:
      - {expect: "name is (?P<who>\\w+)", say: "{{.who}} {{.vars.deity}} {{.actor}} {{.session}}"}
      - {say: again, repeat: 2}
      - {expect: tick, say: tock, repeat: forever}
      - {expect: stop, say: "was {{.who}}{{or .never \", and nobody\"}}"}
      - {expect: "exactly (?P<never>this)", say: forced}
`, rehearsal.Options{Vars: map[string]string{"deity": "the Spinner"}})
	c := converse(t, srv, "s", "Bash")
	c.answers("my name is Clotho", "Clotho the Spinner a s", "x", "again", "y", "again", "tick", "tock",
		"tick", "tock", "tick tick", "tock", "stop", "was Clotho, and nobody")
	noProblems(t, srv)
	testkit.Same(t, "a failed expectation stopped the play", "forced", c.askText("that"))
	testkit.Same(t, "after the end", "The script has no more words.", c.askText("more"))
	wantProblems(t, srv, `a: session s: line 10: expected /exactly (?P<never>this)/, got: "that"`,
		`no step is left for: "more"`)
}

// TestAskedWhileItsSessionEnds: a request that follows a call that was denied at the end of its session is
// not a script error, and consumes no step; a request after a resume does.
func TestAskedWhileItsSessionEnds(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps: [{say: one}, {expect: go on, say: two}]
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash")
	c.answers("begin", "one",
		"PreToolUse:StructuredOutput hook error: This session is being ended.", "The script has no more words.",
		"[structured-output-enforce] You MUST call it.", "The script has no more words.", "go on", "two",
		"the run is ending", "The script has no more words.")
	noProblems(t, srv)
	c.askText("more")
	c.askText("[structured-output-enforce] You MUST call it.")
	wantProblems(t, srv, `no step is left for: "more"`, `no step is left for: "[structured-output-enforce] You MUST`)
}

func TestOtherwise(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {expect: begin, say: one}
      - {expect: end, say: two}
    otherwise: {expect: "note (?P<n>\\d+)", say: "noted {{.n}}"}
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash")
	c.answers("note 1", "noted 1", "begin", "one", "note 2", "noted 2", "end", "two", "note 3", "noted 3")
	noProblems(t, srv)
}

// Of several entries, the first that matches is played; if none matches, that is a problem.
func TestOtherwiseList(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {expect: begin, say: one}
    otherwise:
      - {expect: "note (?P<n>\\d+)", say: "noted {{.n}}"}
      - {expect: note, say: noted}
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash")
	c.answers("note 1", "noted 1", "note", "noted", "begin", "one", "note 2", "noted 2")
	noProblems(t, srv)
	c.askText("more")
	wantProblems(t, srv, `no step is left for: "more"`)
}

// TestIncoming: a step's expectation sees results of tools and trailing messages of role system.
func TestIncoming(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - say: "1"
      - {expect: "(?s)result of it.*a note", say: "{{.incoming}}"}
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash")
	c.messages = append(c.messages, frame{"role": "user", "content": "x"},
		frame{"role": "system", "content": "# Environment\n - Primary working directory: /w\n"})
	c.askText("hello")
	c.addMessage([]frame{{"type": "tool_result", "tool_use_id": "t",
		"content": []frame{{"type": "text", "text": "result of it"}, {"type": "image"}}}})
	c.messages = append(c.messages, frame{"role": "system", "content": "a note"})
	testkit.Same(t, "incoming", "result of it\na note", c.askText([]frame{}))
	testkit.Same(t, "cwd", "/w", srv.Requests()[0].Cwd)
	noProblems(t, srv)
}

// All actors can use a value that one actor captured; an actor's own value takes precedence.
func TestCaptures(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {expect: "(?P<id>orch-\\d+)", say: ok}
      - {say: "{{.id}}"}
`, rehearsal.Options{})
	one, two := converse(t, srv, "1", "Bash"), converse(t, srv, "2", "Bash")
	one.askText("orch-1")
	two.askText("orch-2")
	testkit.Same(t, "captured", "orch-1 orch-2", one.askText("which?")+" "+two.askText("which?"))
}

func TestToolsMustBeOffered(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {use: [{tool: Bash, input: {}}], verdict: {x: y}}
      - use: [{tool: mcp__arbiter__status, input: {}}]
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Read")
	c.askText("x")
	c.askText("y")
	wantProblems(t, srv, "step test.yaml:5 uses StructuredOutput, which the request does not offer",
		"uses mcp__arbiter__status")
}

func TestUsage(t *testing.T) {
	srv := play(t, `
vars: {full: "90000"}
actors:
  - name: a
    steps:
      - say: first
      - say: second
      - {say: third, usage: {context: "{{.vars.full}}", output: 7}}
      - say: fourth
      - {say: fifth, usage: {input: 1, cache_read: 2, cache_creation: 3}}
`, rehearsal.Options{})
	c := converse(t, srv, "s", "Bash")
	first, second := c.ask("x"), c.ask(strings.Repeat("y", 4000))
	testkit.Check(t, first.Usage.Read == 0 && first.Usage.Creation != 0 && first.Usage.Output != 0,
		"first: %+v", first.Usage)
	grown := second.context() - first.context()
	testkit.Check(t, second.Usage.Read == first.context() && grown >= 1000 && grown <= 1100, "second: %+v after %+v",
		second.Usage, first.Usage)
	if third := c.ask("z"); third.context() != 90000 || third.Usage.Output != 7 || third.Usage.Creation > 1000 {
		t.Errorf("third: %+v", third.Usage)
	}
	fourth := c.ask("z")
	testkit.Check(t, fourth.Usage.Read == 90000 && fourth.context() >= 90003, "fourth: %+v", fourth.Usage)
	fifth := c.ask("z")
	testkit.Check(t, fifth.context() == 6, "fifth: %+v", fifth.Usage)
}

// Sessions, and conversations within one, are independent of each other.
func TestConcurrent(t *testing.T) {
	srv := play(t, `
actors:
  - name: a
    steps:
      - {expect: "I am (?P<me>\\w+)", say: "hello {{.me}}"}
      - {say: "{{.me}}", repeat: 20}
`, rehearsal.Options{})
	var wg sync.WaitGroup
	got := make([][]string, 8)
	for i := range got {
		c := converse(t, srv, fmt.Sprint("s", i/2), "Bash")
		if i%2 == 1 {
			c.agent = "sub"
		}
		wg.Go(func() {
			got[i] = append(got[i], c.askText(fmt.Sprintf("I am n%d", i)))
			for range 20 {
				got[i] = append(got[i], c.askText("who?"))
			}
		})
	}
	wg.Wait()
	for i := range got {
		want := []string{fmt.Sprintf("hello n%d", i)}
		for range 20 {
			want = append(want, fmt.Sprintf("n%d", i))
		}
		testkit.Same(t, i, want, got[i])
	}
	noProblems(t, srv)
}

// TestLostAnswer: an answer that is not in the next request's history was lost with the client
// and is given again, unless an interrupt cut it off.
func TestLostAnswer(t *testing.T) {
	const script = `
actors:
  - name: a
    steps:
      - say: first
      - say: second and last
      - say: third
`
	for _, tt := range []struct {
		name string
		then []frame // after the first exchange
		want string
	}{
		{"killed", []frame{{"role": "user", "content": "go on"},
			{"role": "assistant", "content": "No response requested."}, {"role": "user", "content": "again"}},
			"second and last"},
		{"kept", []frame{{"role": "user", "content": "go on"}, {"role": "assistant", "content": "second and last"},
			{"role": "user", "content": "again"}}, "third"},
		{"in part", []frame{{"role": "user", "content": "go on"}, {"role": "assistant", "content": "second"},
			{"role": "user", "content": "[Request interrupted by user]"}, {"role": "user", "content": "again"}},
			"third"},
		{"interrupted", []frame{{"role": "user", "content": "go on"},
			{"role": "user", "content": "[Request interrupted by user]"}, {"role": "user", "content": "again"}},
			"third"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := play(t, script, rehearsal.Options{})
			c := converse(t, srv, "s", "Bash")
			c.askText("begin")
			before := len(c.messages)
			c.askText("go on")
			last := tt.then[len(tt.then)-1]
			c.messages = append(c.messages[:before:before], tt.then[:len(tt.then)-1]...)
			testkit.Same(t, "", tt.want, c.askText(last["content"]))
			noProblems(t, srv)
		})
	}
	t.Run("compacted", func(t *testing.T) {
		srv := play(t, script, rehearsal.Options{})
		c := converse(t, srv, "s", "Bash")
		c.askText("begin")
		c.askText("go on")
		c.askText("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Sum it up.")
		c.messages = nil
		testkit.Same(t, "", "third", c.askText("a summary, and a word"))
	})
}

// TestSummaryBeforeHookText: a request for a summary is recognized even if a hook's text follows it.
func TestSummaryBeforeHookText(t *testing.T) {
	c := converse(t, play(t, `
actors:
  - name: a
    steps: [{say: first}, {say: second}]
`, rehearsal.Options{}), "s", "Bash")
	c.askText("begin")
	c.addMessage("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools. Sum it up.")
	c.messages = append(c.messages, frame{"role": "system", "content": "a hook's word"})
	_, _, body := c.do(c.request(false))
	testkit.Includes(t, "no summary", body, "The work goes on as scripted")
	c.messages = c.messages[:2]
	testkit.Same(t, "", "second", c.askText("go on"))
}

// A new server replays the history; a refusal has left no trace in it.
func TestCatchUp(t *testing.T) {
	const script = `
actors:
  - name: a
    steps:
      - {expect: "(?P<who>\\w+) speaks", say: first}
      - {say: no, fault: {status: 500}, repeat: 2}
      - {say: second, repeat: 2}
      - {say: "fourth, {{.who}}"}
`
	c := converse(t, play(t, script, rehearsal.Options{}), "s", "Bash")
	c.messages = []frame{
		{"role": "user", "content": "Clotho speaks"}, {"role": "assistant", "content": "first"},
		{"role": "user", "content": "x"}, {"role": "assistant", "content": "second"},
		{"role": "user", "content": "x"}, {"role": "assistant", "content": "second"},
	}
	testkit.Same(t, "", "fourth, Clotho", c.askText("x"))
	noProblems(t, c.srv)
}
