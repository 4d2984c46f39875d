package decider

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixed always makes the same decision.
type fixed struct {
	d     Decision
	err   error
	calls *int
}

func (f fixed) Decide(context.Context, Input) (Decision, error) {
	if f.calls != nil {
		*f.calls++
	}
	return f.d, f.err
}

func TestSession(t *testing.T) {
	for _, name := range []string{"", "session"} {
		d := Build(Options{Name: name})
		_, first := d.Decide(context.Background(), SelectAgentInput{})
		_, second := d.Decide(context.Background(), EvaluateProgressInput{})
		if !errors.Is(first, ErrDeferred) || !errors.Is(second, ErrDeferred) {
			t.Errorf("%q: %v, %v; want ErrDeferred", name, first, second)
		}
	}
}

func TestHybrid(t *testing.T) {
	ctx := context.Background()
	calls := 0
	h := Hybrid{Rest: fixed{d: Decision{Decision: Retry, Reason: "x", Source: ByModel}, calls: &calls}}
	if d, err := h.Decide(ctx, SelectInput(record())); err != nil || d.Mode != planner ||
		d.Source != ByRules || calls != 0 {
		t.Errorf("a clear case: %+v, %v after %d calls; want the rules'", d, err, calls)
	}
	if d, err := h.Decide(ctx, SelectInput(record(ran(developer, 1, bad)))); err != nil ||
		d.Source != ByModel || calls != 1 {
		t.Errorf("an unclear case: %+v, %v after %d calls; want the other's", d, err, calls)
	}
	clear := planned(record(ran(developer, 1, ok)), step("complete", ""), step("pending", tester))
	if d, err := h.Decide(ctx, EvaluateInput(clear)); err != nil || d.Mode != tester ||
		d.Source != ByRules || calls != 1 {
		t.Errorf("a clear evaluation: %+v, %v after %d calls; want the rules'", d, err, calls)
	}
	over := planned(record(ran(developer, 1, ok), ran(tester, 2, ok)), step("complete", ""))
	if d, err := h.Decide(ctx, EvaluateInput(over)); err != nil || d.Source != ByModel || calls != 2 {
		t.Errorf("an end: %+v, %v after %d calls; want the other's: a model has to look", d, err, calls)
	}
	if _, err := (Hybrid{}).Decide(ctx, SelectInput(record(ran(developer, 1, bad)))); !errors.Is(err,
		errUnclear) {
		t.Errorf("without another decider: %v, want ErrUnclear", err)
	}
	if _, err := (Hybrid{}).Decide(ctx, EvaluateInput(over)); !errors.Is(err, errUnclear) {
		t.Errorf("without another decider: %v, want ErrUnclear", err)
	}
}

func TestFallback(t *testing.T) {
	in := SelectInput(record(ran(developer, 1, bad)))
	spent := Decision{Source: ByModel, Prompt: "p", Answer: "a", Attempts: 3, Warnings: []string{"first"},
		Usage: Usage{CostUSD: 2}}
	var told []string
	f := Fallback{First: fixed{d: spent, err: errBroken}, Warn: func(s string) { told = append(told, s) }}
	got, err := f.Decide(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := in.Rule()
	want.Source, want.Prompt, want.Answer, want.Attempts, want.Usage = ByFallback, "p", "a", 3, Usage{CostUSD: 2}
	want.Warnings = []string{"first", "the rules decide: the thread is cut"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Warnings[1:], told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestFallbackDoesNotActOnWhatCannotBe(t *testing.T) {
	for _, d := range []Decision{
		{Decision: SelectMode, Mode: "wizard", Reason: "x"}, {Decision: Continue, Reason: "x"}, {Decision: Retry}, {},
	} {
		got, err := Fallback{First: fixed{d: d}}.Decide(context.Background(), SelectInput(record()))
		if err != nil || got.Source != ByFallback || len(got.Warnings) != 1 {
			t.Errorf("%+v came to %+v, %v; want a fallback", d, got, err)
		}
	}
}

func TestFallbackLetsPass(t *testing.T) {
	in := SelectInput(record())
	if _, err := (Fallback{First: broken{ErrDeferred}}).Decide(t.Context(), in); !errors.Is(err, ErrDeferred) {
		t.Errorf("deferred: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	f := Fallback{First: fixed{err: errBroken}, Warn: func(string) { t.Error("warned of a cancelled decision") }}
	if d, err := f.Decide(ctx, in); err != errBroken { // and no other error with it
		t.Errorf("decided %+v, %v after the context's end", d, err)
	}
	if d, err := f.Decide(ctx, EvaluateInput(record(ran(developer, 1, ok)))); err != errBroken {
		t.Errorf("decided %+v, %v after the context's end", d, err)
	}
	_, err := Fallback{First: fixed{err: errBroken}}.Decide(context.Background(), SelectAgentInput{})
	if !errors.Is(err, errBroken) || !errors.Is(err, errNoAgents) {
		t.Errorf("neither can: %v, want both errors", err)
	}
}

func TestBuildUnknown(t *testing.T) {
	got, err := Build(Options{Name: "oracle"}).Decide(context.Background(), SelectInput(record()))
	if err != nil || got.Source != ByFallback || !strings.Contains(strings.Join(got.Warnings, " "), `"oracle"`) {
		t.Errorf("decided %+v, %v; want the rules, and a warning", got, err)
	}
	if _, err := Build(Options{Name: "oracle", Strict: true}).Decide(context.Background(),
		SelectInput(record())); err == nil {
		t.Error("strict: want an error")
	}
}
