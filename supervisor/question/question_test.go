package question

import (
	"reflect"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

func collector() *effect.Collector { return &effect.Collector{Now: time.Unix(1_800_000_000, 0)} }

// asked are the questions that were emitted.
func asked(t *testing.T, c *effect.Collector) (list []contract.Question) {
	t.Helper()
	for _, e := range c.Effects() {
		if q, ok := e.(effect.Emit).Event.Body.(contract.Question); ok {
			list = append(list, q)
		}
	}
	return list
}

// TestQuestionsJoin: a second question is added to the open one; a repeated question is not added again.
func TestQuestionsJoin(t *testing.T) {
	var s State
	c := collector()
	s.Put(c, Part{Text: "Which port?", Arbiter: true, For: []string{"orch-1"}})
	before := s
	s.Put(c, Part{Text: "Speak."})
	s.Put(c, Part{Text: "Which port?", Arbiter: true, For: []string{"orch-2"}})
	if s.Text() != "Which port?\n\nSpeak." || s.Asked != 2 || len(s.Open.List()) != 2 {
		t.Errorf("open: %+v", s.Open)
	}
	if before.Text() != "Which port?" || len(before.Open.Parts[0].For) != 1 {
		t.Errorf("the copy before was changed: %+v", before.Open)
	}
	list := asked(t, c)
	if len(list) != 3 || !reflect.DeepEqual(list[0], list[2]) || list[1].Question != "question-2" {
		t.Errorf("emitted: %+v", list)
	}
	if !s.AwaitsAnswer() || !s.IsNeededBy("orch-2") || s.IsNeededBy("orch-3") || s.Undecided() {
		t.Errorf("what it is needed for: %+v", s.Open)
	}
	s.Drop(func(p Part) bool { return p.Arbiter })
	if s.Text() != "Speak." || s.AwaitsAnswer() {
		t.Errorf("left: %+v", s.Open)
	}
	again := collector()
	if s.Repeat(again); len(asked(t, again)) != 1 {
		t.Errorf("repeated: %+v", asked(t, again))
	}
	if s.Drop(func(Part) bool { return true }); s.Open != nil || s.Text() != "" {
		t.Errorf("nothing is left: %+v", s.Open)
	}
}

// TestRecallLasts: the reminder about a question counts until the Arbiter asks another one.
func TestRecallLasts(t *testing.T) {
	var s State
	s.Put(collector(), Part{Text: "Which port?", Arbiter: true})
	s.Recall()
	if s.Put(collector(), Part{Text: "Speak."}); !s.Open.Recalled {
		t.Error("the supervisor's question is another matter")
	}
	if s.Put(collector(), Part{Text: "Which host?", Arbiter: true}); s.Open.Recalled {
		t.Error("it was not reminded of that one")
	}
}

// TestRecovery: the choices are those of the last error, until it is solved.
func TestRecovery(t *testing.T) {
	var r Recovery
	c := collector()
	options := Choices(&decision.Failure{Category: decision.ToolFailure})
	r.Fail(c, "orch-1", bridge.CatTool, " no space \n", options)
	if r.Agent != "orch-1" || r.Text != "no space" || len(r.Options) == 0 || len(c.Effects()) != 1 {
		t.Errorf("%+v", r)
	}
	agents := &roster.Roster{Agents: []*roster.Agent{
		{AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: roster.RoleOrchestrator}},
	}}
	if r.Overcome(agents, "orch-2"); r.Agent == "" {
		t.Error("it was another's")
	}
	if r.Overcome(agents, "orch-1"); r.Agent != "" || r.Options != nil {
		t.Errorf("%+v", r)
	}
}
