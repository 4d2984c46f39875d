package decision

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecoveryOptions(t *testing.T) {
	for _, c := range []struct {
		f    Failure
		want []Action
	}{
		{Failure{Category: ToolFailure}, []Action{Retry, Skip, Fallback}},
		{Failure{Category: ProviderError, Transient: true}, []Action{Retry, Fallback}},
		{Failure{Category: ProviderError}, []Action{Fallback}},
		{Failure{Category: TimeoutError}, []Action{Abort, Fallback}},
		{Failure{Category: PermissionError}, []Action{Retry, Skip, Fallback}},
		{Failure{Category: ValidationError}, []Action{Retry, Fallback}},
		{Failure{Category: AgentError}, []Action{Retry, Abort, Fallback}},
		{Failure{Category: UnknownError}, []Action{Retry, Skip, Fallback}},
		{Failure{}, []Action{Retry, Skip, Fallback}},
		{Failure{Category: "new"}, []Action{Retry, Skip, Fallback}},
	} {
		var got []Action
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
	r := Record{Error: &Failure{Message: "m"}}
	for _, o := range Select(r).LastError.RecoveryOptions {
		if o.Action == Skip {
			t.Error("without a plan a step can be skipped")
		}
	}
	r.Steps = []Step{{}}
	if n := len(Select(r).LastError.RecoveryOptions); n != 3 {
		t.Errorf("%d options with a plan, want 3", n)
	}
	if got := Select(r).LastError.Category; got != UnknownError {
		t.Errorf("an error without a category is %q", got)
	}
	if Select(Record{}).LastError != nil {
		t.Error("an error where there is none")
	}
}

func TestToolCategory(t *testing.T) {
	for _, c := range []struct {
		message string
		denied  bool
		want    Category
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
