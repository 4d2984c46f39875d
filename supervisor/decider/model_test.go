package decider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const test = `{"decision":"SELECT_MODE","mode":"tester","reason":"Test it.","message":"Run them all."}`

func TestModelDecides(t *testing.T) {
	asker := says("Well. " + test)
	in := SelectInput(record(ran(developer, 1, ok)))
	got := testkit.Must(Model{Ask: asker, Prompts: plain{}}.Decide(context.Background(), in))(t)
	want := Decision{Decision: SelectMode, Mode: tester, Reason: "Test it.", Message: "Run them all.", Source: ByModel,
		System: "choose", Prompt: "select " + Key(in), Answer: "Well. " + test, Attempts: 1,
		Usage: Usage{Input: 10, Output: 1, CostUSD: 0.5}}
	testkit.Same(t, "", want, got)
	q := Question{System: "choose", Prompt: "select " + Key(in), Schema: schema(PointSelect)}
	testkit.Same(t, "the questions", []Question{q}, asker.asked)
}

func TestModelIsCorrected(t *testing.T) {
	asker := says("nonsense", `{"decision":"SELECT_MODE","mode":"wizard","reason":"x"}`, test)
	in := EvaluateInput(record(ran(developer, 1, ok)))
	got := testkit.Must(Model{Ask: asker, Prompts: plain{}}.Decide(context.Background(), in))(t)
	if got.Mode != tester || got.Attempts != 3 || got.Usage.CostUSD != 1.5 || len(got.Warnings) != 2 {
		t.Errorf("decided %+v, want the third answer with the cost of all and two warnings", got)
	}
	for i, word := range []string{"no valid JSON", "no such agent"} {
		prompt := asker.asked[i+1].Prompt
		if !strings.HasPrefix(prompt, "evaluate "+Key(in)+"\n") || !strings.Contains(prompt, word) {
			t.Errorf("correction %d is %q: want the prompt again, and %q", i+1, prompt, word)
		}
		if !strings.Contains(got.Warnings[i], word) {
			t.Errorf("warning %d is %q, want one of %q", i+1, got.Warnings[i], word)
		}
	}
	if strings.Contains(asker.asked[2].Prompt, "nonsense") {
		t.Error("corrections pile up")
	}
	if got.Prompt != asker.asked[2].Prompt {
		t.Error("the prompt told is not the one that was answered")
	}
}

func TestModelStaysInvalid(t *testing.T) {
	asker := says("one", "two", "three")
	got, err := Model{Ask: asker, Prompts: plain{}}.Decide(context.Background(), SelectInput(record()))
	var invalid *InvalidError
	if !errors.As(err, &invalid) || invalid.Attempts != 3 || invalid.Answer != "three" {
		t.Fatalf("error %v, want an InvalidError after three answers", err)
	}
	if got.Decision != "" || got.Attempts != 3 || got.Usage.CostUSD != 1.5 || got.Answer != "three" {
		t.Errorf("with the error came %+v, want what it has cost and no decision", got)
	}
}

func TestModelIsAskedAgainAfterTroubleThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trouble := reply{err: fmt.Errorf("asking: %w", passing(true))}
		asker := &script{replies: []reply{trouble, trouble, {text: test}}}
		begin := time.Now()
		got, err := Model{Ask: asker, Prompts: plain{}}.Decide(t.Context(), SelectInput(record()))
		if err != nil || got.Mode != tester || got.Attempts != 3 || len(got.Warnings) != 2 {
			t.Fatalf("decided %+v, %v", got, err)
		}
		var waits []time.Duration
		for _, at := range asker.at {
			waits = append(waits, at.Sub(begin))
		}
		testkit.Same(t, "asked at", []time.Duration{0, time.Second, 5 * time.Second}, waits)
	})
}

func TestModelGivesUp(t *testing.T) {
	for name, c := range map[string]struct {
		reply    reply
		attempts int
		is       error
	}{
		"trouble that does not pass by":    {reply{err: passing(true)}, 3, passing(true)},
		"trouble that says it will stay":   {reply{err: passing(false)}, 1, passing(false)},
		"trouble of an unknown kind":       {reply{err: errBroken}, 1, errBroken},
		"no answer in time, and no second": {reply{hangs: true}, 1, context.DeadlineExceeded},
		"no answer in time, for a reason":  {reply{hangs: true, err: passing(true)}, 1, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asker := &script{replies: []reply{c.reply}}
				got, err := Model{Ask: asker, Prompts: plain{}, Timeout: time.Minute}.Decide(t.Context(),
					SelectInput(record()))
				if !errors.Is(err, c.is) || asker.count() != c.attempts || got.Attempts != c.attempts ||
					got.Decision != "" {
					t.Errorf("after %d attempts %+v, %v; want %d and %v", asker.count(), got, err, c.attempts, c.is)
				}
			})
		})
	}
}

func TestModelIsCancelled(t *testing.T) {
	for name, replies := range map[string][]reply{
		"while it thinks":  {{hangs: true}},
		"while it is slow": {{err: passing(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				asker := &script{replies: replies}
				done := make(chan error, 1)
				go func() {
					_, err := Model{Ask: asker, Prompts: plain{}}.Decide(ctx, SelectInput(record()))
					done <- err
				}()
				synctest.Wait()
				cancel()
				synctest.Wait()
				select {
				case err := <-done:
					if !errors.Is(err, context.Canceled) || asker.count() != 1 {
						t.Errorf("after %d questions: %v", asker.count(), err)
					}
				default:
					t.Error("it goes on")
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	asker := says(test)
	if _, err := (Model{Ask: asker, Prompts: plain{}}).Decide(ctx, SelectInput(record())); !errors.Is(err,
		context.Canceled) || asker.count() != 0 {
		t.Errorf("cancelled before: %v after %d questions", err, asker.count())
	}
}

func TestModelPrompts(t *testing.T) {
	in := SelectInput(record())
	_, err := Model{Ask: says(test), Prompts: plain{errBroken}}.Decide(context.Background(), in)
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v, want the template's", err)
	}
	got, err := Model{Ask: says(test), Prompts: plain{errBroken}, BuiltIn: plain{}}.Decide(context.Background(),
		in)
	if err != nil || got.Mode != tester || len(got.Warnings) != 1 ||
		!strings.Contains(got.Warnings[0], errBroken.Error()) {
		t.Errorf("decided %+v, %v; want the built-in prompt's decision with a warning", got, err)
	}
	task := record(ran(developer, 1, bad))
	set := testkit.Must(NewSet(nil))(t)
	got, err = Model{Ask: says(test), Prompts: set}.Decide(context.Background(), SelectInput(task))
	if err != nil || got.Mode != tester || !strings.Contains(got.Prompt, task.Task) {
		t.Errorf("with the built-in templates: %+v, %v", got, err)
	}
	if _, err := (Model{}).Decide(context.Background(), in); err == nil {
		t.Error("a model without anything decides")
	}
	if _, err := (Model{Prompts: plain{}}).Decide(context.Background(), in); err == nil {
		t.Error("a model that cannot be asked decides")
	}
}
