package hooks

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestParse(t *testing.T) {
	// As CLI 2.1.329 writes it, shortened.
	const full = `{"session_id":"33e2ace1-d4bc-47dd-9200-fa457d13e61f","transcript_path":"/h/.claude/projects/-w/33e2ace1-d4bc-47dd-9200-fa457d13e61f.jsonl",
"cwd":"/w","prompt_id":"e5351c41","permission_mode":"default","agent_id":"a22d","agent_type":"general-purpose","effort":{"level":"medium"},
"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"false","agent_id":"inner"},"tool_use_id":"toolu_1",
"error":"Exit code 1","is_interrupt":true,"duration_ms":12}`
	want := Input{Event: PostToolUseFailure, SessionID: "33e2ace1-d4bc-47dd-9200-fa457d13e61f",
		TranscriptPath: "/h/.claude/projects/-w/33e2ace1-d4bc-47dd-9200-fa457d13e61f.jsonl", AgentID: "a22d",
		AgentType: "general-purpose", Tool: "Bash", ToolUseID: "toolu_1", IsInterrupt: true}
	got := testkit.Must(Parse(json.RawMessage(full)))(t)
	testkit.Same(t, "", want, got)
	for raw, want := range map[string]Input{
		// Case is not folded.
		`{"hook_event_name":"PostToolUse","Agent_ID":"x","AGENT_ID":"y","Hook_Event_Name":"Stop"}`: {
			Event: PostToolUse},
		`{"hook_event_name":"Tomorrow","what":[1]}`: {Event: "Tomorrow"},
		`{"hook_event_name":"PreCompact","trigger":"auto","custom_instructions":null}`: {Event: PreCompact,
			Trigger: "auto"},
		`{"hook_event_name":"PostToolUse","agent_id":null}`: {Event: PostToolUse},
		` {"hook_event_name":"SessionStart","source":"compact","stop_hook_active":true} `: {Event: SessionStart,
			Source: "compact"},
	} {
		got, err := Parse(json.RawMessage(raw))
		testkit.Check(t, err == nil && got == want, "%s: %+v, %v; want %+v", raw, got, err, want)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, raw := range []string{
		"", "null", "[]", "7", `"PostToolUse"`, "{", `{}`, `{"hook_event_name":""}`, `{"hook_event_name":7}`,
		`{"hook_event_name":"PostToolUse","agent_id":7}`, `{"hook_event_name":"PostToolUse","is_interrupt":"yes"}`,
		`{"hook_event_name":"PostToolUse"}{}`,
	} {
		in, err := Parse(json.RawMessage(raw))
		testkit.Check(t, err != nil, "%q was taken for %+v", raw, in)
	}
}

func TestAnswers(t *testing.T) {
	for want, a := range map[string]Answer{
		`{}`: {},
		`{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"a \"b\"\n"}}`: {Event: PostToolUse,
			Context: "a \"b\"\n"},
		`{"decision":"block","reason":"no"}`: {Event: PreCompact, Block: true, Reason: "no",
			Context: "not with a block"},
		`{"decision":"block"}`: {Event: PreCompact, Block: true},
	} {
		testkit.Same(t, a, want, string(a.JSON()))
	}
}

func TestSettings(t *testing.T) {
	var got struct {
		Hooks map[string][]struct {
			Matcher string
			Hooks   []struct {
				Type, Command string
				Timeout       int
			}
		}
	}
	const command = `'/a b/arbiter' hook --socket '/s'`
	testkit.OK(t, json.Unmarshal(Settings(command), &got))
	testkit.Same(t, "events", len(Events), len(got.Hooks))
	for event, list := range got.Hooks {
		testkit.Need(t, len(list) == 1 && len(list[0].Hooks) == 1, "%s: %+v", event, list)
		h := list[0].Hooks[0]
		testkit.Check(t, h.Type == "command" && h.Command == command && h.Timeout == TimeoutSeconds, "%s: %+v", event,
			h)
		if byTool := strings.HasPrefix(event, "PostToolUse"); (list[0].Matcher == "*") != byTool {
			t.Errorf("%s: matcher %q", event, list[0].Matcher)
		}
	}
}

func TestWarnings(t *testing.T) {
	r := Reading{Tokens: 1_172_000, Window: 1_200_000, Pct: 85.9}
	for _, tt := range []struct {
		role  string
		level Level
		want  string
	}{
		{RoleOrchestrator, LevelWarn, "Finish and commit the step"},
		{RoleOrchestrator, LevelCritical, "kind `handoff`"},
		{RoleArbiter, LevelWarn, "will ask you for HANDOFF"},
		{RoleArbiter, LevelCritical, "End this turn now"},
		{"", LevelCritical, "kind `handoff`"},
	} {
		text := warningText(Policy{Role: tt.role}, tt.level, r, false)
		first, rest, _ := strings.Cut(text, "\n")
		testkit.Same(t, "first line",
			MarkContext+" "+string(tt.level)+": 86 % full, 1,172,000 of 1,200,000 tokens.", first)
		testkit.Check(t, strings.Contains(rest, tt.want) && !strings.Contains(text, "blocked"), "%s %s: %q", tt.role,
			tt.level, rest)
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 172_000: "172,000", 1_000_000: "1,000,000",
		-1500: "-1,500", -150: "-150"} {
		testkit.Same(t, fmt.Sprintf("grouped(%d) =", n), want, grouped(n))
	}
}

func TestFit(t *testing.T) {
	whole := strings.Repeat("é", MaxContext)
	testkit.Same(t, "a text that fits was cut", whole, fit(whole))
	for _, text := range []string{whole + "é", strings.Repeat("😀", MaxContext/2) + "x", strings.Repeat("x", 1<<20),
		strings.Repeat("\xff", MaxContext+1)} {
		got := fit(text)
		n := unitsOf(got)
		testkit.Check(t, n <= MaxContext && n >= MaxContext-2, "%d units, want as many of %d as go", n, MaxContext)
		kept, ok := strings.CutSuffix(got, cutMark)
		testkit.Check(t, ok && strings.HasPrefix(text, kept), "it is not a beginning of the text, with the mark")
	}
}

func nan() float64 { return math.NaN() }
func inf() float64 { return math.Inf(1) }

func unitsOf(s string) int { return len(utf16.Encode([]rune(s))) }

// FuzzParse: an event that is parsed and encoded again is parsed to the same value.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"hook_event_name":"PostToolUse","tool_name":"Bash","agent_id":"a","is_interrupt":true}`))
	f.Add([]byte(`{"hook_event_name":"\ud800","agent_id":"\u0000"}`))
	f.Add([]byte(`{"hook_event_name":"x","hook_event_name":"y"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in, err := Parse(raw)
		if err != nil {
			return
		}
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
