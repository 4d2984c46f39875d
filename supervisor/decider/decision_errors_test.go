package decider

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecoveryOptions(t *testing.T) {
	for _, c := range []struct {
		f    DecisionFailure
		want []DecisionAction
	}{
		{DecisionFailure{Category: ToolFailure}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: ProviderError, Transient: true}, []DecisionAction{DecisionRetry, DecisionFallback}},
		{DecisionFailure{Category: ProviderError}, []DecisionAction{DecisionFallback}},
		{DecisionFailure{Category: TimeoutError}, []DecisionAction{DecisionAbort, DecisionFallback}},
		{DecisionFailure{Category: PermissionError}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: ValidationError}, []DecisionAction{DecisionRetry, DecisionFallback}},
		{DecisionFailure{Category: AgentError}, []DecisionAction{DecisionRetry, DecisionAbort, DecisionFallback}},
		{DecisionFailure{Category: UnknownError}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
		{DecisionFailure{Category: "new"}, []DecisionAction{DecisionRetry, DecisionSkip, DecisionFallback}},
	} {
		var got []DecisionAction
		for _, o := range RecoveryOptions(c.f) {
			got = append(got, o.Action)
			if o.Description == "" || o.Reason == "" {
				t.Errorf("%s: %s says nothing", c.f.Category, o.Action)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s, transient %v (-want +got):\n%s", c.f.Category, c.f.Transient, diff)
		}
	}
}

func TestNothingIsSkippedWhereThereIsNoPlan(t *testing.T) {
	r := DecisionRecord{Error: &DecisionFailure{Message: "m"}}
	for _, o := range SelectInput(r).LastError.RecoveryOptions {
		if o.Action == DecisionSkip {
			t.Error("without a plan a step can be skipped")
		}
	}
	r.Steps = []DecisionStep{{}}
	if n := len(SelectInput(r).LastError.RecoveryOptions); n != 3 {
		t.Errorf("%d options with a plan, want 3", n)
	}
	if got := SelectInput(r).LastError.Category; got != UnknownError {
		t.Errorf("an error without a category is %q", got)
	}
	if SelectInput(DecisionRecord{}).LastError != nil {
		t.Error("an error where there is none")
	}
}

func TestToolCategory(t *testing.T) {
	for _, c := range []struct {
		message string
		denied  bool
		want    DecisionCategory
	}{
		{"Exit code 1", false, ToolFailure},
		{"", false, ToolFailure},
		{"", true, PermissionError},
		{"Command timed out after 2m", true, PermissionError},
		{"Exit code 143\nCommand timed out after 1s", false, TimeoutError},
		{"bash: ./x: Permission denied", false, PermissionError},
		{"EACCES: permission denied, open 'x'", false, PermissionError},
		{"Claude requested permissions to write to x, but you haven't granted it yet.", false, PermissionError},
		{"InputValidationError: Write failed: the required parameter `content` is missing", false, ValidationError},
		{"context deadline exceeded", false, TimeoutError},
	} {
		if got := ToolCategory(c.message, c.denied); got != c.want {
			t.Errorf("%q, denied %v: %s, want %s", c.message, c.denied, got, c.want)
		}
	}
}
