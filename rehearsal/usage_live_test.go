package rehearsal_test

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

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
	if n := c.compactions(); n != 1 || c.usage() != 31_000 {
		t.Errorf("%d compactions, %d tokens afterwards", n, c.usage())
	}
	testkit.Same(t, "result", "later", c.sendAndWait("three").str("result"))
	noProblems(t, srv)
}
