package decider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

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
			got := testkit.Must(parseDecision(c.raw, PointEvaluate, builtIn()))(t)
			testkit.Same(t, "", c.want, got)
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
			var wrong *AnswerError
			if !errors.As(err, &wrong) || !strings.Contains(wrong.Problem, c.want) {
				t.Errorf("error %v, want one that says %q", err, c.want)
			}
			testkit.Same(t, "a decision came with the error", Decision{}, got)
		})
	}
	_, err := parseDecision(`{"decision":"SELECT_MODE","mode":"x","reason":"x"}`, PointSelect, nil)
	if err == nil || !strings.Contains(err.Error(), "no agent to select") {
		t.Errorf("without agents: %v", err)
	}
}

// TestParseDecisionIsBounded: unclosed braces cost no more than the bound of their number allows.
func TestParseDecisionIsBounded(t *testing.T) {
	testkit.WithoutRace(t)
	deep := `{"decision"` + strings.Repeat(`{"a":`, maxAnswer/5-20) + `"decision"`
	if _, err := parseDecision(deep, PointEvaluate, builtIn()); err == nil {
		t.Error("nothing but open braces is a decision")
	}
	if n := testing.AllocsPerRun(1,
		func() { _, _ = parseDecision(deep, PointEvaluate, builtIn()) }); n > 100*maxStarts {
		t.Errorf("%v allocations", n)
	}
}

// TestSchema: the schema is flat, and accepts what the parser accepts.
func TestSchema(t *testing.T) {
	if s := schema(PointTalk); s != nil {
		t.Errorf("a schema for talking: %s", s)
	}
	for _, p := range []DecisionPoint{PointSelect, PointEvaluate} {
		var s jsonschema.Schema
		testkit.OK(t, json.Unmarshal(schema(p), &s))
		if s.Type != "object" || s.OneOf != nil || s.AnyOf != nil || s.AllOf != nil {
			t.Errorf("%s: the API refuses a schema that is not a flat object", p)
		}
		resolved := testkit.Must(s.Resolve(nil))(t)
		for _, kind := range []string{SelectMode, Continue, Retry, Complete, "GO"} {
			answer := map[string]any{"decision": kind, "mode": tester, "reason": "x"}
			text := testkit.Must(json.Marshal(answer))(t)
			bySchema := resolved.Validate(answer)
			_, byParser := parseDecision(string(text), p, builtIn())
			if (bySchema == nil) != (byParser == nil) {
				t.Errorf("%s at %s: the schema says %v, the parser %v", kind, p, bySchema, byParser)
			}
		}
		if resolved.Validate(map[string]any{"decision": Retry}) == nil {
			t.Errorf("%s: a reason is not required", p)
		}
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
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("clip(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func FuzzParseDecision(f *testing.F) {
	for _, s := range []string{goesOn, "```json\n" + goesOn + "\n```", `{"a":{"decision":"RETRY","reason":"}"}}`, "{{{",
		`{"decision":"COMPLETE","summary":"x"}`, `{"decision":"SELECT_MODE","mode":"tester","reason":"\ud800"}`,
		"\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		for _, in := range []Input{SelectAgentInput{AvailableAgents: builtIn()},
			EvaluateProgressInput{AvailableAgents: builtIn()}} {
			p := in.Point()
			d, err := parseDecision(raw, p, builtIn())
			var wrong *AnswerError
			if err != nil {
				if !errors.As(err, &wrong) || !utf8.ValidString(wrong.Problem) {
					t.Fatalf("error %v", err)
				}
				continue
			}
			if !actionable(d, in) {
				t.Fatalf("cannot be acted on: %+v", d)
			}
			text := testkit.Must(json.Marshal(d))(t)
			again, err := parseDecision("So be it: "+string(text)+"\n", p, builtIn())
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if diff := cmp.Diff(d, again); diff != "" {
				t.Fatalf("(-first +again):\n%s", diff)
			}
		}
	})
}
