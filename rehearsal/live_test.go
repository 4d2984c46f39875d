package rehearsal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

func play(t *testing.T, script string, o rehearsal.Options) *rehearsal.Server {
	t.Helper()
	sc := testkit.Must(rehearsal.Parse("test.yaml", []byte(script)))(t)
	return serve(t, sc, o)
}

func serve(t *testing.T, sc *rehearsal.Scenario, o rehearsal.Options) *rehearsal.Server {
	t.Helper()
	srv := testkit.Must(rehearsal.Start(sc, o))(t)
	t.Cleanup(func() { testkit.Works(t, "close", srv.Close()) })
	return srv
}

func noProblems(t *testing.T, srv *rehearsal.Server) {
	t.Helper()
	testkit.Empty(t, "problems", srv.Problems())
}

// One session: a text, tools with real effects, a blocking subagent, verdicts.
func TestLiveTurns(t *testing.T) {
	t.Parallel()
	srv := play(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - expect: "speak, (?P<who>\\w+)"
        think: "A greeting."
        say: "The thread of {{.who}} is taken up."
        verdict: {decision: GREET}
      - say: "I write."
        use:
          - {tool: Write, input: {file_path: "{{.cwd}}/one.txt", content: "one for {{.who}}\n"}}
          - {tool: Bash, input: {command: "cat one.txt > two.txt; echo done-$((40+2))", description: copy}}
        usage: {context: 240000, output: 77}
      - expect: "done-42"
        use: [{tool: Agent, input: {description: third, prompt: "weave the third", subagent_type: general-purpose}}]
      - expect: "The third is woven"
        verdict: {decision: DONE, n: 3, list: [a, "{{.who}}"], none: null, yes: true}
  - name: sub
    match: {role: subagent, contains: weave the third}
    steps:
      - use: [{tool: Bash, input: {command: "echo three > three.txt", description: third}}]
      - say: The third is woven.
`, rehearsal.Options{Record: true})
	c := startClaude(t, srv, claudeOptions{schema: verdictSchema, args: []string{"--allowedTools", "Bash(*)", "Write"}})

	first := c.sendAndWait("speak, mortal")
	got := first.sub("structured_output").str("decision")
	testkit.Check(t, got == "GREET", "first verdict %q, want GREET: %v", got, first)
	second := c.sendAndWait("now work")
	out := second.sub("structured_output")
	testkit.Check(t, out.str("decision") == "DONE" && out.num("n") == 3 && out.yes("yes"), "second verdict: %v", out)
	for name, want := range map[string]string{"one.txt": "one for mortal\n", "two.txt": "one for mortal\n",
		"three.txt": "three\n"} {
		got, err := os.ReadFile(filepath.Join(c.cwd, name))
		testkit.Check(t, err == nil && string(got) == want, "%s: %q, %v; want %q", name, got, err, want)
	}
	if got := c.control("get_context_usage", frame{"detail": "summary"}).num("totalTokens"); got < 240000 {
		t.Errorf("context %v, want what the script claimed and growth", got)
	}
	noProblems(t, srv)
	roles := testkit.Each(srv.Requests(), func(r rehearsal.Request) string { return string(r.Role) })
	got, want := strings.Join(roles, " "), "main main main subagent subagent main"
	testkit.Check(t, got == want, "roles %q, want %q", got, want)
}

// Requests of the CLI outside of the history are answered and consume no step.
func TestLiveAsides(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	srv := play(t, `
actors:
  - name: worker
    match: {role: main}
    steps:
      - say: first
      - say: second
      - {expect: after, say: third}
`, rehearsal.Options{})
	c := startClaude(t, srv, claudeOptions{})
	c.sendAndWait("one")
	if got := c.control("side_question", frame{"question": "what is up?"}).str("response"); !strings.Contains(got,
		"thread remembers") {
		t.Errorf("side question answered %q", got)
	}
	testkit.Same(t, "title", "Rehearsal", c.control("generate_session_title",
		frame{"description": "count the ships"}).str("title"))
	testkit.Same(t, "result", "second", c.sendAndWait("two").str("result"))
	c.sendAndWait("/compact")
	testkit.Same(t, "compactions", 1, c.compactions())
	testkit.Same(t, "result", "third", c.sendAndWait("after").str("result"))
	noProblems(t, srv)
}

// usage returns the CLI's own figure for the input of the last answer.
func (c *claude) usage() int {
	c.t.Helper()
	api := c.control("get_context_usage", frame{"detail": "summary"}).sub("apiUsage")
	return int(api.num("input_tokens") + api.num("cache_read_input_tokens") + api.num("cache_creation_input_tokens"))
}

// A script fills the context step by step, to the token; a subagent fills its own.
func TestLiveFilling(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	srv := play(t, `
vars: {window: "200000"}
actors:
  - name: worker
    match: {role: main}
    steps:
      - {say: low, usage: {context: 138000}}
      - {say: warned, usage: {context: 142000}}
      - {use: [{tool: Agent, input: {description: d, subagent_type: general-purpose, prompt: DIG}}], usage: {context: 150000}}
      - {say: critical, usage: {context: 172000}}
  - name: digger
    match: {role: subagent, contains: DIG}
    steps:
      - {use: [{tool: Bash, input: {command: echo dug, description: dig}}], usage: {context: 190000}}
      - {say: dug, usage: {context: 199000}}
`, rehearsal.Options{})
	c := startClaude(t, srv, claudeOptions{})
	for _, want := range []int{138_000, 142_000, 172_000} {
		c.sendAndWait("on")
		testkit.Same(t, "the context holds", want, c.usage())
	}
	noProblems(t, srv)
}

// The context fills up, is compacted in mid-turn, and the script continues where it was; the summary is
// scripted, and has its own figures.
func TestLiveCompactedInMidTurn(t *testing.T) {
	t.Parallel()
	srv := play(t, `
actors:
  - name: summarist
    match: {role: side}
    steps:
      - {say: "<summary>ALL OF IT</summary>", usage: {context: 172100}, repeat: forever}
  - name: worker
    match: {role: main}
    steps:
      - {say: begun, usage: {context: 20000}}
      - {use: [{tool: Bash, input: {command: echo one, description: d}}], usage: {context: 100000}}
      - {use: [{tool: Bash, input: {command: echo two, description: d}}], usage: {context: 172000}}
      - {expect: "two", use: [{tool: Bash, input: {command: echo three, description: d}}], usage: {context: 30000}}
      - {expect: "three", say: done, usage: {context: 31000}}
      - {say: later, usage: {context: 32000}}
`, rehearsal.Options{})
	c := startClaude(t, srv, claudeOptions{args: []string{"--autocompact", "200000"}})
	c.sendAndWait("one")
	testkit.Same(t, "result", "done", c.sendAndWait("two").str("result"))
	n := c.compactions()
	testkit.Check(t, n == 1 && c.usage() == 31_000, "%d compactions, %d tokens afterwards", n, c.usage())
	testkit.Same(t, "result", "later", c.sendAndWait("three").str("result"))
	noProblems(t, srv)
}
