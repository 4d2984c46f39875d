package tui

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// setPlans returns the plans that the run received, oldest first.
func (s *scene) setPlans() (plans []contract.SetPlan) {
	p := s.host.present()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.puts {
		if c, ok := c.(contract.SetPlan); ok {
			plans = append(plans, c)
		}
	}
	return plans
}

// expectSaved checks that the run received exactly one plan, and this one.
func (s *scene) expectSaved(want ...contract.Step) {
	s.T.Helper()
	s.Settle()
	plans := s.setPlans()
	testkit.Need(s.T, len(plans) == 1, "the run was given %d plans", len(plans))
	testkit.Same(s.T, "the run was given", want, plans[0].Steps)
}

// TestPlanIsEdited: each change has a key; the run receives none before the plan is saved, and then all as
// one command.
func TestPlanIsEdited(t *testing.T) {
	for _, size := range [][2]int{{100, 30}, {40, 12}} {
		weaving(t, size[0], size[1], func(s *scene) {
			s.Press("F3", "j", "j", "d") // the third step is done
			s.Press("a")
			s.Type("Weigh /it\n")
			s.Press("m")
			s.Expect("tester")
			s.Type("test")
			s.Press("Enter", "K") // assigned to the tester, and moved before the third
			s.Press("k", "e")
			s.Press("Ctrl+U")
			s.Type("Forge the header\n")
			s.Press("G", "x")
			s.Press("g", "s")
			s.Expect("not saved", "Forge the header")
			n := len(s.setPlans())
			testkit.Need(t, n == 0, "%d plans were set before anything was saved", n)
			s.Press("w")
			s.expectSaved(
				contract.Step{Text: "Read the header", Status: "skipped"},
				contract.Step{Text: "Forge the header", Status: "active", Agent: "orch-1"},
				contract.Step{Text: "Weigh /it", Status: "pending", Mode: "tester"},
				contract.Step{Text: "Prove it with fresh eyes", Status: "done"},
			)
			s.ExpectNot("not saved")
			s.Press("Esc")
			s.Expect("THE WEAVING")
		})
	}
}

// TestPlanIsLeft: leaving with changes asks; nothing is saved or dropped by accident.
func TestPlanIsLeft(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Press("F3", "a")
		s.Type("A thought")
		s.Press("Esc") // leaves only the text
		s.Expect("THE PLAN")
		s.ExpectNot("A thought", "not saved")
		s.Press("Esc")
		s.Expect("THE WEAVING") // nothing was changed, so there is no question

		s.Press("F3", "d", "j", "d", "Esc")
		s.Expect("The plan was changed")
		s.Press("n")
		s.Expect("THE PLAN", "not saved")
		s.Press("F2", "q") // another screen is not an answer
		s.Expect("not saved")
		s.Press("Esc", "Ctrl+C") // asks whether to leave arbiter, and says what would be lost
		s.Settle()
		s.Expect("Leave?", "changes to the plan")
		s.Press("n", "Esc", "Esc")
		s.Expect("THE PLAN", "not saved")
		s.Press("Esc", "d")
		s.Expect("THE WEAVING", "dropped")
		n := len(s.setPlans())
		testkit.Need(t, n == 0, "%d plans were set", n)
		s.Press("F3", "j", "j", "j", "s", "Esc", "s")
		s.Expect("THE WEAVING")
		got := s.setPlans()
		testkit.Check(t, len(got) == 1 && got[0].Steps[3].Status == "skipped", "saved %+v", got)
	})
}

// TestPlanChangesMeanwhile: changes by agents while a user edits the plan are merged; if both changed the
// same thing, the screen asks, and says what it is.
func TestPlanChangesMeanwhile(t *testing.T) {
	testkit.WithoutRace(t)
	agents := func(s *scene, steps string) {
		s.does(func(p *fakeRun) { p.call("arbiter", "set_plan", `{"steps":[`+steps+`]}`) })
	}
	weaving(t, 100, 30, func(s *scene) {
		s.Press("F3", "G", "d", "a")
		s.Type("Sweep the floor")
		agents(s, `{"text":"Read the header","status":"done"},{"text":"Write the header","status":"done"},{"text":"Prove it with fresh eyes","status":"active"},{"text":"Ask the elders"},{"text":"Tell the human"}`)
		s.Press("Enter")
		s.Expect("Ask the elders", "Sweep the floor", "not saved")
		s.Press("w")
		s.expectSaved(
			contract.Step{Text: "Read the header", Status: "done"},
			contract.Step{Text: "Write the header", Status: "done", Agent: "orch-1"},
			contract.Step{Text: "Prove it with fresh eyes", Status: "active"},
			contract.Step{Text: "Ask the elders", Status: "pending"},
			contract.Step{Text: "Tell the human", Status: "done"},
			contract.Step{Text: "Sweep the floor", Status: "pending"},
		)
	})
	weaving(t, 100, 30, func(s *scene) {
		s.Press("F3", "j", "j")
		agents(s, `{"text":"Ask the elders"},{"text":"Read the header","status":"done"},`+
			`{"text":"Write the header","status":"done"},{"text":"Prove it with fresh eyes"}`)
		s.Press("s", "w") // the step that was the current one, wherever it is now
		s.expectSaved(
			contract.Step{Text: "Ask the elders", Status: "pending"},
			contract.Step{Text: "Read the header", Status: "done"},
			contract.Step{Text: "Write the header", Status: "done", Agent: "orch-1"},
			contract.Step{Text: "Prove it with fresh eyes", Status: "skipped"},
		)
	})
	for answer, want := range map[string]string{"s": "skipped", "t": "", "n": ""} {
		weaving(t, 100, 30, func(s *scene) {
			s.Press("F3", "j", "s", "Esc", "n", "F2") // also while another screen is shown
			agents(s, `{"text":"Read the header","status":"done"},{"text":"Write the header","status":"done"},{"text":"Prove it with fresh eyes"},{"text":"Tell the human"}`)
			s.Press("q")
			s.Expect("Meanwhile: Write the header: its status is done now; you have set skipped.")
			s.Press("w")
			s.Expect("Others changed it, too")
			s.Press(answer)
			var got string
			if plans := s.setPlans(); len(plans) > 0 {
				got = plans[0].Steps[1].Status
			}
			testkit.Same(t, answer, want, got)
			testkit.Check(t, s.Shows("not saved") == (answer == "n"), "%s:\n%s", answer, s.Text())
		})
	}
}

// TestPlanBySlash: one change is one command, applied to the current plan.
func TestPlanBySlash(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.Type("/plan 2 dance\n")
		s.Expect("is none of done", "/plan 2 dance") // the text stays
		s.Press("Ctrl+C")
		s.Type("/plan add Tell the elders\n")
		s.Type("/plan 2 skip\n")
		plans := s.setPlans()
		testkit.Check(t, len(plans) == 2 && len(plans[1].Steps) == 5 && plans[1].Steps[1].Status == "skipped" &&
			plans[1].Steps[4].Text == "Tell the elders", "set %+v", plans)
	})
	play(t, 100, 30, nil, func(s *scene) {
		s.Type("/plan add too early\n")
		s.Expect("There is no plan yet")
		s.Press("Ctrl+C", "F3", "a", "w", "d", "Esc")
		s.Expect("Speak, mortal.")
	})
}

// TestOwnLists: the task lists that agents keep for themselves are shown in one row, and completely on the
// plan screen.
func TestOwnLists(t *testing.T) {
	weaving(t, 100, 30, func(s *scene) {
		s.present(func(st *supervisor.State) {
			st.Task.AgentTasks = []contract.Tasks{{Agent: "orch-1",
				Items: []contract.Step{{Text: "Find the callers", Status: "done"},
					{Text: "Change them", Status: "active"}, {Text: "Run all", Status: "pending"}}}}
		})
		s.Expect("Orch. I 1/3  Change them")
		s.ExpectNot("Run all")
		s.Press("F3")
		s.Expect("Orchestrator I  its own list, 1 of 3", "✓ Find the callers", "○ Run all")
	})
}

// present changes the state of the run that is shown, like the run itself.
func (s *scene) present(change func(*supervisor.State)) {
	s.T.Helper()
	s.does(func(p *fakeRun) {
		p.mu.Lock()
		change(&p.state)
		p.mu.Unlock()
		select {
		case p.changed <- struct{}{}:
		default:
		}
	})
}

// TestWhoDecides: the screen shows which decider stands in for the Arbiter, and why.
func TestWhoDecides(t *testing.T) {
	play(t, 120, 30, func(_ *Options, h *fakeHost) {
		h.options = func(o *runconfig.Options) { o.Decider = runconfig.DeciderHybrid }
	}, func(s *scene) {
		s.startWork()
		s.Expect("rules, else a model decide")
		s.ExpectNot("The rules decide")
		s.present(func(st *supervisor.State) { st.Rulings.FallbackReason = "it crashed five times" })
		s.Expect("The rules decide", "rules no more", "it crashed five")
		s.present(func(st *supervisor.State) { st.Rulings.FallbackReason = "" })
		s.ExpectNot("The rules decide")
		s.does(func(p *fakeRun) {
			p.sink(p.Snapshot().Budget.Runtime.LastAt, contract.Event{ID: "arbiter", Body: contract.Decision{
				Decision: "CONTINUE", Source: "fallback", Reason: "the last step is not done", Number: 7,
				Warnings: []string{"The Arbiter gave no valid verdict: the rules decide."},
			}})
		})
		s.Expect("by the rules, for want of a valid verdict  no. 7",
			"The Arbiter gave no valid verdict: the rules decide.")
		s.ExpectNot("decide..")
	})
}
