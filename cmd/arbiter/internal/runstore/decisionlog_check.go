package runstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// The values that an input file may use. Recorded inputs are not checked against them.
var (
	inputStatuses = []decider.DecisionStatus{decider.StatusSuccess, decider.StatusFailure, decider.StatusTimeout,
		decider.StatusCancelled}
	inputSteps      = []string{"pending", "in_progress", "complete", "failed", "skipped"}
	inputCategories = []decider.DecisionCategory{
		decider.ToolFailure, decider.ProviderError, decider.ValidationError, decider.TimeoutError,
		decider.PermissionError, decider.AgentError, decider.UnknownError,
	}
)

// check reports what is missing or makes no sense. A decider would treat half an input like a whole one.
func (q DecisionQuestion) check() error {
	if in := q.Evaluate; in != nil {
		if err := checkExecution("lastExecution", in.LastExecution); err != nil {
			return err
		}
		return checkInput(in.Task, in.Plan, in.History, in.AvailableAgents)
	}
	in := q.Select
	if e := in.LastError; e != nil {
		if err := oneOf("lastError.category", e.Category, inputCategories); err != nil {
			return err
		}
	}
	return checkInput(in.Task, in.Plan, in.History, in.AvailableAgents)
}

func checkInput(task string, plan *decider.DecisionPlan, history []decider.ExecutionSummary,
	agents []decider.AgentDescription) error {
	if strings.TrimSpace(task) == "" {
		return errors.New("the member task is missing or empty")
	}
	if plan != nil {
		if n := len(plan.Steps); plan.CurrentStepIndex < 0 || plan.CurrentStepIndex > n {
			return fmt.Errorf("plan.currentStepIndex: %d, want 0 to %d: it is counted from 0, and %d when all steps "+
				"are over", plan.CurrentStepIndex, n, n)
		}
		for i, s := range plan.Steps {
			if err := oneOf(fmt.Sprintf("plan.steps[%d].status", i), s.Status, inputSteps); err != nil {
				return err
			}
		}
	}
	for i, e := range history {
		if err := checkExecution(fmt.Sprintf("history[%d]", i), e); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i, a := range agents {
		switch {
		case a.Name == "":
			return fmt.Errorf("availableAgents[%d].name is missing", i)
		case seen[a.Name]:
			return fmt.Errorf("availableAgents[%d].name: there are two %q", i, a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

func checkExecution(where string, e decider.ExecutionSummary) error {
	if e.Agent == "" {
		return errors.New(where + ".agent is missing")
	}
	if err := oneOf(where+".status", e.Status, inputStatuses); err != nil {
		return err
	}
	if e.Error == nil {
		return nil
	}
	return oneOf(where+".error.category", e.Error.Category, inputCategories)
}

func oneOf[T ~string](where string, value T, known []T) error {
	if slices.Contains(known, value) {
		return nil
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return fmt.Errorf("%s: %q, want one of %s", where, value, strings.Join(words, ", "))
}

// jsonProblem rewrites an error of encoding/json in terms of JSON instead of Go types.
func jsonProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Slice, reflect.Array:
		want = "a list"
	case reflect.String:
		want = "a text"
	case reflect.Bool:
		want = "true or false"
	case reflect.Int, reflect.Int64:
		want = "a whole number"
	case reflect.Float64:
		want = "a number"
	}
	where := ""
	if wrong.Field != "" {
		where = wrong.Field + ": "
	}
	return fmt.Errorf("%swant %s, not %s", where, want, jsonKind(wrong.Value))
}

// jsonKind translates encoding/json's array, bool, number, object and string.
func jsonKind(value string) string {
	switch value {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "a text"
	case "bool":
		return "true or false"
	}
	if _, digits, ok := strings.Cut(value, " "); ok { // number 1.5
		return digits
	}
	return "a " + value
}
