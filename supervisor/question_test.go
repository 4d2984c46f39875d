package supervisor

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
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

// TestRecallLasts: the reminder about a question counts until the Arbiter asks another one.
func TestRecallLasts(t *testing.T) {
	var s QuestionState
	s.Put(collector(), QuestionPart{Text: "Which port?", Arbiter: true})
	s.Recall()
	if s.Put(collector(), QuestionPart{Text: "Speak."}); !s.Open.Recalled {
		t.Error("the supervisor's question is another matter")
	}
	if s.Put(collector(), QuestionPart{Text: "Which host?", Arbiter: true}); s.Open.Recalled {
		t.Error("it was not reminded of that one")
	}
}

// TestRecovery: the choices are those of the last error, until it is solved.
func TestRecovery(t *testing.T) {
	var r QuestionRecovery
	c := collector()
	options := QuestionChoices(&decider.DecisionFailure{Category: decider.ToolFailure})
	r.Fail(c, "orch-1", bridge.CatTool, " no space \n", options)
	if r.Agent != "orch-1" || r.Text != "no space" || len(r.Options) == 0 || len(c.Effects()) != 1 {
		t.Errorf("%+v", r)
	}
	agents := &Roster{Agents: []*Agent{
		{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: RoleOrchestrator}},
	}}
	if r.Overcome(agents, "orch-2"); r.Agent == "" {
		t.Error("it was another's")
	}
	if r.Overcome(agents, "orch-1"); r.Agent != "" || r.Options != nil {
		t.Errorf("%+v", r)
	}
}
