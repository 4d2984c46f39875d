package supervisor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func set(t *testing.T, list ...AcceptanceGiven) AcceptanceState {
	t.Helper()
	var s AcceptanceState
	testkit.OK(t, s.HumanSets(list))
	return s
}

var (
	tests = AcceptanceGiven{Text: "the tests pass", Command: "make test"}
	lint  = AcceptanceGiven{Command: "make lint"}
	reads = AcceptanceGiven{Text: "the README is easy to read"}
)

// TestHumanMayDoAnything: set and add criteria, take them over from the Arbiter, and drop them.
func TestHumanMayDoAnything(t *testing.T) {
	s := set(t, tests)
	testkit.OK(t, s.ArbiterSets([]AcceptanceGiven{tests, lint, reads}))
	testkit.OK(t, s.HumanAdds(reads))
	got := []string{}
	for _, c := range s.Criteria {
		got = append(got, c.By+" "+c.Text)
	}
	if want := []string{"human the tests pass", "human the README is easy to read",
		"arbiter make lint"}; !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	if err := s.HumanDrops(1); err != nil || s.Criteria[0].Text != reads.Text {
		t.Errorf("%v, %+v", err, s.Criteria)
	}
	if err := s.HumanDrops(3); err == nil || !strings.Contains(err.Error(), "no criterion 3: 2") {
		t.Error(err)
	}
	testkit.OK(t, s.HumanSets([]AcceptanceGiven{lint}))
	if len(s.Criteria) != 1 || s.Criteria[0].By != contract.Human {
		t.Errorf("%+v", s.Criteria)
	}
}

// TestBounds: an invalid criterion is refused with its number.
func TestBounds(t *testing.T) {
	for want, list := range map[string][]AcceptanceGiven{
		"criterion 2 has neither a text": {tests, {Text: " \n"}},
		"the text of criterion 1":        {{Text: strings.Repeat("x", MaxText+1)}},
		"the command of criterion 1":     {{Command: strings.Repeat("x", MaxCommand+1)}},
		"NUL":                            {{Command: "make\x00"}},
		"these are 31":                   slices.Repeat([]AcceptanceGiven{tests}, MaxCriteria+1),
	} {
		var s AcceptanceState
		if err := s.HumanSets(list); err == nil || !strings.Contains(err.Error(), want) || s.Criteria != nil {
			t.Errorf("%v, not %q", err, want)
		}
	}
	s := set(t, lint, lint)
	if len(s.Criteria) != 1 || s.Criteria[0].Text != lint.Command {
		t.Errorf("%+v", s.Criteria)
	}
}

// TestARoundIsJudgedWhenAllIsIn: also in copies of the state from before.
func TestARoundIsJudgedWhenAllIsIn(t *testing.T) {
	s := set(t, tests, reads)
	s.Begin("two")
	if _, ok := s.Judge(); ok || len(s.Pending()) != 1 {
		t.Error("it is judged before all is in")
	}
	before := s
	s.Finish(bridge.CheckResult{SHA256: "ab"}, "")
	s.Finish(bridge.CheckResult{Exit: 1}, "") // no command is pending
	if len(before.Pending()) != 1 {
		t.Error("the copy before was written to")
	}
	if o, _ := s.Judge(); o.Verdict != AcceptanceAccepted {
		t.Errorf("%+v", o)
	}
	want := []contract.Acceptance{
		{Text: tests.Text, Command: tests.Command, By: "human", Status: "passed", SHA256: "ab", Tree: "two"},
		{Text: reads.Text, By: "human", Status: "unproven", ExitCode: -1},
	}
	if got := s.Events(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestCriterionWithoutARunFails: a command that did not run counts as failed, and a change of the criteria
// voids the round.
func TestCriterionWithoutARunFails(t *testing.T) {
	s := set(t, tests)
	s.Begin("")
	s.Finish(bridge.CheckResult{}, "not permitted")
	if o, ok := s.Judge(); !ok || o.Verdict != AcceptanceRejected || !strings.Contains(o.Evidence, "not permitted") {
		t.Errorf("%+v", o)
	}
	if e := s.Events()[0]; e.Status != string(AcceptanceFailed) || e.ExitCode != -1 {
		t.Errorf("%+v", e)
	}
	s.Begin("")
	if err := s.HumanAdds(lint); err != nil || s.Round != nil {
		t.Errorf("the round goes on with other criteria: %v, %+v", err, s.Round)
	}
	s.BeginTask()
	if s.Results != nil || s.Rejections != 0 || len(s.Criteria) != 2 {
		t.Errorf("another task begins with %+v", s)
	}
}

// TestAskHow: the Arbiter is asked once for each list how the criteria without proof hold.
func TestAskHow(t *testing.T) {
	s := set(t, tests, reads)
	if text := s.AskHow(); !strings.Contains(text, reads.Text) || strings.Contains(text, tests.Text) {
		t.Errorf("%q", text)
	}
	if text := s.AskHow(); text != "" {
		t.Errorf("again: %q", text)
	}
	if err := s.HumanAdds(AcceptanceGiven{Text: "and short"}); err != nil || s.AskHow() == "" {
		t.Error("another list is asked about again")
	}
}

// TestEvidenceIsBounded: even if every criterion fails with endless output.
func TestEvidenceIsBounded(t *testing.T) {
	var list []AcceptanceGiven
	for i := range MaxCriteria {
		list = append(list, AcceptanceGiven{Text: strings.Repeat("t", MaxText), Command: strings.Repeat("c", MaxCommand-i)})
	}
	s := set(t, list...)
	s.Begin("t")
	for range s.Pending() {
		s.Finish(bridge.CheckResult{Exit: 1, Output: strings.Repeat("é", 1<<20)}, "")
	}
	o, _ := s.Judge()
	if most := evidence + MaxCriteria*1200; len(o.Evidence) > most || len(o.Text) > MaxCriteria*300 {
		t.Errorf("%d bytes of evidence, %d of text", len(o.Evidence), len(o.Text))
	}
	data, err := json.Marshal(s)
	if err != nil || len(data) > MaxCriteria*(2*MaxText+2*MaxCommand+evidenceOne+500) {
		t.Errorf("%v, %d bytes of state", err, len(data))
	}
}

// TestRepeatingIsNotAdopting: a list can repeat a criterion of the Arbiter and leave it to the Arbiter, so that
// its command still needs permission.
func TestRepeatingIsNotAdopting(t *testing.T) {
	s := set(t, tests)
	testkit.OK(t, s.ArbiterSets([]AcceptanceGiven{tests, {Text: "it is clean", Command: "make lint"}}))
	theirs := AcceptanceGiven{Text: "it is clean", Command: "make lint", By: contract.Arbiter}
	testkit.OK(t, s.HumanSets([]AcceptanceGiven{tests, theirs, reads}))
	var by []string
	for _, c := range s.Criteria {
		by = append(by, c.By)
	}
	if !slices.Equal(by, []string{contract.Human, contract.Human, contract.Arbiter}) ||
		s.Criteria[2].Command != "make lint" {
		t.Errorf("%+v", s.Criteria)
	}
	theirs.Command = "make"
	if err := s.HumanSets([]AcceptanceGiven{theirs}); err == nil || len(s.Criteria) != 3 {
		t.Errorf("a criterion that the Arbiter did not set is kept as its own: %v, %+v", err, s.Criteria)
	}
}
