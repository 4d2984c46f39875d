package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// poisoned is a dialogue in which the API refuses every request that contains the word POISON.
const poisoned = `name: poisoned
title: A word that cannot be read
actors:
  - name: poisoned
    match: {role: arbiter, contains: POISON}
    steps: [{fault: {FAULT}, repeat: forever}]
  - name: successor
    match: {role: arbiter, contains: "kind: inheritance"}
    otherwise:
      - {expect: once more, verdict: {decision: COMPLETE, message: It is done., summary: said, reason: r}}
      - {expect: TOLD, verdict: {decision: ADDRESS_HUMAN, message: "Say it otherwise.", reason: r}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - {expect: Make a thing, verdict: {decision: ADDRESS_HUMAN, message: "And then?", reason: r}}
      - {expect: POISON, fault: {FAULT}, repeat: forever}
`

// TestOversizedMessageIsNotRedelivered: a message that the API refuses as too large is not delivered again. The
// human sees why, the Arbiter continues in a new session, and no rule decides in its place.
func TestOversizedMessageIsNotRedelivered(t *testing.T) {
	testkit.Long(t)
	for _, who := range players(t) {
		for _, c := range []struct{ name, fault, word, told string }{
			{"413", "status: 413", "POISON", "was set aside"},
			{"too long", "status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum'", "POISON",
				"was set aside"},
			{"large", "status: 413", strings.Repeat("long ", 20_000) + "POISON", "is its beginning"},
		} {
			t.Run(who.name+"/"+c.name, func(t *testing.T) {
				who.long(t) // the driver's TestLivePromptTooLong covers the real CLI
				t.Parallel()
				play := strings.NewReplacer("FAULT", c.fault, "TOLD", c.told).Replace(poisoned)
				s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, play), "--task",
					"Make a thing")...)
				s.offScript = true // the CLI may repeat the refused request once
				await[contract.Question](s, "a question", nil)
				s.send(contract.Say{Text: c.word})
				e := await[contract.Error](s, "word to the human", nil)
				if e.Category != bridge.CatPromptTooLong || !strings.Contains(e.Message, "too large to be read") {
					t.Errorf("told %+v", e)
				}
				await[contract.Question](s, "the successor's question", func(_ string, b contract.Question) bool {
					return strings.Contains(b.Text, "otherwise")
				})
				s.send(contract.Say{Text: "once more"})
				s.finish(contract.ExitComplete)
				if slices.ContainsFunc(collect[contract.Decision](s),
					func(b contract.Decision) bool { return b.Source != "session" }) {
					t.Error("rules decided")
				}
			})
		}
	}
}

// TestOversizedMessageIsRefused: a command with a text of 4 MB is rejected, and the answer says what to do
// instead.
func TestOversizedMessageIsRefused(t *testing.T) {
	t.Parallel()
	s := dialogue(t)
	s.send(contract.Say{Text: strings.Repeat("<", 4*contract.MaxCommandText)})
	if b := await[contract.Rejected](s, "a refusal", nil); !strings.Contains(b.Message,
		"the limit is 1,048,576; put it into files") {
		t.Errorf("refused with %q", b.Message)
	}
	s.send(contract.Say{Text: "Call it nameless."})
	s.finish(contract.ExitComplete)
}

// TestPauseWithoutAHumanEndsTheRun: when a human pauses a run and closes its stdin, no client can continue it. The run
// ends, and can be resumed and continued.
func TestPauseWithoutAHumanEndsTheRun(t *testing.T) {
	testkit.Long(t)
	for _, c := range []contract.CommandBody{contract.Pause{}, contract.Halt{}} {
		t.Run(c.CommandType(), func(t *testing.T) {
			t.Parallel()
			s := dialogue(t)
			s.send(c)
			await[contract.Accepted](s, "accepted", nil)
			if r := s.finish(contract.ExitNeedsInput); r.Status != contract.StatusNeedsInput {
				t.Errorf("result %+v", r)
			}
			n := s.again("--json", "--resume") // it is still paused
			await[contract.Question](n, "the question again", nil)
			n.send(contract.Continue{})
			n.send(contract.Say{Text: "Call it nameless."})
			n.finish(contract.ExitComplete)
		})
	}
}

// TestKilledWhilePaused: a run that is killed while a human pauses it is paused again when it is resumed, until it is
// continued.
func TestKilledWhilePaused(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		s := start(t, nil, append(who.args, "--json", "--scenario", "dialogue", "--task", "Name it")...)
		await[contract.Question](s, "a question", nil)
		s.send(contract.Pause{})
		await[contract.Accepted](s, "accepted", nil)
		_ = s.cmd.Process.Kill()
		<-s.ended
		n := s.again("--json", "--resume")
		await[contract.Question](n, "the question again", nil)
		if out, _ := n.output(0, "status"); !strings.Contains(out, "Paused") {
			t.Errorf("after the resume:\n%s", out)
		}
		n.send(contract.Continue{})
		n.send(contract.Say{Text: "Call it nameless."})
		n.finish(contract.ExitComplete)
	})
}
