package hooks

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// session is a main thread under a policy: it plays events and keeps the spent state.
type session struct {
	t     *testing.T
	p     Policy
	spent Spent
	r     Reading
}

func newSession(t *testing.T) *session {
	return &session{t: t, p: Policy{Role: RoleOrchestrator, Warn: 70, Critical: 85}}
}

// at sets the reading, in percent of a window of 200,000.
func (s *session) at(pct float64) *session {
	s.r = Reading{Tokens: int(pct * 2000), Window: 200_000, Pct: pct}
	return s
}

func (s *session) play(in Input) (Answer, []Effect) {
	a, spent, effects := Decide(s.p, in, s.r, s.spent)
	s.spent = spent
	return a, effects
}

// expect plays an event and compares the effects. It also checks that the answer has a text if and only if the
// effects say so.
func (s *session) expect(in Input, want ...Effect) Answer {
	s.t.Helper()
	a, got := s.play(in)
	diff := cmp.Diff(want, got)
	testkit.Need(s.t, diff == "", "%+v at %.0f %%: effects (-want +got):\n%s", in, s.r.Pct, diff)
	carries, blocks := false, false
	for _, e := range want {
		switch e.(type) {
		case LevelReported:
			carries = true
		case CompactionBlocked:
			blocks = true
		}
	}
	testkit.Need(s.t, blocks == a.Block && carries == (a.Context != ""), "%+v: answer %+v, effects %v", in, a, got)
	testkit.Need(s.t, !carries || a.Event == in.Event, "answer to %s names %s", in.Event, a.Event)
	return a
}

var (
	tool     = Input{Event: PostToolUse, Tool: "Bash"}
	failure  = Input{Event: PostToolUseFailure, Tool: "Bash"}
	prompt   = Input{Event: UserPromptSubmit}
	sub      = Input{Event: PostToolUse, Tool: "Bash", AgentID: "a22d7ad5", AgentType: "general-purpose"}
	preAuto  = Input{Event: PreCompact, Trigger: TriggerAuto}
	preHuman = Input{Event: PreCompact, Trigger: TriggerManual}
	start    = Input{Event: SessionStart, Source: SourceCompact}
	post     = Input{Event: PostCompact, Trigger: TriggerAuto}
)

func TestLevelsAreReportedOnce(t *testing.T) {
	s := newSession(t)
	s.at(69.9).expect(tool)
	s.at(70).expect(tool, LevelReported{Level: LevelWarn, Pct: 70})
	s.at(71).expect(tool)
	s.expect(prompt)
	s.at(74.9).expect(failure)
	s.at(86).expect(failure, LevelReported{Level: LevelCritical, Pct: 86})
	s.expect(tool)
	s.at(84).expect(tool) // a lower reading does not report the lower level
	s.expect(prompt)
}

func TestCriticalAtOnce(t *testing.T) {
	s := newSession(t)
	s.at(90).expect(tool, LevelReported{Level: LevelCritical, Pct: 90})
	s.at(72).expect(tool)
}

func TestPromptCarriesPendingWarnings(t *testing.T) {
	s := newSession(t)
	s.at(75).expect(prompt, LevelReported{Level: LevelWarn, Pct: 75})
	s.expect(tool)
	s.at(79.9).expect(prompt)
	s.at(80).expect(prompt) // a prompt gets no reminder of a level
	s.at(85).expect(prompt, LevelReported{Level: LevelCritical, Pct: 85})
}

func TestRemindersAreSparing(t *testing.T) {
	s := newSession(t)
	s.at(71).expect(tool, LevelReported{Level: LevelWarn, Pct: 71})
	for range 30 {
		s.at(75.9).expect(tool)
	}
	s.at(76).expect(tool, LevelReported{Level: LevelWarn, Pct: 76, Again: true})
	s.at(80.9).expect(tool)

	s.at(86).expect(tool, LevelReported{Level: LevelCritical, Pct: 86})
	for range criticalCalls - 1 {
		s.at(95).expect(tool) // points alone are not enough
	}
	s.at(86.9).expect(tool) // calls alone are not enough
	s.at(87).expect(tool, LevelReported{Level: LevelCritical, Pct: 87, Again: true})
	s.at(99).expect(tool)
}

// A restart keeps the level and nothing else: points count from the first reading.
func TestSpentSurvivesARestart(t *testing.T) {
	s := newSession(t)
	s.spent = SpentLevel("warn")
	s.at(78).expect(tool)
	s.at(82.9).expect(tool)
	s.at(83).expect(tool, LevelReported{Level: LevelWarn, Pct: 83, Again: true})

	s = newSession(t)
	s.spent = SpentLevel("critical")
	s.at(90).expect(prompt)
	s.expect(tool)
	for _, level := range []string{"", "none", "Warn"} {
		got := SpentLevel(level)
		testkit.Check(t, got == (Spent{}), "SpentLevel(%q) = %+v", level, got)
	}
}

func TestSubagentsNeitherGetNorSpend(t *testing.T) {
	s := newSession(t)
	s.p.KeepContext, s.p.Reminder = true, "rules"
	s.at(90)
	for _, e := range []Event{PostToolUse, PostToolUseFailure, UserPromptSubmit, PreCompact, PostCompact,
		SessionStart} {
		in := sub
		in.Event, in.Trigger, in.Source = e, TriggerAuto, SourceCompact
		s.expect(in) // a subagent's own compaction does not matter
	}
	testkit.Check(t, s.spent == (Spent{}), "subagents spent %+v", s.spent)
	s.expect(tool, LevelReported{Level: LevelCritical, Pct: 90})
}

func TestSubagentsAreReported(t *testing.T) {
	s := newSession(t)
	s.expect(Input{Event: SubagentStart, AgentID: "a1", AgentType: "Explore"},
		SubagentStarted{ID: "a1", Type: "Explore"})
	s.expect(Input{Event: SubagentStop, AgentID: "a1", AgentType: "Explore"}, SubagentEnded{ID: "a1", Type: "Explore"})
	s.expect(Input{Event: SubagentStop, AgentID: "a2"}) // the agent of a compaction
}

// The end of a turn gets no warning; the next prompt does.
func TestNoWarningOnCallsThatEndATurn(t *testing.T) {
	s := newSession(t)
	s.at(86).expect(Input{Event: PostToolUse, Tool: "StructuredOutput"})
	s.expect(Input{Event: PostToolUseFailure, Tool: "Bash", IsInterrupt: true})
	s.expect(prompt, LevelReported{Level: LevelCritical, Pct: 86})
}

func TestUnknownReadings(t *testing.T) {
	s := newSession(t)
	for _, r := range []Reading{{}, {Tokens: 500_000}, {Tokens: 1, Window: -1, Pct: 99}, {Window: 1, Pct: nan()},
		{Window: 1, Pct: inf()}} {
		s.r = r
		s.expect(tool)
		s.expect(prompt)
	}
	s.p = Policy{} // no levels
	s.at(100).expect(tool)
}

func TestCompactionIsHeldBack(t *testing.T) {
	s := newSession(t)
	s.p.KeepContext = true
	s.at(86).expect(tool, LevelReported{Level: LevelCritical, Pct: 86})
	for n := 1; n <= 3; n++ {
		a := s.expect(preAuto, CompactionBlocked{Trigger: TriggerAuto, Count: n})
		testkit.Check(t, a.Block && strings.HasPrefix(a.Reason, MarkContext), "answer %+v", a)
		reported := s.expect(tool, LevelReported{Level: LevelCritical, Pct: 86, Again: true})
		testkit.Includes(t, "the last moment is not named", reported.Context, "blocked")
	}
	s.expect(prompt) // another turn: it counts anew, and is not pressing
	s.expect(tool)
	s.expect(preAuto, CompactionBlocked{Trigger: TriggerAuto, Count: 1})
}

// A compaction below all levels, or without a reading, is reported too.
func TestHeldBackWithoutAReading(t *testing.T) {
	s := newSession(t)
	s.p.KeepContext = true
	s.expect(preAuto, CompactionBlocked{Trigger: TriggerAuto, Count: 1})
	a := s.expect(tool, LevelReported{Level: LevelCritical})
	testkit.Excludes(t, "a figure nobody knows", a.Context, "0 %")
}

func TestBlockingIsBounded(t *testing.T) {
	s := newSession(t)
	s.p.KeepContext = true
	for n := 1; n <= MaxBlocks; n++ {
		s.expect(preAuto, CompactionBlocked{Trigger: TriggerAuto, Count: n})
	}
	for range 2 { // once one has passed, the next one in this turn passes too
		a := s.expect(preAuto)
		testkit.Check(t, string(a.JSON()) == "{}", "answer %+v", a)
		s.expect(start, Compacted{Trigger: TriggerAuto})
		s.expect(post)
	}
	s.expect(prompt)
	s.expect(preAuto, CompactionBlocked{Trigger: TriggerAuto, Count: 1})
}

func TestCompactionIsLetThrough(t *testing.T) {
	s := newSession(t)
	s.expect(preAuto) // the policy does not block it
	s.p.KeepContext = true
	s.expect(preHuman)
	s.expect(Input{Event: PreCompact})
	testkit.Check(t, !s.spent.Pressing, "what was let through presses nobody")
}

func TestLevelsComeBackAfterACompaction(t *testing.T) {
	s := newSession(t)
	s.at(90).expect(tool, LevelReported{Level: LevelCritical, Pct: 90})
	s.expect(preAuto)
	s.expect(start, Compacted{Trigger: TriggerAuto})
	s.expect(post)
	s.at(10).expect(tool)
	s.at(72).expect(tool, LevelReported{Level: LevelWarn, Pct: 72})
	s.at(90).expect(tool, LevelReported{Level: LevelCritical, Pct: 90})
}

// The reminder comes with the first event that can carry it, once for each compaction, whichever of the two
// events reports it, and in either order.
func TestReminderIsSentOnce(t *testing.T) {
	for name, after := range map[string][]Input{
		"as the CLI does": {start, post},
		"the other way":   {post, start},
		"with a subagent's": {{Event: SubagentStop, AgentID: "a2"}, start,
			{Event: SessionStart, Source: SourceCompact, AgentID: "a3"}, post},
		"only PostCompact":  {post, tool},
		"then a prompt":     {post, prompt},
		"only SessionStart": {start},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t)
			s.p.Reminder = "Never edit files."
			s.at(20)
			for range 3 {
				s.play(preAuto)
				var warned, compacted int
				for _, in := range append(after, tool, prompt, tool) {
					a, effects := s.play(in)
					if strings.Contains(a.Context, "Never edit files.") {
						warned++
						testkit.Check(t, strings.HasPrefix(a.Context, MarkReminder), "no mark: %q", a.Context)
					}
					for _, e := range effects {
						if c, ok := e.(Compacted); ok {
							compacted++
							testkit.Same(t, c, TriggerAuto, c.Trigger)
						}
					}
				}
				testkit.Check(t, warned == 1 && compacted == 1, "reminded %d times of %d compactions, want once of one",
					warned, compacted)
			}
		})
	}
}

func TestReminderAndWarningTogether(t *testing.T) {
	s := newSession(t)
	s.p.Reminder = "rules"
	s.play(post)
	a := s.at(88).expect(tool, LevelReported{Level: LevelCritical, Pct: 88})
	testkit.Check(t, strings.HasPrefix(a.Context, MarkContext) && strings.Contains(a.Context, "\n\n"+MarkReminder),
		"answer %q", a.Context)
	s.p.Reminder = ""
	s.play(post)
	s.at(10).expect(tool)
}

func TestOtherEvents(t *testing.T) {
	s := newSession(t)
	s.at(99)
	for _, in := range []Input{{Event: "Stop"}, {Event: "PreToolUse", Tool: "Bash"},
		{Event: "SomethingNew"},
		{Event: SessionStart, Source: "startup"}, {Event: SessionStart, Source: "resume"}} {
		s.expect(in)
	}
	s.expect(tool, LevelReported{Level: LevelCritical, Pct: 99})
	s.expect(Input{Event: SessionStart, Source: SourceClear}) // the history is gone
	testkit.Check(t, s.spent == (Spent{}), "after a clear %+v is spent", s.spent)
}
