package decider

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func agentsNamed(names ...string) []AgentDescription {
	return testkit.Each(names,
		func(n string) AgentDescription {
			return AgentDescription{Name: n, DisplayName: n, WhenToUse: "for " + n}
		})
}

func builtIn() []AgentDescription {
	return agentsNamed(developer, planner, reviewer, tester)
}

// ran is an execution after its own spawn.
func ran(agent string, iteration int, status DecisionStatus) DecisionExecution {
	e := DecisionExecution{Agent: agent, Iteration: iteration, Status: status,
		StartedAt: epoch.Add(time.Duration(iteration) * time.Minute)}
	e.CompletedAt = e.StartedAt.Add(time.Second)
	if e.Failed() {
		e.Error = &DecisionFailure{Agent: agent, Tool: "Bash", Message: "exit status 1",
			Category: ToolFailure, At: e.CompletedAt}
	}
	return e
}

// record is a task with the built-in agents and what they have done.
func record(done ...DecisionExecution) DecisionRecord {
	r := DecisionRecord{Task: "Weave", Agents: builtIn(),
		DecisionConstraints: DecisionConstraints{MaxIterations: 50, MaxConsecutiveFailures: 3}}
	for _, e := range done {
		add(&r, e)
	}
	return r
}

// add records an execution as the supervisor does.
func add(r *DecisionRecord, e DecisionExecution) {
	r.History = r.History.Add(e)
	r.CurrentIteration = max(r.CurrentIteration, e.Iteration)
	switch {
	case e.Failed():
		r.ConsecutiveFailures++
		r.TotalFailures++
		r.Error = e.Error
	case e.Status == StatusSuccess:
		r.ConsecutiveFailures = 0
		r.Error = nil
	}
}

func steps(list ...DecisionStep) []DecisionStep { return list }

// step is a step of a plan: its status, and the mode it names.
func step(status, mode string) DecisionStep {
	return DecisionStep{Description: "weave a thread", Status: status, Mode: mode}
}

// plain are prompts that contain the key of the input.
type plain struct{ err error }

func (p plain) Prompt(in Input) (string, string, error) {
	system := map[DecisionPoint]string{PointSelect: "choose", PointEvaluate: "judge"}[in.Point()]
	return system, string(in.Point()) + " " + Key(in), p.err
}

// reply is an answer of the scripted model.
type reply struct {
	text  string
	err   error
	hangs bool // until the context ends
}

// script answers questions in order, and then repeats the last reply.
type script struct {
	mu      sync.Mutex
	replies []reply
	asked   []Question
	at      []time.Time
}

func says(texts ...string) *script {
	s := &script{}
	for _, t := range texts {
		s.replies = append(s.replies, reply{text: t})
	}
	return s
}

func (s *script) Ask(ctx context.Context, q Question) (Answer, error) {
	s.mu.Lock()
	r := s.replies[min(len(s.asked), len(s.replies)-1)]
	s.asked = append(s.asked, q)
	s.at = append(s.at, time.Now())
	s.mu.Unlock()
	if r.hangs {
		<-ctx.Done()
		return Answer{}, errors.Join(ctx.Err(), r.err)
	}
	return Answer{Text: r.text, Usage: Usage{Input: 10, Output: 1, CostUSD: 0.5}}, r.err
}

func (s *script) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

// passing is an error that calls itself transient, or not.
type passing bool

func (p passing) Error() string   { return "the service is overloaded" }
func (p passing) Transient() bool { return bool(p) }

var errBroken = errors.New("the thread is cut")

// Key is the key of an input.
func Key(in Input) string { return Cached{}.key(in) }

// begins is the input of a task of which nothing exists yet.
func begins() SelectAgentInput {
	return SelectAgentInput{TaskInput: TaskInput{Task: "A task.", History: []ExecutionSummary{},
		AvailableAgents: []AgentDescription{{Name: "developer", DisplayName: "developer", WhenToUse: "For changes."}}}}
}

// sampleInput is the input of a task in progress.
func sampleInput() (in SelectAgentInput) {
	fill(reflect.ValueOf(&in).Elem())
	in.Task = "A task."
	in.AvailableAgents[0].Name, in.History[0].Agent, in.History[0].Status = "developer", "developer",
		StatusFailure
	in.LastError.Agent, in.LastError.Category, in.LastError.Message = "developer", ToolFailure, "exit status 1"
	in.Plan = &DecisionPlan{CurrentStepIndex: 1, Steps: []DecisionStep{
		{Index: 1, Description: "One.", Status: "complete", Mode: "developer", AgentUsed: "orch-1"},
		{Index: 2, Description: "Two.", Status: "failed"},
	}}
	return in
}

func executed() ExecutionSummary { return sampleInput().History[0] }
