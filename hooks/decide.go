package hooks

import "strings"

// verdictTool ends the turn: what is added to its result is read with the next one
// (observed with CLI 2.1.329), which begins with a UserPromptSubmit that knows better.
const verdictTool = "StructuredOutput"

// Decide answers one event. The reading is that of the session's main thread,
// whatever the source of the event; spent is what the last Decide for this session
// returned. It is a pure function.
func Decide(p Policy, in Input, r Reading, spent Spent) (Answer, Spent, []Effect) {
	switch in.Event {
	case SubagentStart:
		return Answer{}, spent, []Effect{SubagentStarted{ID: in.AgentID, Type: in.AgentType}}
	case SubagentStop:
		if in.AgentType == "" { // the agent inside of a compaction
			return Answer{}, spent, nil
		}
		return Answer{}, spent, []Effect{SubagentEnded{ID: in.AgentID, Type: in.AgentType}}
	}
	if in.subagent() {
		return Answer{}, spent, nil
	}
	r = r.known()
	switch in.Event {
	case PostToolUse, PostToolUseFailure:
		return afterTool(p, in, r, spent)
	case UserPromptSubmit:
		return atPrompt(p, in, r, spent)
	case PreCompact:
		return beforeCompaction(p, in, spent)
	case PostCompact:
		return afterCompaction(p, in, spent, halfPost)
	case SessionStart:
		return atStart(p, in, spent)
	}
	return Answer{}, spent, nil
}

// afterTool reports what is due with a call of the main thread.
func afterTool(p Policy, in Input, r Reading, s Spent) (Answer, Spent, []Effect) {
	if in.Tool == verdictTool || in.IsInterrupt {
		return Answer{}, s, nil // the model is not called with it
	}
	s.Calls++
	now := p.level(r)
	if s.Pressing {
		now = LevelCritical
	}
	if s.Level != LevelNone && s.Pct == 0 {
		s.Pct = r.Pct // an earlier process told the level: points count from here
	}
	b := answerBuilder{p: p, in: in}
	if now.above(s.Level) || now == s.Level && again(now, r, s) {
		b.warn(now, r, &s)
	}
	b.remind(&s)
	return b.answer(), s, b.effects
}

// again reports whether a level that was reported is due to be told again.
func again(l Level, r Reading, s Spent) bool {
	switch {
	case s.Pressing:
		return true
	case l == LevelWarn:
		return r.Pct >= s.Pct+warnPoints
	case l == LevelCritical:
		return s.Calls >= criticalCalls && r.Pct >= s.Pct+criticalPoints
	}
	return false
}

// atPrompt begins a turn. It tells a level that was reached in the last one and
// could not be told there.
func atPrompt(p Policy, in Input, r Reading, s Spent) (Answer, Spent, []Effect) {
	s.Blocks, s.Pressing = 0, false
	b := answerBuilder{p: p, in: in}
	if now := p.level(r); now.above(s.Level) {
		b.warn(now, r, &s)
	}
	b.remind(&s)
	return b.answer(), s, b.effects
}

// beforeCompaction is the last line: what a compaction drops cannot be handed over.
func beforeCompaction(p Policy, in Input, s Spent) (Answer, Spent, []Effect) {
	s.seen, s.trigger = "", in.Trigger
	if in.Trigger != TriggerAuto || !p.KeepContext {
		return Answer{}, s, []Effect{CompactionPassed{Trigger: in.Trigger}}
	}
	if s.Blocks >= MaxBlocks {
		return Answer{}, s, []Effect{CompactionPassed{Trigger: in.Trigger, GaveUp: true}}
	}
	s.Blocks++
	s.Pressing = true
	return Answer{Event: in.Event, Block: true, Reason: blockReason}, s,
		[]Effect{CompactionBlocked{Trigger: in.Trigger, Count: s.Blocks}}
}

// atStart looks for a compaction or an emptied history; sessions begin untold
// anyway.
func atStart(p Policy, in Input, s Spent) (Answer, Spent, []Effect) {
	switch in.Source {
	case SourceCompact:
		return afterCompaction(p, in, s, halfStart)
	case SourceClear:
		return Answer{}, Spent{}, nil
	}
	return Answer{}, s, nil
}

// afterCompaction gives the levels back. Two events follow a compaction: the first
// of them counts, and the other one is known by coming after it.
func afterCompaction(p Policy, in Input, s Spent, h half) (Answer, Spent, []Effect) {
	b := answerBuilder{p: p, in: in}
	if s.seen == "" || s.seen == h {
		trigger := in.Trigger
		if trigger == "" {
			trigger = s.trigger
		}
		s = Spent{Blocks: s.Blocks, Owed: p.Reminder != "", seen: h}
		b.effects = append(b.effects, Compacted{Trigger: trigger})
	} else {
		s.seen = ""
	}
	if h == halfStart {
		b.remind(&s)
	}
	return b.answer(), s, b.effects
}

// answerBuilder gathers what one answer carries: the warning first, as the end may be cut.
type answerBuilder struct {
	p       Policy
	in      Input
	texts   []string
	effects []Effect
}

func (b *answerBuilder) remind(s *Spent) {
	if !s.Owed {
		return
	}
	s.Owed = false
	if b.p.Reminder == "" {
		return
	}
	b.texts = append(b.texts, reminderText(b.p))
	b.effects = append(b.effects, Reminded{})
}

func (b *answerBuilder) warn(l Level, r Reading, s *Spent) {
	b.texts = append(b.texts, warningText(b.p, l, r, s.Pressing))
	b.effects = append(b.effects, Told{Level: l, Pct: r.Pct, Again: l == s.Level})
	s.Level, s.Pct, s.Calls = l, r.Pct, 0
}

func (b *answerBuilder) answer() Answer {
	if len(b.texts) == 0 {
		return Answer{}
	}
	return Answer{Event: b.in.Event, Context: fit(strings.Join(b.texts, "\n\n"))}
}
