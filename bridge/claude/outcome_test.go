package claude

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
)

func TestJudge(t *testing.T) {
	for _, test := range []struct {
		name     string
		f        resultFrame
		tr       priorErrors
		outcome  string
		category bridge.Category
	}{
		{"done", resultFrame{Subtype: "success", TerminalReason: "completed"}, priorErrors{}, bridge.TurnDone, ""},
		{"done after a refused tool call", resultFrame{Subtype: "success"}, priorErrors{kind: "server_error"},
			bridge.TurnDone, ""},
		{"interrupted", resultFrame{Subtype: "error_during_execution", IsError: true, TerminalReason: "aborted_tools"},
			priorErrors{}, bridge.TurnInterrupted, ""},
		{"interrupted, no error", resultFrame{Subtype: "success", TerminalReason: "aborted_streaming"}, priorErrors{},
			bridge.TurnInterrupted, ""},
		{"prompt", resultFrame{Subtype: "success", IsError: true, TerminalReason: "prompt_too_long", APIStatus: 400},
			priorErrors{}, bridge.TurnFailed, bridge.CatPromptTooLong},
		{"blocking", resultFrame{IsError: true, TerminalReason: "blocking_limit"}, priorErrors{}, bridge.TurnFailed,
			bridge.CatPromptTooLong},
		{"budget", resultFrame{Subtype: "error_max_budget_usd", IsError: true}, priorErrors{}, bridge.TurnFailed,
			bridge.CatBudget},
		{"verdict", resultFrame{Subtype: "error_max_structured_output_retries", IsError: true}, priorErrors{},
			bridge.TurnFailed, bridge.CatVerdict},
		{"compaction", resultFrame{Subtype: "success", TerminalReason: "rapid_refill_breaker"}, priorErrors{},
			bridge.TurnFailed, bridge.CatCompaction},
		{"refusal", resultFrame{IsError: true, StopReason: "refusal", TerminalReason: "api_error"},
			priorErrors{kind: "invalid_request"}, bridge.TurnFailed, bridge.CatRefusal},
		{"login", resultFrame{IsError: true, Text: "Not logged in · Please run /login"},
			priorErrors{kind: "authentication_failed"}, bridge.TurnFailed, bridge.CatAuth},
		{"401", resultFrame{IsError: true, APIStatus: 401}, priorErrors{}, bridge.TurnFailed, bridge.CatAuth},
		{"no credit left",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 Your credit balance is too low to access the API"},
			priorErrors{kind: "invalid_request"}, bridge.TurnFailed, bridge.CatCredit},
		{"no credit left, in few words", resultFrame{IsError: true}, priorErrors{kind: "billing_error"}, bridge.TurnFailed,
			bridge.CatCredit},
		{"no credit left, status alone", resultFrame{IsError: true, APIStatus: 402}, priorErrors{}, bridge.TurnFailed,
			bridge.CatCredit},
		{"429", resultFrame{IsError: true, APIStatus: 429, Text: "API Error: Request rejected (429) · slow down"},
			priorErrors{}, bridge.TurnFailed, bridge.CatRateLimit},
		{"usage limit", resultFrame{IsError: true, APIStatus: 429, Text: "Claude AI usage limit reached|1795300000"},
			priorErrors{}, bridge.TurnFailed, bridge.CatUsageLimit},
		{"usage limit, new words", resultFrame{IsError: true, Text: "You've hit your limit · resets 3pm (UTC)"},
			priorErrors{kind: "rate_limit"}, bridge.TurnFailed, bridge.CatUsageLimit},
		{"usage limit, event", resultFrame{IsError: true, APIStatus: 429},
			priorErrors{rejected: true, resetsAt: 1795300000}, bridge.TurnFailed, bridge.CatUsageLimit},
		{"usage limit, event without a time", resultFrame{IsError: true, APIStatus: 429}, priorErrors{rejected: true},
			bridge.TurnFailed, bridge.CatUsageLimit},
		{"tools and results do not match",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 due to tool use concurrency issues."},
			priorErrors{kind: "invalid_request"}, bridge.TurnFailed, bridge.CatResume},
		{"a result without its tool",
			resultFrame{IsError: true, APIStatus: 400,
				Text: "API Error: 400 orphaned tool_result in conversation history."}, priorErrors{kind: "invalid_request"},
			bridge.TurnFailed, bridge.CatResume},
		{"the same in the API's words",
			resultFrame{IsError: true, APIStatus: 400,
				Text: "API Error: 400 messages.1: `tool_use` ids were found without `tool_result` blocks"}, priorErrors{},
			bridge.TurnFailed, bridge.CatResume},
		{"400 about something else",
			resultFrame{IsError: true, APIStatus: 400, Text: "API Error: 400 tools.0: bad name"}, priorErrors{},
			bridge.TurnFailed, bridge.CatInvalidRequest},
		{"529", resultFrame{IsError: true, APIStatus: 529}, priorErrors{}, bridge.TurnFailed, bridge.CatOverloaded},
		{"status of the frame before", resultFrame{IsError: true}, priorErrors{status: 503}, bridge.TurnFailed,
			bridge.CatServer},
		{"413", resultFrame{IsError: true, APIStatus: 413, TerminalReason: "image_error"}, priorErrors{}, bridge.TurnFailed,
			bridge.CatPromptTooLong},
		{"kind alone", resultFrame{IsError: true}, priorErrors{kind: "model_not_found"}, bridge.TurnFailed,
			bridge.CatInvalidRequest},
		{"connection", resultFrame{IsError: true, TerminalReason: "api_error"}, priorErrors{kind: "unknown"},
			bridge.TurnFailed, bridge.CatServer},
	} {
		o := judge(test.f, test.tr)
		if o.outcome != test.outcome || o.category != test.category {
			t.Errorf("%s: got %+v", test.name, o)
		}
		if named := !test.tr.rejected ||
			test.tr.resetsAt != 0; (o.category == bridge.CatUsageLimit && named) != (o.resetsAt != 0) {
			t.Errorf("%s: resets at %d", test.name, o.resetsAt)
		}
	}
}

func TestResetTime(t *testing.T) {
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795300000": time.Unix(1795300000, 0),
		"5-hour limit reached ∙ resets 3pm":        now.Add(30 * time.Minute),
		"You've hit your limit · resets 2:30pm":    now.AddDate(0, 0, 1),
		"limit · resets 12am (Europe/Berlin)":      time.Date(2026, 11, 21, 23, 0, 0, 0, time.UTC),
		"limit · resets at 9:15AM (No/Such_Place)": time.Date(2026, 11, 22, 9, 15, 0, 0, time.UTC),
		"limit · resets Nov 24, 3pm (UTC)":         time.Date(2026, 11, 24, 15, 0, 0, 0, time.UTC),
		"limit · resets on Jan 3 at 9am":           time.Date(2027, 1, 3, 9, 0, 0, 0, time.UTC),
		"limit · resets November 21, 2pm":          time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC), // past: ready now
		"limit · resets 18:05":                     time.Date(2026, 11, 21, 18, 5, 0, 0, time.UTC),
		"usage limit reached|1795300000123":        time.Unix(1795300000, 0),
		"limit · resets 13pm":                      {},
		"limit · resets 0am":                       {},
		"limit · resets 25:00":                     {},
		"limit · resets in 2 hours":                {},
		"limit · resets 7":                         {},
		"limit · resets soon":                      {},
		"usage limit reached|99999999999999999 x":  {},
	} {
		got := resetTime(text, now)
		if want.IsZero() != (got == 0) || (got != 0 && got != want.Unix()) {
			t.Errorf("%q: got %v, want %v", text, time.Unix(got, 0).UTC(), want.UTC())
		}
	}
}

func TestCosts(t *testing.T) {
	resumed := newCosts(true)
	resumed.add(resultFrame{TotalCost: 5, SinceLast: map[string]modelUsage{"a": {CostUSD: 0.1}, "b": {CostUSD: 0.2}}})
	if got := resumed.take(); got < 0.299 || got > 0.301 {
		t.Errorf("with the share told: %v", got)
	}
	want := []bridge.ModelCost{{Model: "a", CostUSD: 0.1}, {Model: "b", CostUSD: 0.2}}
	if diff := cmp.Diff(want, resumed.takeModels()); diff != "" || resumed.takeModels() != nil {
		t.Errorf("by model (-want +got):\n%s", diff)
	}
	resumed.add(resultFrame{TotalCost: 5.5})
	if got := resumed.take(); got != 0.5 {
		t.Errorf("by difference: %v", got)
	}
	blind := newCosts(true)
	blind.add(resultFrame{TotalCost: 5}) // how much of it was spent before is unknown
	blind.add(resultFrame{TotalCost: 5.25})
	if got := blind.take(); got != 0.25 {
		t.Errorf("resumed without a share: %v", got)
	}
	resumed.add(resultFrame{TotalCost: 0.25}) // never negative
	if got := resumed.take(); got != 0 {
		t.Errorf("a total that fell: %v", got)
	}
}

func TestLongestPrompt(t *testing.T) {
	for text, want := range map[string]int{
		"prompt is too long: 140000 tokens > 131072 maximum":                                     131072,
		"Prompt is too long · the request is ~140000 tokens (limit 131072) but this is only ~24": 131072,
		"Prompt is too long":                       0,
		"tokens > 99999999999999999999999 maximum": 0,
		"413 request too large: 33554432 bytes":    0,
	} {
		if got := longestPrompt(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestTheWindowIsLearned: a refusal names the limit of a model whose window the CLI does not know.
func TestTheWindowIsLearned(t *testing.T) {
	onlyTheCLI(t, "words its own refusal")
	s, _ := live(t, reply{status: 400, kind: "invalid_request_error",
		message: "prompt is too long: 140000 tokens > 131072 maximum"})
	s.launch()
	if turn := s.turn("go"); turn.Category != bridge.CatPromptTooLong || turn.Window != 131_072 || turn.Model == "" {
		t.Errorf("turn: %+v", turn)
	}
}
