package decider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

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
	testkit.Check(t, got.Mode == tester && got.Attempts == 3 && got.Usage.CostUSD == 1.5 && len(got.Warnings) == 2,
		"decided %+v, want the third answer with the cost of all and two warnings", got)
	for i, word := range []string{"no valid JSON", "no such agent"} {
		prompt := asker.asked[i+1].Prompt
		testkit.Check(t, strings.HasPrefix(prompt, "evaluate "+Key(in)+"\n") && strings.Contains(prompt, word),
			"correction %d is %q: want the prompt again, and %q", i+1, prompt, word)
		testkit.Includes(t, fmt.Sprintf("warning %d is, want one", i+1), got.Warnings[i], word)
	}
	testkit.Excludes(t, "corrections pile up", asker.asked[2].Prompt, "nonsense")
	testkit.Same(t, "the prompt told is not the one that was answered", asker.asked[2].Prompt, got.Prompt)
}

func TestModelStaysInvalid(t *testing.T) {
	asker := says("one", "two", "three")
	got, err := Model{Ask: asker, Prompts: plain{}}.Decide(context.Background(), SelectInput(record()))
	if invalid, ok := errors.AsType[*AnswerError](err); !ok || !strings.Contains(err.Error(), "none of 3 answers") {
		t.Fatalf("error %v (%v), want an AnswerError after three answers", err, invalid)
	}
	testkit.Check(t, got.Decision == "" && got.Attempts == 3 && got.Usage.CostUSD == 1.5 && got.Answer == "three",
		"with the error came %+v, want what it has cost and no decision", got)
}

func TestModelIsAskedAgainAfterTroubleThatPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trouble := reply{err: fmt.Errorf("asking: %w", passing(true))}
		asker := &script{replies: []reply{trouble, trouble, {text: test}}}
		begin := time.Now()
		got, err := Model{Ask: asker, Prompts: plain{}}.Decide(t.Context(), SelectInput(record()))
		testkit.Need(t, err == nil && got.Mode == tester && got.Attempts == 3 && len(got.Warnings) == 2,
			"decided %+v, %v", got, err)
		waits := testkit.Each(asker.at, func(at time.Time) time.Duration { return at.Sub(begin) })
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
				testkit.Check(t, errors.Is(err, c.is) && asker.count() == c.attempts && got.Attempts == c.attempts &&
					got.Decision == "", "after %d attempts %+v, %v; want %d and %v", asker.count(), got, err,
					c.attempts, c.is)
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
					testkit.Check(t, errors.Is(err, context.Canceled) && asker.count() == 1, "after %d questions: %v",
						asker.count(), err)
				default:
					t.Error("it goes on")
				}
			})
		})
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	asker := says(test)
	_, err := (Model{Ask: asker, Prompts: plain{}}).Decide(ctx, SelectInput(record()))
	testkit.Check(t, errors.Is(err, context.Canceled) && asker.count() == 0, "cancelled before: %v after %d questions",
		err, asker.count())
}

func TestModelPrompts(t *testing.T) {
	in := SelectInput(record())
	_, err := Model{Ask: says(test), Prompts: plain{errBroken}}.Decide(context.Background(), in)
	testkit.Check(t, errors.Is(err, errBroken), "error %v, want the template's", err)
	got, err := Model{Ask: says(test), Prompts: plain{errBroken}, BuiltIn: plain{}}.Decide(context.Background(),
		in)
	testkit.Check(t, err == nil && got.Mode == tester && len(got.Warnings) == 1 &&
		strings.Contains(got.Warnings[0], errBroken.Error()),
		"decided %+v, %v; want the built-in prompt's decision with a warning", got, err)
	task := record(ran(developer, 1, bad))
	set := testkit.Must(NewSet(nil))(t)
	got, err = Model{Ask: says(test), Prompts: set}.Decide(context.Background(), SelectInput(task))
	testkit.Check(t, err == nil && got.Mode == tester && strings.Contains(got.Prompt, task.Task),
		"with the built-in templates: %+v, %v", got, err)
	testkit.Fails(t, "a model without anything decides", testkit.Err((Model{}).Decide(context.Background(), in)))
	testkit.Fails(t, "a model that cannot be asked decides",
		testkit.Err((Model{Prompts: plain{}}).Decide(context.Background(), in)))
}

const goesOn = `{"decision":"CONTINUE","reason":"It is right."}`

func TestParseDecisionTolerates(t *testing.T) {
	on := Decision{Decision: Continue, Reason: "It is right."}
	for name, c := range map[string]struct {
		raw  string
		want Decision
	}{
		"bare":                {goesOn, on},
		"a BOM":               {"\ufeff" + goesOn, on},
		"space":               {"\n\t " + goesOn + "\r\n", on},
		"fences":              {"```json\n" + goesOn + "\n```", on},
		"prose":               {"Here is {my} answer:\n\n" + goesOn + "\n\nI hope {that} helps.", on},
		"an open brace":       {"A set begins with { and: " + goesOn, on},
		"an open quote":       {`It said "no: ` + goesOn, on},
		"several":             {`{"decision":"RETRY","reason":"No."} or rather ` + goesOn, on},
		"another object last": {goesOn + ` {"note":"that was it"}`, on},
		"inside another":      {`{"answer":` + goesOn + `}`, on},
		"one in a string": {
			`{"decision":"CONTINUE","reason":"It is right.","message":"Say {\"decision\":\"RETRY\"} } {"}`,
			Decision{Decision: Continue, Reason: "It is right.", Message: `Say {"decision":"RETRY"} } {`}},
		"a quote in a string": {`{"decision":"CONTINUE","reason":"It is right.","message":"an inch (\") and a }"}`,
			Decision{Decision: Continue, Reason: "It is right.", Message: `an inch (") and a }`}},
		"one inside": {
			`{"decision":"CONTINUE","reason":"It is right.","was":{"decision":"RETRY","reason":"No."}}`, on},
		"unknown members": {`{"confidence":0.9,"decision":"CONTINUE","reason":" It is right. "}`, on},
		"null":            {`{"decision":"CONTINUE","mode":null,"reason":"It is right.","summary":null}`, on},
		"a mode for nothing": {`{"decision":"CONTINUE","mode":"wizard","summary":"so far","reason":"It is right."}`,
			on},
		"a mode": {`{"decision":"SELECT_MODE","mode":" tester ","reason":"Test."}`,
			Decision{Decision: SelectMode, Mode: tester, Reason: "Test."}},
		"no summary": {`{"decision":"COMPLETE","reason":"All done."}`,
			Decision{Decision: Complete, Reason: "All done.", Summary: "All done."}},
		"no reason": {`{"decision":"COMPLETE","summary":"All done."}`,
			Decision{Decision: Complete, Reason: "All done.", Summary: "All done."}},
		"escapes":            {`{"decision":"CONTINUE","reason":"It is\u0020right."}`, on},
		"a broken one first": {`{"decision":"RETRY",} ` + goesOn, on},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Same(t, "", c.want, testkit.Must(parseDecision(c.raw, PointEvaluate, builtIn()))(t))
		})
	}
}

func TestParseDecisionRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		raw   string
		point DecisionPoint
		want  string
	}{
		"nothing":          {" \n", PointSelect, "empty"},
		"prose":            {"I would go on.", PointSelect, "no valid JSON object"},
		"no decision":      {`{"reason":"x"}`, PointSelect, "no valid JSON object"},
		"cut short":        {goesOn[:30], PointSelect, "no valid JSON object"},
		"a trailing comma": {`{"decision":"RETRY","reason":"x",}`, PointSelect, "no valid JSON object"},
		"another point's": {goesOn, PointSelect,
			"`decision` is \"CONTINUE\": give one of SELECT_MODE, COMPLETE, RETRY."},
		"lower case": {`{"decision":"retry","reason":"x"}`, PointEvaluate,
			"give one of CONTINUE, COMPLETE, RETRY, SELECT_MODE."},
		"another's case":    {`{"Decision":"RETRY","reason":"x"}`, PointEvaluate, "no valid JSON object"},
		"an empty decision": {`{"decision":null,"reason":"x"}`, PointEvaluate, "`decision` is empty"},
		"a number":          {`{"decision":1,"reason":"x"}`, PointEvaluate, "`decision` is not a string"},
		"no reason":         {`{"decision":"RETRY","reason":"  "}`, PointEvaluate, "`reason` is missing"},
		"neither":           {`{"decision":"COMPLETE"}`, PointEvaluate, "`reason` is missing"},
		"no mode": {`{"decision":"SELECT_MODE","reason":"x"}`, PointSelect,
			"`mode` is missing: SELECT_MODE needs one of developer, planner"},
		"an unknown mode": {`{"decision":"SELECT_MODE","mode":"wizard","reason":"x"}`, PointSelect,
			"`mode` is \"wizard\", and there is no such agent"},
		"a long reason": {`{"decision":"RETRY","reason":"` + strings.Repeat("ü", maxReason+1) + `"}`,
			PointSelect, "longer than 2000 characters"},
		"a long answer": {strings.Repeat(" ", maxAnswer) + goesOn, PointEvaluate, "longer than 262144 bytes"},
		"bytes":         {"\xff" + goesOn, PointEvaluate, "not valid UTF-8"},
		"all at once":   {`{"decision":"GO","mode":"wizard"}`, PointEvaluate, "`reason` is missing"},
		"no question":   {goesOn, PointTalk, "nothing is decided"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseDecision(c.raw, c.point, builtIn())
			wrong, ok := errors.AsType[*AnswerError](err)
			testkit.Check(t, ok && strings.Contains(wrong.Problem, c.want), "error %v, want one that says %q", err, c.want)
			testkit.Same(t, "a decision came with the error", Decision{}, got)
		})
	}
	_, err := parseDecision(`{"decision":"SELECT_MODE","mode":"x","reason":"x"}`, PointSelect, nil)
	testkit.Fails(t, "without agents", err, "no agent to select")
}

// TestParseDecisionIsBounded: unclosed braces cost no more than the bound of their number allows.
func TestParseDecisionIsBounded(t *testing.T) {
	testkit.WithoutRace(t)
	deep := `{"decision"` + strings.Repeat(`{"a":`, maxAnswer/5-20) + `"decision"`
	testkit.Fails(t, "nothing but open braces is a decision",
		testkit.Err(parseDecision(deep, PointEvaluate, builtIn())))
	n := testing.AllocsPerRun(1, func() { _, _ = parseDecision(deep, PointEvaluate, builtIn()) })
	testkit.Check(t, n <= 100*maxStarts, "%v allocations", n)
}

// TestSchema: the schema is flat, and accepts what the parser accepts.
func TestSchema(t *testing.T) {
	s := schema(PointTalk)
	testkit.Check(t, s == nil, "a schema for talking: %s", s)
	for _, p := range []DecisionPoint{PointSelect, PointEvaluate} {
		var s jsonschema.Schema
		testkit.OK(t, json.Unmarshal(schema(p), &s))
		testkit.Check(t, s.Type == "object" && s.OneOf == nil && s.AnyOf == nil && s.AllOf == nil,
			"%s: the API refuses a schema that is not a flat object", p)
		resolved := testkit.Must(s.Resolve(nil))(t)
		for _, kind := range []string{SelectMode, Continue, Retry, Complete, "GO"} {
			answer := map[string]any{"decision": kind, "mode": tester, "reason": "x"}
			text := testkit.Must(json.Marshal(answer))(t)
			bySchema := resolved.Validate(answer)
			_, byParser := parseDecision(string(text), p, builtIn())
			testkit.Check(t, (bySchema == nil) == (byParser == nil), "%s at %s: the schema says %v, the parser %v",
				kind, p, bySchema, byParser)
		}
		testkit.Check(t, resolved.Validate(map[string]any{"decision": Retry}) != nil, "%s: a reason is not required", p)
	}
}

func TestClip(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"thread", 6, "thread"}, {"threads", 6, "threa…"}, {"fäden", 5, "fäden"}, {"fädens", 5, "fäde…"},
		{"a b c", 3, "a…"}, {"", 3, ""},
	} {
		testkit.Same(t, fmt.Sprintf("clip(%q, %d) =", c.in, c.n), c.want, clip(c.in, c.n))
	}
}

func FuzzParseDecision(f *testing.F) {
	for _, s := range []string{goesOn, "```json\n" + goesOn + "\n```", `{"a":{"decision":"RETRY","reason":"}"}}`, "{{{",
		`{"decision":"COMPLETE","summary":"x"}`, `{"decision":"SELECT_MODE","mode":"tester","reason":"\ud800"}`,
		"\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, in := range []Input{SelectAgentInput{TaskInput: TaskInput{AvailableAgents: builtIn()}},
			EvaluateProgressInput{TaskInput: TaskInput{AvailableAgents: builtIn()}}} {
			p := in.Point()
			d, err := parseDecision(raw, p, builtIn())
			var wrong *AnswerError
			if err != nil {
				testkit.Need(t, errors.As(err, &wrong) && utf8.ValidString(wrong.Problem), "error %v", err)
				continue
			}
			testkit.Need(t, actionable(d, in), "cannot be acted on: %+v", d)
			text := testkit.Must(json.Marshal(d))(t)
			again, err := parseDecision("So be it: "+string(text)+"\n", p, builtIn())
			testkit.Need(t, err == nil, "%s: %v", text, err)
			diff := cmp.Diff(d, again)
			testkit.Need(t, diff == "", "(-first +again):\n%s", diff)
		}
	})
}

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
		testkit.Check(t, errors.Is(first, ErrDeferred) && errors.Is(second, ErrDeferred),
			"%q: %v, %v; want ErrDeferred", name, first, second)
	}
}

func TestHybrid(t *testing.T) {
	calls := 0
	h := Hybrid{Rest: fixed{d: Decision{Decision: Retry, Reason: "x", Source: ByModel}, calls: &calls}}
	unclear := SelectInput(record(ran(developer, 1, bad)))
	over := EvaluateInput(planned(record(ran(developer, 1, ok), ran(tester, 2, ok)), step("complete", "")))
	for _, c := range []struct {
		name, mode string
		source     Source
		in         Input
	}{
		{"a clear case", planner, ByRules, SelectInput(record())},
		{"an unclear case", "", ByModel, unclear},
		{"a clear evaluation", tester, ByRules,
			EvaluateInput(planned(record(ran(developer, 1, ok)), step("complete", ""), step("pending", tester)))},
		{"an end: a model has to look", "", ByModel, over},
	} {
		before := calls
		d, err := h.Decide(t.Context(), c.in)
		asked := calls > before
		testkit.Check(t, err == nil && d.Mode == c.mode && d.Source == c.source && asked == (c.source == ByModel),
			"%s: %+v, %v after %d calls", c.name, d, err, calls)
	}
	for _, in := range []Input{unclear, over} {
		_, err := Hybrid{Rest: broken{errBroken}}.Decide(t.Context(), in)
		testkit.Fails(t, "with another decider that fails", err, errBroken)
	}
}

func TestFallback(t *testing.T) {
	in := SelectInput(record(ran(developer, 1, bad)))
	spent := Decision{Source: ByModel, Prompt: "p", Answer: "a", Attempts: 3, Warnings: []string{"first"},
		Usage: Usage{CostUSD: 2}}
	var told []string
	f := Fallback{First: fixed{d: spent, err: errBroken}, Warn: func(s string) { told = append(told, s) }}
	got := testkit.Must(f.Decide(context.Background(), in))(t)
	want, _ := in.Rule()
	want.Source, want.Prompt, want.Answer, want.Attempts, want.Usage = ByFallback, "p", "a", 3, Usage{CostUSD: 2}
	want.Warnings = []string{"first", "the rules decide: the thread is cut"}
	testkit.Same(t, "", want, got)
	testkit.Same(t, "told", want.Warnings[1:], told)
}

func TestFallbackDoesNotActOnWhatCannotBe(t *testing.T) {
	for _, d := range []Decision{
		{Decision: SelectMode, Mode: "wizard", Reason: "x"}, {Decision: Continue, Reason: "x"}, {Decision: Retry}, {},
	} {
		got, err := Fallback{First: fixed{d: d}}.Decide(context.Background(), SelectInput(record()))
		testkit.Check(t, err == nil && got.Source == ByFallback && len(got.Warnings) == 1,
			"%+v came to %+v, %v; want a fallback", d, got, err)
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
	testkit.Check(t, errors.Is(err, errBroken) && errors.Is(err, errNoAgents), "neither can: %v, want both errors", err)
}

func TestBuildUnknown(t *testing.T) {
	got, err := Build(Options{Name: "oracle"}).Decide(context.Background(), SelectInput(record()))
	if err != nil || got.Source != ByFallback || !strings.Contains(strings.Join(got.Warnings, " "), `"oracle"`) {
		t.Errorf("decided %+v, %v; want the rules, and a warning", got, err)
	}
	_, err = Build(Options{Name: "oracle", Strict: true}).Decide(context.Background(), SelectInput(record()))
	testkit.Check(t, err != nil, "strict: want an error")
}
