package input

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// asks is a permission request of an agent's process.
func asks(agent, request, command string) PermissionRequest {
	p := bridge.PermissionParams{
		AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: request,
		Tool: "Bash", Input: []byte(`{"command":"` + command + `"}`),
	}
	return PermissionRequest{ID: request, Params: p, Action: PermissionKey(p.Tool, p.Input)}
}

var (
	ask     = PermissionFinding{Behavior: bridge.Ask, By: "mode"}
	present = PermissionHuman{Present: true, Wait: time.Minute}
)

// responses are the answers to processes, by request.
func responses(c *Collector) map[string]string {
	got := map[string]string{}
	for _, e := range c.Effects() {
		if r, ok := e.(PermissionRespond); ok {
			got[r.Request] = r.Result.Behavior
		}
	}
	return got
}

// told are the decisions that frontends receive.
func told(c *Collector) (list []string) {
	for _, e := range c.Effects() {
		if emit, ok := e.(Emit); ok {
			if p, ok := emit.Event.Body.(contract.Permission); ok {
				list = append(list, p.Request+" "+p.Behavior+" "+p.By)
			}
		}
	}
	return list
}

func TestAsked(t *testing.T) {
	for name, tt := range map[string]struct {
		state   PermissionState
		finding PermissionFinding
		changes int
		human   PermissionHuman
		want    string // the answer; empty: it waits
		open    int
	}{
		"a rule allows it": {finding: PermissionFinding{Behavior: bridge.Allow, By: "rule"}, want: bridge.Allow},
		"a rule denies it": {finding: PermissionFinding{Behavior: bridge.Deny, By: "rule"}, want: bridge.Deny},
		"doubt is a deny":  {finding: PermissionFinding{Behavior: "?"}, want: bridge.Deny},
		"a human is asked": {finding: ask, human: present, open: 1},
		"nobody is there":  {finding: ask, want: bridge.Deny},
		"the action was granted": {state: PermissionState{Actions: []string{keyOf("make")}}, finding: ask,
			want: bridge.Allow},
		"another was granted": {state: PermissionState{Actions: []string{keyOf("ls")}}, finding: ask, human: present,
			open: 1},
		"the rules are others": {state: PermissionState{Changes: 2}, finding: ask, changes: 1, open: 1},
		"its id is another's": {
			state:   PermissionState{Open: []PermissionRequest{asks("orch-2", "p1", "ls")}},
			finding: ask, human: present, want: bridge.Deny, open: 1,
		},
		"it was asked before": {
			state:   PermissionState{Unclaimed: []PermissionRequest{asks("orch-1", "p0", "make")}},
			finding: ask, human: present, open: 1,
		},
		"it was answered since": {
			state: PermissionState{Answered: []PermissionAnswer{{Agent: "orch-1", Action: keyOf("make"),
				Behavior: bridge.Allow}}},
			finding: ask, want: bridge.Allow,
		},
		"an answer for another agent does not count": {
			state: PermissionState{Answered: []PermissionAnswer{{Agent: "orch-2", Action: keyOf("make"),
				Behavior: bridge.Allow}}},
			finding: ask, want: bridge.Deny,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := tt.state, &Collector{}
			s.Asked(c, asks("orch-1", "p1", "make"), tt.finding, tt.changes, tt.human)
			testkit.Same(t, "answered", tt.want, responses(c)["p1"])
			testkit.Same(t, "len(s.Open)", tt.open, len(s.Open))
		})
	}
}

func keyOf(command string) string { return PermissionKey("Bash", []byte(`{"command":"`+command+`"}`)) }

// TestAnswer: a human's answer has to fit the request, and applies as long as it says.
func TestAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		given    contract.Permit
		rejected bool
		want     string
		actions  int
		rules    int
	}{
		"once": {given: contract.Permit{Behavior: bridge.Allow}, want: bridge.Allow},
		"no":   {given: contract.Permit{Behavior: bridge.Deny}, want: bridge.Deny},
		"for the run": {
			given: contract.Permit{Behavior: bridge.Allow, Scope: contract.ScopeRun},
			want:  bridge.Allow, actions: 1,
		},
		"always, by rule": {
			given: contract.Permit{Behavior: bridge.Allow, Scope: contract.ScopeAlways, Rule: "Bash(make *)"},
			want:  bridge.Allow, rules: 1,
		},
		"never in the run": {
			given: contract.Permit{Behavior: bridge.Deny, Scope: contract.ScopeRun}, want: bridge.Deny,
		},
		"a rule, denied once": {given: contract.Permit{Behavior: bridge.Deny, Rule: "Bash(make *)"}, rejected: true},
		"never in later runs": {
			given: contract.Permit{Behavior: bridge.Deny, Scope: contract.ScopeAlways}, rejected: true,
		},
		"a rule, once":    {given: contract.Permit{Behavior: bridge.Allow, Rule: "Bash(make *)"}, rejected: true},
		"another action":  {given: contract.Permit{Behavior: bridge.Allow, Action: keyOf("ls")}, rejected: true},
		"another request": {given: contract.Permit{Request: "p9", Behavior: bridge.Allow}, rejected: true},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := PermissionState{Open: []PermissionRequest{asks("orch-1", "p1", "make")}}, &Collector{}
			if tt.given.Request == "" {
				tt.given.Request = "p1"
			}
			s.Answer(c, "ref", tt.given)
			rejected := slices.ContainsFunc(c.Effects(), func(e Effect) bool {
				emit, ok := e.(Emit)
				if !ok {
					return false
				}
				_, ok = emit.Event.Body.(contract.Rejected)
				return ok
			})
			testkit.Same(t, "rejected", tt.rejected, rejected)
			testkit.Same(t, "answered", tt.want, responses(c)["p1"])
			testkit.Check(t, len(s.Actions) == tt.actions && len(s.Rules) == tt.rules, "granted actions %v, rules %v",
				s.Actions, s.Rules)
			testkit.Same(t, fmt.Sprintf("%d open", len(s.Open)), tt.rejected, (len(s.Open) == 1))
		})
	}
}

// TestElicitation: the answer to what an MCP server asks goes to it; one that does not fit or holds longer
// is refused.
func TestElicitation(t *testing.T) {
	for name, c := range map[string]struct {
		given contract.Permit
		want  string
	}{
		"an answer":  {contract.Permit{Behavior: bridge.Allow, Message: "eu"}, "eu"},
		"none":       {contract.Permit{Behavior: bridge.Allow}, ""},
		"for a run":  {contract.Permit{Behavior: bridge.Allow, Message: "eu", Scope: contract.ScopeRun}, ""},
		"by a rule":  {contract.Permit{Behavior: bridge.Allow, Message: "eu", Rule: "Bash"}, ""},
		"a denial":   {contract.Permit{Behavior: bridge.Deny, Message: "no"}, Denial("no")},
		"in the run": {contract.Permit{Behavior: bridge.Deny, Scope: contract.ScopeRun}, Denial("the human said no")},
	} {
		r := asks("orch-1", "p1", "")
		r.Params.Tool, r.Params.Input = bridge.ElicitTool, []byte(`{"server":"s","message":"Where?","schema":{`+
			`"type":"object","properties":{"region":{"type":"string"}},"required":["region"]}}`)
		s, c2 := PermissionState{Open: []PermissionRequest{r}}, &Collector{}
		c.given.Request = "p1"
		s.Answer(c2, "ref", c.given)
		got := ""
		for _, e := range c2.Effects() {
			if e, ok := e.(PermissionRespond); ok {
				got = e.Result.Message
			}
		}
		testkit.Check(t, got == c.want && (c.want == "") == (len(s.Open) == 1), "%s: %q, want %q; %d open", name, got,
			c.want, len(s.Open))
	}
}

// TestTurnOver: what an agent waited for ends with its turn; a check of its document does not.
func TestTurnOver(t *testing.T) {
	check := asks("orch-1", "p3", "make test")
	check.Check = true
	s := PermissionState{
		Open:      []PermissionRequest{asks("orch-1", "p1", "make"), asks("orch-2", "p2", "make"), check},
		Unclaimed: []PermissionRequest{asks("orch-1", "p0", "ls"), asks("orch-2", "p9", "ls")},
		Answered:  []PermissionAnswer{{Agent: "orch-1", Behavior: bridge.Allow}, {Agent: "orch-2"}},
	}
	before, c := s, &Collector{}
	s.TurnOver(c, "orch-1")
	want := []string{"p0 deny withdrawn", "p1 deny withdrawn"}
	testkit.Same(t, "told", want, told(c))
	testkit.Check(t, len(s.Open) == 2 && s.Open[0].ID == "p2" && s.Open[1].ID == "p3" && len(s.Unclaimed) == 1,
		"left: %v, unclaimed %v", s.Open, s.Unclaimed)
	testkit.Same(t, "answers to what was not asked again", []PermissionAnswer{{Agent: "orch-2"}}, s.Answered)
	testkit.Check(t, len(before.Open) == 3 && before.Open[0].ID == "p1" && len(before.Unclaimed) == 2 &&
		before.Answered[0].Agent == "orch-1", "the state before was changed")
	s.CheckOver(c, "p3", "the check is over")
	testkit.Check(t, len(s.Open) == 1 && responses(c)["p3"] == bridge.Deny, "left: %v", s.Open)
}

// TestReconsidered: a resolution counts only for the request of the process that was checked, and for the
// present rules.
func TestReconsidered(t *testing.T) {
	for name, tt := range map[string]struct {
		of      PermissionResolution
		changes int
		open    int
	}{
		"it is settled":      {PermissionResolution{Request: "p1", Asked: "p1", Behavior: bridge.Allow}, 3, 0},
		"of older rules":     {PermissionResolution{Request: "p1", Asked: "p1", Behavior: bridge.Allow}, 2, 1},
		"of another process": {PermissionResolution{Request: "p1", Asked: "p0", Behavior: bridge.Allow}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := PermissionState{Open: []PermissionRequest{asks("orch-1", "p1", "make")}, Changes: 3, Reconsidering: 1}
			s.Reconsidered(&Collector{}, []PermissionResolution{tt.of}, tt.changes, present)
			testkit.Same(t, "open", tt.open, len(s.Open))
			testkit.Same(t, "reconsidering", 0, s.Reconsidering)
		})
	}
}

// TestResume: open requests wait until their agents ask again, unless the agents are not restarted.
func TestResume(t *testing.T) {
	s := PermissionState{Open: []PermissionRequest{asks("orch-1", "p1", "make"), asks("orch-2", "p2", "make")},
		Unclaimed: []PermissionRequest{asks("orch-1", "p0", "ls")}, Reconsidering: 2}
	var c Collector
	s.Resume(&c, func(agent string) bool { return agent == "orch-1" })
	said := c.Effects()
	testkit.Check(t, len(said) == 1, "said of the one that is dropped: %v", said)
	ids := testkit.Each(s.Unclaimed, func(r PermissionRequest) string { return r.ID })
	if diff := cmp.Diff([]string{"p1", "p0"}, ids); diff != "" || len(s.Open) != 0 || s.Reconsidering != 0 {
		t.Error(diff, s)
	}
}

// TestDeniedForTheRun: an action that was denied for the run is denied to every agent that asks again.
func TestDeniedForTheRun(t *testing.T) {
	s, c := PermissionState{Open: []PermissionRequest{asks("orch-1", "p1", "make")}}, &Collector{}
	taken := s.Answer(c, "ref", contract.Permit{Request: "p1", Behavior: bridge.Deny, Scope: contract.ScopeRun})
	testkit.Check(t, taken && s.Changes == 1 && len(s.Actions) == 0, "taken %v, %d changes, granted %v", taken,
		s.Changes, s.Actions)
	s.Asked(c, asks("orch-2", "p2", "make"), ask, s.Changes, present)
	s.Asked(c, asks("orch-2", "p3", "ls"), ask, s.Changes, present)
	diff := cmp.Diff([]string{"p1 deny human", "p2 deny human"}, told(c))
	testkit.Check(t, diff == "" && len(s.Open) == 1, "%s\nopen: %+v", diff, s.Open)
}

// TestUnclaimedAreDecided: an unclaimed request is closed under its id when the rules decide it now, and when
// the agent's call is decided without a question.
func TestUnclaimedAreDecided(t *testing.T) {
	old := func() PermissionState {
		return PermissionState{Unclaimed: []PermissionRequest{asks("orch-1", "p0", "make")}, Changes: 3}
	}
	allow := PermissionFinding{Behavior: bridge.Allow, By: "rule"}
	for name, tt := range map[string]struct {
		do   func(*PermissionState, *Collector)
		want []string
	}{
		"by a rule that is new": {func(s *PermissionState, c *Collector) {
			of := PermissionResolution{Request: "p0", Asked: "p0", Behavior: bridge.Allow, By: "rule"}
			s.Reconsidered(c, []PermissionResolution{of}, 3, present)
		}, []string{"p0 allow rule"}},
		"by an older rule": {func(s *PermissionState, c *Collector) {
			of := PermissionResolution{Request: "p0", Asked: "p0", Behavior: bridge.Allow, By: "rule"}
			s.Reconsidered(c, []PermissionResolution{of}, 2, present)
		}, nil},
		"when the agent asks": {func(s *PermissionState, c *Collector) {
			s.Asked(c, asks("orch-1", "p1", "make"), allow, 3, present)
		}, []string{"p0 allow rule"}},
		"when the call is decided before it is asked about": {func(s *PermissionState, c *Collector) {
			s.Decided(c, "orch-1", keyOf("make"), allow)
		}, []string{"p0 allow rule"}},
		"when another agent's call is decided": {func(s *PermissionState, c *Collector) {
			s.Decided(c, "orch-2", keyOf("make"), allow)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := old(), &Collector{}
			tt.do(&s, c)
			diff := cmp.Diff(tt.want, told(c))
			testkit.Check(t, diff == "" && len(s.Unclaimed) == 1-len(tt.want), "%s\nunclaimed: %+v", diff, s.Unclaimed)
		})
	}
}
