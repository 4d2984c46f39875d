package hooks

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestParse(t *testing.T) {
	// As CLI 2.1.329 writes it, shortened.
	const full = `{"session_id":"33e2ace1-d4bc-47dd-9200-fa457d13e61f","transcript_path":"/h/.claude/projects/-w/33e2ace1-d4bc-47dd-9200-fa457d13e61f.jsonl",
"cwd":"/w","prompt_id":"e5351c41","permission_mode":"default","agent_id":"a22d","agent_type":"general-purpose","effort":{"level":"medium"},
"hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{"command":"false","agent_id":"inner"},"tool_use_id":"toolu_1",
"error":"Exit code 1","is_interrupt":true,"duration_ms":12}`
	want := Input{Event: PostToolUseFailure, SessionID: "33e2ace1-d4bc-47dd-9200-fa457d13e61f",
		TranscriptPath: "/h/.claude/projects/-w/33e2ace1-d4bc-47dd-9200-fa457d13e61f.jsonl", CWD: "/w", AgentID: "a22d",
		AgentType: "general-purpose", Tool: "Bash", ToolUseID: "toolu_1", Error: "Exit code 1", IsInterrupt: true}
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
			Source: "compact", StopHookActive: true},
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
	testkit.Same(t, "events", len(Registrations()), len(got.Hooks))
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
