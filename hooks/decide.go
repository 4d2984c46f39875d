package hooks

import (
	"encoding/json"
	"strings"
)

// verdictTool ends the turn. Text added to its result is read only with the next turn (observed with CLI
// 2.1.329), which begins with a UserPromptSubmit that has a newer reading.
const verdictTool = "StructuredOutput"

// Decide answers one event. r is the reading of the session's main thread, whichever thread the event is from;
// spent is what the last Decide for this session returned. Decide is a pure function.
func Decide(p Policy, in Input, r Reading, spent Spent) (Answer, Spent, []Effect) {
	switch in.Event {
	case SubagentStart:
		return Answer{}, spent, []Effect{SubagentStarted{ID: in.AgentID, Type: in.AgentType}}
	case SubagentStop:
		if in.AgentType == "" { // the agent of a compaction
			return Answer{}, spent, nil
		}
		return Answer{}, spent, []Effect{SubagentEnded{ID: in.AgentID, Type: in.AgentType}}
	}
	if in.AgentID != "" {
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
		return afterCompaction(p, in, spent, followUpPost)
	case SessionStart:
		return atStart(p, in, spent)
	}
	return Answer{}, spent, nil
}

// afterTool adds to the result of a main thread's call what is due.
func afterTool(p Policy, in Input, r Reading, s Spent) (Answer, Spent, []Effect) {
	if in.Tool == verdictTool || in.IsInterrupt {
		return Answer{}, s, nil // no call of the model follows it
	}
	s.Calls++
	now := p.level(r)
	if s.Pressing {
		now = LevelCritical
	}
	if s.Level != LevelNone && s.Pct == 0 {
		s.Pct = r.Pct // reported by an earlier process: points count from here
	}
	b := answerBuilder{p: p, in: in}
	if now.above(s.Level) || now == s.Level && again(now, r, s) {
		b.warn(now, r, &s)
	}
	b.remind(&s)
	return b.answer(), s, b.effects
}

// again reports whether a level that was reported must be reported again.
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

// atPrompt begins a turn. It reports a level that was reached in the last turn and could not be reported there.
func atPrompt(p Policy, in Input, r Reading, s Spent) (Answer, Spent, []Effect) {
	s.Blocks, s.Pressing = 0, false
	b := answerBuilder{p: p, in: in}
	if now := p.level(r); now.above(s.Level) {
		b.warn(now, r, &s)
	}
	b.remind(&s)
	return b.answer(), s, b.effects
}

// beforeCompaction blocks a compaction if the policy says so: what a compaction drops cannot be handed over.
func beforeCompaction(p Policy, in Input, s Spent) (Answer, Spent, []Effect) {
	s.seen, s.trigger = "", in.Trigger
	if in.Trigger != TriggerAuto || !p.KeepContext || s.Blocks >= MaxBlocks {
		return Answer{}, s, nil
	}
	s.Blocks++
	s.Pressing = true
	return Answer{Event: in.Event, Block: true, Reason: blockReason}, s,
		[]Effect{CompactionBlocked{Trigger: in.Trigger, Count: s.Blocks}}
}

// atStart handles a start after a compaction or after /clear. At other starts nothing has changed.
func atStart(p Policy, in Input, s Spent) (Answer, Spent, []Effect) {
	switch in.Source {
	case SourceCompact:
		return afterCompaction(p, in, s, followUpStart)
	case SourceClear:
		return Answer{}, Spent{}, nil
	}
	return Answer{}, s, nil
}

// afterCompaction makes all levels due again. Two events follow a compaction, in either order: the first one
// counts, and the second one is recognized because it comes after the first.
func afterCompaction(p Policy, in Input, s Spent, h followUp) (Answer, Spent, []Effect) {
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
	if h == followUpStart {
		b.remind(&s)
	}
	return b.answer(), s, b.effects
}

// answerBuilder collects the texts of one answer. The warning comes first, since the end may be cut off.
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
	b.texts = append(b.texts, MarkReminder+" The context was compacted. This still holds:\n\n"+b.p.Reminder)
}

func (b *answerBuilder) warn(l Level, r Reading, s *Spent) {
	b.texts = append(b.texts, warningText(b.p, l, r, s.Pressing))
	b.effects = append(b.effects, LevelReported{Level: l, Pct: r.Pct, Again: l == s.Level})
	s.Level, s.Pct, s.Calls = l, r.Pct, 0
}

func (b *answerBuilder) answer() Answer {
	if len(b.texts) == 0 {
		return Answer{}
	}
	return Answer{Event: b.in.Event, Context: fit(strings.Join(b.texts, "\n\n"))}
}

// Effect is a sealed union: what a decision means to its caller.
type Effect interface{ effect() }

// LevelReported: the answer reports a level to the model.
type LevelReported struct {
	Level Level
	Pct   float64
	// Again marks a reminder: the level was already reported since the last compaction.
	Again bool
}

// CompactionBlocked: the answer blocks a compaction. A hand-off is due.
type CompactionBlocked struct {
	Trigger string
	Count   int // in this turn: 1 is the first
}

// Compacted: a compaction has happened; it is reported once for each. Earlier readings of the context are no
// longer valid.
type Compacted struct {
	Trigger string // empty if the CLI did not say
}

// SubagentStarted reports the start of a subagent.
type SubagentStarted struct{ ID, Type string }

// SubagentEnded reports the end of a subagent.
type SubagentEnded struct{ ID, Type string }

func (LevelReported) effect()     {}
func (CompactionBlocked) effect() {}
func (Compacted) effect()         {}
func (SubagentStarted) effect()   {}
func (SubagentEnded) effect()     {}

// Answer is the reply to the CLI. The zero value says nothing.
type Answer struct {
	Event Event
	// Context is added to what the model reads next.
	Context string
	// Block refuses what the event announces, for the Reason given.
	Block  bool
	Reason string
}

// JSON returns the answer in the CLI's form, on one line without a line end; {} for an empty answer. A block
// has no hookSpecificOutput: PreCompact does not accept one (observed with CLI 2.1.329).
func (a Answer) JSON() json.RawMessage {
	type specific struct {
		Event   Event  `json:"hookEventName"`
		Context string `json:"additionalContext"`
	}
	var out struct {
		Decision string    `json:"decision,omitempty"`
		Reason   string    `json:"reason,omitempty"`
		Specific *specific `json:"hookSpecificOutput,omitempty"`
	}
	switch {
	case a.Block:
		out.Decision, out.Reason = "block", a.Reason
	case a.Context != "":
		out.Specific = &specific{Event: a.Event, Context: a.Context}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return json.RawMessage("{}") // impossible: it has only strings
	}
	return raw
}
