package supervisor

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

var zero = time.Unix(1_800_000_000, 0)

func atInbox(seconds int) time.Time { return zero.Add(time.Duration(seconds) * time.Second) }

func request(id, agent string, seconds int) input.PermissionRequest {
	p := bridge.PermissionParams{
		AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: "Bash",
		Input: []byte(`{"command":"make all"}`),
	}
	return input.PermissionRequest{ID: id, At: atInbox(seconds), Params: p}
}

func askedInbox(parts ...QuestionPart) *Question {
	return &Question{Text: "all of it", At: parts[0].At, Parts: parts}
}

func agent(id string, role Role, status AgentStatus, seconds int) *Agent {
	a := &Agent{}
	a.ID, a.Role, a.Name, a.Status, a.Since = id, role, strings.ToUpper(id), status, atInbox(seconds)
	return a
}

// brief is an item in a line.
func brief(i InboxItem) string {
	line := i.ID + " " + string(i.Kind) + " " + i.Agent + " " + i.Age(atInbox(100)).String() + ": " + i.Text
	if len(i.Choices) > 0 {
		line += " [" + strings.Join(i.Choices, " ") + "]"
	}
	if i.Optional {
		line += " (optional)"
	}
	return line
}

func TestOf(t *testing.T) {
	which := QuestionPart{Number: 2, Text: "This or that?", At: atInbox(20), Arbiter: true}
	rejected := QuestionPart{Number: 3, Kind: KindAcceptance, Text: "Rejected.", At: atInbox(30)}
	for name, tt := range map[string]struct {
		state func(*State)
		want  []string
	}{
		"nothing": {func(*State) {}, nil},
		"everything, the oldest first": {func(s *State) {
			s.Question.Open = askedInbox(which, rejected)
			s.Permission.Open = []input.PermissionRequest{request("p2", "orch-1", 25)}
			s.Permission.Unclaimed = []input.PermissionRequest{request("p1", "orch-2", 10)}
			s.Lifecycle.TrustQuestion = &TrustQuestion{Hash: "h", At: atInbox(40)}
		}, []string{
			"p1 permission orch-2 1m30s: Bash: make all",
			"question-2 question arbiter 1m20s: This or that?",
			"p2 permission orch-1 1m15s: Bash: make all",
			"question-3 acceptance supervisor 1m10s: Rejected.",
			"trust trust supervisor 1m0s: The workspace is not as it was trusted. No agent starts until you have " +
				"looked at it. [trust without cancel]",
		}},
		"a question of an older snapshot": {func(s *State) {
			s.Question.Open = &Question{Text: "Which?", At: atInbox(1), Arbiter: true}
		}, []string{"question-0 question arbiter 1m39s: Which?"}},
		"the Arbiter is parked": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentParked, 50)}
		}, []string{"recovery-arbiter recovery arbiter 50s: ARBITER failed. What can be done: retry, cancel. " +
			"[retry cancel]"}},
		"an Orchestrator has failed": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentBusy, 50),
				agent("orch-1", RoleOrchestrator, AgentReady, 60)}
			s.Question.Recovery.Options, s.Question.Recovery.Agent = []string{"retry", "skip"}, "orch-1"
			s.Question.Recovery.Text = "ORCH-1 stopped at a failed Bash: no space."
		}, []string{"recovery-orch-1 recovery orch-1 40s: ORCH-1 stopped at a failed Bash: no space. " +
			"What can be done: retry, skip. " +
			"[retry skip] (optional)"}},
		"an error of the Arbiter's that it got over": {func(s *State) {
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentBusy, 50)}
			s.Question.Recovery.Options, s.Question.Recovery.Agent = []string{"retry"}, "arbiter"
		}, nil},
		"a run that was stopped": {func(s *State) {
			s.Ending = &Ending{Status: contract.StatusNeedsInput, Question: askedInbox(which),
				Requests: []input.PermissionRequest{request("p1", "orch-2", 10)}}
			s.Agents = []*Agent{agent("arbiter", RoleArbiter, AgentParked, 50)}
		}, []string{"p1 permission orch-2 1m30s: Bash: make all", "question-2 question arbiter 1m20s: This or that?"}},
		"a run that is complete": {func(s *State) {
			s.Task.Phase = machine.Complete
			s.Ending = &Ending{Status: contract.StatusComplete, Question: askedInbox(which)}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var s State
			tt.state(&s)
			var got []string
			for _, i := range InboxOf(&s) {
				got = append(got, brief(i))
				testkit.Same(t, fmt.Sprintf("%s: request %+v", i.ID, i.Request), (i.Request != nil),
					(i.Kind == InboxPermission))
			}
			if a, b := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); a != b {
				t.Errorf("there is\n%s\nwant\n%s", a, b)
			}
		})
	}
	if InboxOf(nil) != nil {
		t.Error("no run has items")
	}
}

// TestAwaited: what an agent may settle as well causes no notification.
func TestAwaited(t *testing.T) {
	list := []InboxItem{{ID: "a"}, {ID: "b", Optional: true}, {ID: "c"}}
	if got := Awaited(list); len(got) != 2 || got[1].ID != "c" || list[1].ID != "b" {
		t.Errorf("%+v of %+v", got, list)
	}
}

// TestCovered: a rule settles the requests with which it was offered, of any agent.
func TestCovered(t *testing.T) {
	ask := func(id, agent string, offered ...string) input.PermissionRequest {
		return input.PermissionRequest{ID: id, Suggestions: offered, Params: bridge.PermissionParams{
			AgentRef: bridge.AgentRef{ID: agent, Generation: 1}, Request: id, Tool: "Bash",
		}}
	}
	s := &State{}
	s.Permission.Open = []input.PermissionRequest{ask("header", "orch-1", "Bash(go test *)"),
		ask(
			"writer",
			"orch-2",
			"Bash(go test ./writer)",
			"Bash(go test *)",
		), ask("both", "orch-2", "Bash(go test *), Bash(rm *)"),
		ask("sensitive", "orch-1")}
	s.Permission.Unclaimed = []input.PermissionRequest{ask("old", "orch-3", "Bash(go test *)")}
	for rule, want := range map[string][]string{
		"Bash(go test *)": {"header", "writer", "old"}, "Bash(go test ./writer)": {"writer"}, "Bash": nil, "": nil,
	} {
		testkit.Same(t, fmt.Sprintf("%s settles", rule), want, Covered(s, rule))
	}
	if Covered(nil, "Bash") != nil {
		t.Error("no run has requests")
	}
}

// TestInboxAnswer: what a person writes about an item becomes one command on every face: behind a number of arbiter
// inbox or of plain lines, and behind a slash command.
func TestInboxAnswer(t *testing.T) {
	bash := InboxItem{ID: "p", Request: &contract.PermissionRequest{Tool: "Bash", Action: "a",
		Suggestions: []string{"Bash(go *)", "Bash"}}}
	form := InboxItem{ID: "f", Request: &contract.PermissionRequest{Tool: bridge.ElicitTool, Action: "a"}}
	choice := InboxItem{Choices: []string{"retry", "skip"}}
	allow := func(scope, rule string) contract.Permit {
		return contract.Permit{Request: "p", Action: "a", Behavior: "allow", Scope: scope, Rule: rule}
	}
	deny := func(reason string) contract.Permit {
		return contract.Permit{Request: "p", Action: "a", Behavior: "deny", Message: reason}
	}
	blue := contract.Permit{Request: "f", Action: "a", Behavior: "allow", Scope: "once", Message: "dark blue"}
	for _, tt := range []struct {
		item InboxItem
		text string
		want contract.CommandBody // nil: it is refused
	}{
		{bash, "y", allow("once", "")}, {bash, " Yes ", allow("once", "")}, {bash, "allow", allow("once", "")},
		{bash, "once ", allow("once", "")}, {bash, "run", allow("run", "")}, {bash, "always", allow("always", "")},
		{bash, "run a", allow("run", "Bash(go *)")}, {bash, "always B", allow("always", "Bash")},
		{bash, "always Bash(go test *)", allow("always", "Bash(go test *)")},
		{bash, "n", deny("")}, {bash, "n not now", deny("not now")}, {bash, "deny not\ntoday", deny("not\ntoday")},
		{bash, "y please", nil}, {bash, "y a", nil}, {bash, "run c", nil}, {bash, "run the tests", nil},
		{bash, "always please", nil}, {bash, "any form", nil}, {bash, "", nil}, {bash, "a", nil},
		{form, "y dark blue", blue}, {form, "y", contract.Permit{Request: "f", Action: "a", Behavior: "allow",
			Scope: "once"}}, {form, "dark blue", nil},
		{choice, "retry", contract.Choose{Option: "retry"}}, {choice, "y", nil}, {choice, "", nil},
		{InboxItem{}, "y, call it dawn", contract.Say{Text: "y, call it dawn"}}, {InboxItem{}, " ", nil},
	} {
		got, err := tt.item.Answer(tt.text)
		if !reflect.DeepEqual(got, tt.want) || (err == nil) != (tt.want != nil) {
			t.Errorf("%q: %+v, %v; want %+v", tt.text, got, err, tt.want)
		}
	}
}
