package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// sideAction is an action while a hand-off document waits for its check, or while a human has a session. play
// returns the processes of the run; it calls done to let the check end, or to return the session.
type sideAction struct {
	name string
	args []string
	play func(h *modelHome, s *script, done func()) []*script
}

var beside = []sideAction{
	{name: "pause, and words that are changed", play: func(h *modelHome, s *script, done func()) []*script {
		s.send(contract.Pause{})
		s.send(contract.Say{Text: "a word to be changed"})
		s.send(contract.Say{Text: "a word to be taken back"})
		s.send(contract.EditMessage{MessageID: s.awaitText("a word to be changed"), Text: "a changed word"})
		s.send(contract.WithdrawMessage{MessageID: s.awaitText("a word to be taken back")})
		await[contract.Withdrawn](s, "the word", nil)
		done()
		s.send(contract.Continue{})
		until(h.t, "the changed word", func() bool { return h.delivered("a changed word") > 0 })
		if h.delivered("a word to be") > 0 {
			h.t.Error("a word was heard that was changed, or taken back")
		}
		return nil
	}},
	{name: "halt", play: func(h *modelHome, s *script, done func()) []*script {
		before, _ := childNamed(s.cmd.Process.Pid, "bridge")
		s.send(contract.Halt{})
		await[contract.Halted](s, "the halt", nil)
		(&busy{script: s, run: s.run()}).awaitStill(waitTimeout)
		s.send(contract.Continue{})
		if after, ok := childNamed(s.cmd.Process.Pid, "bridge"); !ok || after != before {
			h.t.Errorf("the bridge had to be ended: it was %d, and is %d", before, after)
		}
		done()
		return nil
	}},
	{name: "trust is asked for again", play: func(h *modelHome, s *script, done func()) []*script {
		h.configure(tampered)
		if pids := aliveAs(s.run())["orch-1.1"]; len(pids) > 0 {
			slay(h.t, pids[0])
		} else {
			done()
			done = func() {}
		}
		await(s, "the question of trust", func(_ string, b contract.Error) bool {
			return b.Category == bridge.CatTrust
		})
		s.send(contract.Choose{Option: "without"})
		done()
		return nil
	}},
	{name: "the rules decide in place of the Arbiter", play: func(h *modelHome, s *script, done func()) []*script {
		s.send(contract.Say{Text: "consider it"})
		await(s, "a fallback", func(_ string, b contract.Decision) bool { return b.Source == "fallback" })
		done()
		return nil
	}},
	{name: "the cost is reached", args: []string{"--max-cost", "1"},
		play: func(h *modelHome, s *script, done func()) []*script {
			s.send(contract.Say{Text: "spend it"})
			await(s, "the limit", func(_ string, b contract.Budget) bool { return b.Level == "limit" })
			done() // running turns and checks end before the human is asked
			s.finishesAtLimit()
			await[contract.Result](s, "the end", nil)
			if r := s.finish(contract.ExitLimit); r.Status != contract.StatusLimit {
				h.t.Errorf("result %+v", r)
			}
			return []*script{s, s.again("--json", "--resume", "--max-cost", "100")}
		}},
}

// awaitText waits for the message event of a text, and returns the message's id.
func (s *script) awaitText(text string) string {
	s.t.Helper()
	return await(s, "a message", func(_ string, b contract.Message) bool { return b.Text == text }).MessageID
}

// TestBeside does what a human, a limit or the rules may do while a hand-off document waits for its check, or
// while a human has a session: neither the document nor the session is lost.
func TestBeside(t *testing.T) {
	testkit.Long(t)
	for _, who := range players(t) {
		for _, m := range moments {
			if m.name != aCheckRuns && m.name != aSessionIsTaken {
				continue
			}
			for _, b := range beside {
				t.Run(who.name+"/"+m.name+"/"+b.name, func(t *testing.T) {
					who.long(t)
					t.Parallel()
					m.sideAction(t, who, b)
				})
			}
		}
	}
}

func (m moment) sideAction(t *testing.T, who player, b sideAction) {
	h, s := m.stage(t, who, b.args...)
	processRuns := b.play(h, s, func() {
		if m.name == aCheckRuns {
			h.touch("go")
			return
		}
		if len(collect[contract.Halted](s)) == 0 && len(collect[contract.Result](s)) == 0 {
			s.send(contract.Detach{ID: "orch-1"})
		}
	})
	if processRuns == nil {
		processRuns = []*script{s}
	}
	if m.name != aCheckRuns {
		last := processRuns[len(processRuns)-1]
		ends := last
		if b.name == "the cost is reached" {
			ends = processRuns[0] // the session ends before the human is asked about the limit
		}
		ended := func(_ string, b contract.Takeover) bool {
			return slices.Contains([]string{"ended", "failed"}, b.State)
		}
		await(ends, "the end of the takeover", ended)
		if !strings.HasPrefix(b.name, "pause") { // there, the message was sent already
			await[contract.Question](last, "a question", nil)
		}
		last.send(contract.Say{Text: "the red one"})
	}
	h.completes(processRuns...)
}
