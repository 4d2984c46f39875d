package decider

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"
)

// full is a record in which every field is set.
func full() DecisionRecord {
	h := made(12, func(i int) DecisionStatus { return []DecisionStatus{StatusSuccess, StatusFailure}[i%2] })
	return DecisionRecord{
		Task: "the task <&>",
		Steps: []DecisionStep{{Description: "one", Status: "done", Mode: "developer", AgentUsed: "orch-1"},
			{Description: "two"}},
		History: h, Error: &DecisionFailure{Agent: "developer", Tool: "Bash", Step: 2, Attempted: "make", Command: "make",
			Message: "exit 1", Category: ToolFailure, At: start, Files: []string{"a.go"}, InputSize: 1, OutputSize: 2},
		Agents: []AgentDescription{{Name: "developer", WhenToUse: "always",
			Tools: ToolLists{Allowed: []string{"Read"}, Blocked: []string{"Write"}}}},
		Iteration: 12, MaxIterations: 50, Failures: 1, MaxFailures: 3, TotalFailures: 6, MaxTotalFailures: 20,
		TokensUsed: 100, CostUSD: 0.5, MaxCostUSD: 2, Elapsed: time.Minute, Timeout: time.Hour,
	}
}

// later is the same situation in another run: later, slower, more expensive.
func later(r DecisionRecord) DecisionRecord {
	var h DecisionHistory
	for _, e := range r.History.Last(keptExecutions) {
		e.StartedAt = e.StartedAt.Add(1000 * time.Hour)
		e.CompletedAt = e.StartedAt.Add(7 * time.Minute)
		e.Tokens = Tokens{70, 7, 77}
		h = h.Add(e)
	}
	r.History = h
	f := *r.Error
	f.At = f.At.Add(time.Hour)
	r.Error = &f
	r.TokensUsed, r.CostUSD, r.Elapsed = 999, 1.5, 55*time.Minute
	return r
}

func TestKeysAreOfTheSituation(t *testing.T) {
	r := full()
	if k := SelectInput(r).Key(); !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(k) {
		t.Errorf("key %q is not a sha256", k)
	}
	if SelectInput(r).Key() != SelectInput(later(r)).Key() {
		t.Error("time and money change a selection's key")
	}
	if EvaluateInput(r).Key() != EvaluateInput(later(r)).Key() {
		t.Error("time and money change an evaluation's key")
	}
	if SelectInput(r).Key() == EvaluateInput(r).Key() || (SelectAgentInput{}).Key() == (EvaluateProgressInput{}).Key() {
		t.Error("both points have one key")
	}
	if a, b := (SelectAgentInput{}),
		(SelectAgentInput{History: []ExecutionSummary{}, AvailableAgents: []AgentDescription{}}); a.Key() != b.Key() {
		t.Error("an absent list and an empty one differ")
	}
}

func TestKeysSurviveTheJournal(t *testing.T) {
	in, eval := SelectInput(full()), EvaluateInput(full())
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	var read SelectAgentInput
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.Key() != in.Key() {
		t.Error("a selection that was read back has another key")
	}
	if text, err = json.Marshal(eval); err != nil {
		t.Fatal(err)
	}
	var judged EvaluateProgressInput
	if err := json.Unmarshal(text, &judged); err != nil {
		t.Fatal(err)
	}
	if judged.Key() != eval.Key() {
		t.Error("an evaluation that was read back has another key")
	}
}

// TestEveryMemberIsInTheKey changes each member of an input, wherever it is, and checks that the key changes,
// except for members that measure time or money.
func TestEveryMemberIsInTheKey(t *testing.T) {
	in, eval := SelectInput(full()), EvaluateInput(full())
	changed := 0
	for name, f := range map[string]struct {
		value reflect.Value
		key   func() string
	}{
		"select":   {reflect.ValueOf(&in).Elem(), func() string { return in.Key() }},
		"evaluate": {reflect.ValueOf(&eval).Elem(), func() string { return eval.Key() }},
	} {
		before := f.key()
		walk(f.value, name, false, func(path string, v reflect.Value, measure bool) {
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			switch v.Kind() {
			case reflect.String:
				v.SetString(v.String() + "x")
			case reflect.Int, reflect.Int64:
				v.SetInt(v.Int() + 1)
			case reflect.Float64:
				v.SetFloat(v.Float() + 1)
			case reflect.Bool:
				v.SetBool(!v.Bool())
			default:
				t.Fatalf("%s is a %s", path, v.Kind())
			}
			if same := f.key() == before; same != measure {
				t.Errorf("%s changed: the key is the same: %v, want %v", path, same, measure)
			}
			v.Set(old)
			changed++
		})
		if f.key() != before {
			t.Fatalf("%s was not put back", name)
		}
	}
	if changed < 150 {
		t.Errorf("only %d members were changed", changed)
	}
}

func walk(v reflect.Value, path string, measure bool, leaf func(string, reflect.Value, bool)) {
	measures := map[string]bool{
		"DurationMS": true, "StartedAt": true, "CompletedAt": true, "Timestamp": true, "TimeElapsedMS": true,
		"EstimatedTimeRemaining": true, "EstimatedTokensUsed": true, "CostUSD": true, "Tokens": true,
		"LastSuccess": true, "LastFailure": true,
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, measure, leaf)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			walk(v.Field(i), path+"."+name, measure || measures[name], leaf)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), path, measure, leaf)
		}
	default:
		leaf(path, v, measure)
	}
}
