package hooks

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func nan() float64 { return math.NaN() }
func inf() float64 { return math.Inf(1) }

func unitsOf(s string) int { return len(utf16.Encode([]rune(s))) }

// FuzzParse: an event that is parsed and encoded again is parsed to the same value.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_name":"Bash","agent_id":"a","is_interrupt":true}`))
	f.Add([]byte(`{"hook_event_name":"\ud800","cwd":"\u0000"}`))
	f.Add([]byte(`{"hook_event_name":"x","hook_event_name":"y"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := Parse(raw)
		if err != nil {
			return
		}
		in.Error = "" // JSON leaves it out
		again, err := Parse(in.JSON())
		testkit.Check(t, err == nil && again == in, "%+v became %+v, %v", in, again, err)
	})
}

// events are what FuzzDecide selects from, by one byte.
var events = []Input{
	tool, failure, prompt, sub, preAuto, preHuman, start, post,
	{Event: PostToolUse, Tool: "StructuredOutput"},
	{Event: SubagentStart, AgentID: "a", AgentType: "t"},
	{Event: SubagentStop, AgentID: "a"},
	{Event: PreCompact, Trigger: TriggerAuto, AgentID: "a"},
	{Event: PostCompact, Trigger: TriggerAuto, AgentID: "a"},
	{Event: SessionStart, Source: SourceCompact, AgentID: "a"},
	{Event: "Stop"},
	{Event: SessionStart, Source: SourceClear},
}

// FuzzDecide plays random sessions: each byte pair is an event and a reading.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{0, 71, 0, 86, 4, 86, 0, 86, 6, 0, 7, 0, 0, 10, 0, 90}, true)
	f.Add([]byte{3, 99, 2, 99, 0, 99}, false)
	f.Add([]byte{4, 99, 4, 99, 4, 99, 7, 99, 6, 0, 15, 0, 0, 100, 0, 255}, true)
	f.Fuzz(func(t *testing.T, script []byte, keep bool) {
		p := Policy{Role: RoleOrchestrator, Warn: 70, Critical: 85, Reminder: "rules", KeepContext: keep}
		var spent Spent
		var ep epoch
		for ; len(script) >= 2; script = script[2:] {
			in := events[int(script[0])%len(events)]
			r := Reading{Tokens: 1, Window: 100, Pct: float64(script[1])}
			switch script[1] {
			case 255:
				r = Reading{}
			case 254:
				r.Pct = math.NaN()
			}
			before := spent
			var a Answer
			var effects []Effect
			a, spent, effects = Decide(p, in, r, spent)
			testkit.Need(t, in.AgentID == "" || spent == before && string(a.JSON()) == "{}",
				"a subagent's %s spent or got something: %+v", in.Event, a)
			if !json.Valid(a.JSON()) || unitsOf(a.Context) > MaxContext {
				t.Fatalf("answer %s", a.JSON())
			}
			testkit.Need(t, !a.Block || in.Event == PreCompact && in.Trigger == TriggerAuto && keep,
				"%+v was blocked", in)
			_, after, _ := Decide(p, in, r, before)
			testkit.Need(t, after == spent, "the same came out differently")
			ep.note(t, in, before, a, effects)
		}
	})
}

// epoch is what was reported since the last compaction.
type epoch struct {
	reported map[Level]bool
	blocks   int
	reminded bool // since the last compaction; there is no reminder before the first
	any      bool
}

func (e *epoch) note(t *testing.T, in Input, before Spent, a Answer, effects []Effect) {
	if in.Event == UserPromptSubmit && in.AgentID == "" {
		e.blocks = 0
	}
	if in.Event == SessionStart && in.Source == SourceClear {
		*e = epoch{}
	}
	for _, effect := range effects {
		switch effect := effect.(type) {
		case Compacted:
			e.reported, e.reminded, e.any = nil, false, true
		case CompactionBlocked:
			e.blocks++
			testkit.Need(t, e.blocks <= MaxBlocks, "held back for ever")
		case LevelReported:
			e.checkReported(t, in, before, effect)
		}
	}
	if strings.Contains(a.Context, MarkReminder) {
		testkit.Need(t, !e.reminded && e.any, "reminded without a compaction, or twice after one")
		e.reminded = true
	}
}

func (e *epoch) checkReported(t *testing.T, in Input, before Spent, reported LevelReported) {
	switch {
	case !reported.Again && (e.reported[reported.Level] || e.reported[LevelCritical]):
		t.Fatalf("%s was reported as if it were new", reported.Level)
	case reported.Again && (!e.reported[reported.Level] || in.Event == UserPromptSubmit):
		t.Fatalf("%s was reported again by %s, and never before", reported.Level, in.Event)
	case reported.Again && !before.Pressing && reported.Level == LevelWarn && reported.Pct < before.Pct+warnPoints,
		reported.Again && !before.Pressing && reported.Level == LevelCritical &&
			(before.Calls+1 < criticalCalls || reported.Pct < before.Pct+criticalPoints):
		t.Fatalf("%s was reported again too soon", reported.Level)
	}
	if e.reported == nil {
		e.reported = map[Level]bool{}
	}
	e.reported[reported.Level] = true
}
