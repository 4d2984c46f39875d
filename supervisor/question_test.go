package supervisor

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

func collector() *input.Collector { return &input.Collector{Now: time.Unix(1_800_000_000, 0)} }

// askedQuestion are the questions that were emitted.
func askedQuestion(t *testing.T, c *input.Collector) (list []contract.Question) {
	t.Helper()
	for _, e := range c.Effects() {
		if q, ok := e.(input.Emit).Event.Body.(contract.Question); ok {
			list = append(list, q)
		}
	}
	return list
}

// TestQuestionsJoin: a second question is added to the open one; a repeated question is not added again.
func TestQuestionsJoin(t *testing.T) {
	var s QuestionState
	c := collector()
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-1"}})
	before := s
	s.Put(c, QuestionPart{Text: "Speak."})
	s.Put(c, QuestionPart{Text: "Which port?", Arbiter: true, For: []string{"orch-2"}})
	if s.Text() != "Which port?\n\nSpeak." || s.Asked != 2 || len(s.Open.List()) != 2 {
		t.Errorf("open: %+v", s.Open)
	}
	if before.Text() != "Which port?" || len(before.Open.Parts[0].For) != 1 {
		t.Errorf("the copy before was changed: %+v", before.Open)
	}
	list := askedQuestion(t, c)
	if len(list) != 3 || !reflect.DeepEqual(list[0], list[2]) || list[1].Question != "question-2" {
		t.Errorf("emitted: %+v", list)
	}
	if !s.AwaitsAnswer() || !s.IsNeededBy("orch-2") || s.IsNeededBy("orch-3") ||
		slices.ContainsFunc(s.Open.List(), func(p QuestionPart) bool { return p.Kind == KindAcceptance }) {
		t.Errorf("what it is needed for: %+v", s.Open)
	}
	s.Drop(func(p QuestionPart) bool { return p.Arbiter })
	if s.Text() != "Speak." || s.Open != nil && s.Open.Arbiter {
		t.Errorf("left: %+v", s.Open)
	}
	again := collector()
	if s.Repeat(again); len(askedQuestion(t, again)) != 1 {
		t.Errorf("repeated: %+v", askedQuestion(t, again))
	}
	if s.Drop(func(QuestionPart) bool { return true }); s.Open != nil || s.Text() != "" {
		t.Errorf("nothing is left: %+v", s.Open)
	}
}
