package supervisor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// busyAt lets an agent run a command.
func (p *play) busyAt(id, command string) {
	p.t.Helper()
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t-" + id, Input: json.RawMessage(`{"command":"` + command + `"}`)})
}

// TestParallelWorkIsAttributedToWhoDoesIt: when two agents work at once, each is shown with its own step, and
// without a step if no verdict named it.
func TestParallelWorkIsAttributedToWhoDoesIt(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		marks      map[string]string // update_plan of each agent
		want       map[string]string // the step that half_done names; empty: none
		steps      map[string]int    // the step that a failure names
	}{
		{
			name: "each marked its own", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			marks: map[string]string{"orch-1": `{"index":1,"status":"active"}`, "orch-2": `{"index":2,"status":"active"}`},
			want:  map[string]string{"orch-1": "step 1 of the plan: parser", "orch-2": "step 2 of the plan: printer"},
			steps: map[string]int{"orch-1": 1, "orch-2": 2},
		},
		{
			name: "one marked its own", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			marks: map[string]string{"orch-2": `{"index":1,"status":"active"}`},
			want:  map[string]string{"orch-1": "", "orch-2": "step 1 of the plan: parser"},
			steps: map[string]int{"orch-1": 0, "orch-2": 1},
		},
		{
			name: "the steps name their modes", plan: `{"steps":[{"text":"parser","mode":"tester"},{"text":"printer","mode":"developer"}]}`,
			want:  map[string]string{"orch-1": "step 2 of the plan: printer", "orch-2": "step 1 of the plan: parser"},
			steps: map[string]int{"orch-1": 2, "orch-2": 1},
		},
		{
			name: "nobody said anything", plan: `{"steps":[{"text":"parser"},{"text":"printer"}]}`,
			want:  map[string]string{"orch-1": "", "orch-2": ""},
			steps: map[string]int{"orch-1": 0, "orch-2": 0},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, nil)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"one","mode":"developer"}`)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"two","mode":"tester"}`)
			p.settles()
			p.call("arbiter", "set_plan", c.plan)
			for _, id := range []string{"orch-1", "orch-2"} {
				if mark := c.marks[id]; mark != "" {
					p.call(id, "update_plan", mark)
				}
			}
			for id, want := range c.steps {
				a := p.agent(id)
				st := step{State: p.s, at: p.at}
				if got := st.Task.AgentFailure(&st.Roster, a.ID, bridge.CatCrash, "it broke", st.at).Step; got != want {
					t.Errorf("a failure of %s is of step %d, want %d", id, got, want)
				}
			}
			p.busyAt("orch-1", "make one")
			p.busyAt("orch-2", "make two")
			p.command(contract.Cancel{})
			r, _ := p.finished()
			if len(r.InterruptedWork) != 2 {
				t.Fatalf("half done: %q", r.InterruptedWork)
			}
			for i, id := range []string{"orch-1", "orch-2"} {
				line := r.InterruptedWork[i]
				p.contains("what is half done", line, id)
				if c.want[id] == "" {
					if strings.Contains(line, "of the plan") {
						t.Errorf("%s is shown with a step that no verdict gave it: %s", id, line)
					}
					continue
				}
				p.contains("what is half done", line, c.want[id])
			}
		})
	}
}

// TestAFailedCheckIsOfTheStepThatWasDone: a failed check is attributed to the step that was done, not to the
// next one.
func TestAFailedCheckIsOfTheStepThatWasDone(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.call("arbiter", "set_plan", `{"steps":[{"text":"parser"},{"text":"printer"}]}`)
	p.call(one, "update_plan", `{"index":1,"status":"done"}`)
	p.verdict(one, proven("done", "make test"))
	p.do(input.Checked{Serial: p.check().Serial, Number: 1, Result: bridge.CheckResult{Exit: 2}})
	if in := decider.SelectInput(p.s.Record()); in.LastError == nil || in.LastError.PlanStep != 1 {
		t.Errorf("the last error: %+v", in.LastError)
	}
}
