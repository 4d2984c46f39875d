package supervisor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/acceptance"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/handoff"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Acceptance criteria: who sets them, and how a COMPLETE is judged by them. They are judged after the checks of the
// hand-off documents were repeated, on the tree of a snapshot that is taken for it.

// acceptFromOptions sets the criteria that the run is started with.
func (st *step) acceptFromOptions() {
	for _, command := range st.Options.Accept {
		err := st.Task.Acceptance.HumanAdds(acceptance.Given{Command: command}, acceptance.FromFlag)
		if err != nil { // the flags were checked; a run of another version may have had other bounds
			st.emit(contract.Supervisor, contract.Notice{Text: "an acceptance criterion is left out: " + err.Error()})
		}
	}
}

// setAcceptance takes the human's criteria.
func (st *step) setAcceptance(ref string, c contract.SetAcceptance) {
	list := make([]acceptance.Given, 0, len(c.Criteria))
	for _, g := range c.Criteria {
		list = append(list, acceptance.Given{Text: g.Text, Command: g.Command, By: acceptance.By(g.By)})
	}
	origin := acceptance.FromStdin
	if st.channel == input.ChannelScreen {
		origin = acceptance.FromScreen
	}
	err := st.Task.Acceptance.HumanSets(list, origin)
	if err != nil {
		st.reject(ref, "%s", err)
		return
	}
	st.accept(ref, fmt.Sprintf("acceptance criteria set: %d", len(st.Task.Acceptance.Criteria)))
	if st.Handoff.Completing != nil { // the Arbiter rules again when it has read the criteria
		st.dropRepetition()
		st.emit(contract.Supervisor, contract.Notice{
			Text: "COMPLETE did not take effect: the human changed the acceptance criteria.",
		})
	}
	if st.Task.Text != "" {
		text := "The human dropped all acceptance criteria."
		if criteria := st.criteriaText(); criteria != "" {
			text = "The human set the acceptance criteria:\n" + criteria
		}
		st.tell(contract.Arbiter, conversation.KindNotice, text)
	}
}

type (
	acceptanceInput struct {
		Criteria []criterionInput `json:"criteria" jsonschema:"all criteria in order; repeat each of the human's as it is"`
	}
	criterionInput struct {
		Text    string `json:"text" jsonschema:"what must hold"`
		Command string `json:"command,omitempty" jsonschema:"a shell command that proves it by exit code 0"`
	}
)

func (st *step) toolSetAcceptance(in acceptanceInput) (string, error) {
	list := make([]acceptance.Given, 0, len(in.Criteria))
	for _, g := range in.Criteria {
		list = append(list, acceptance.Given{Text: g.Text, Command: g.Command})
	}
	err := st.Task.Acceptance.ArbiterSets(list)
	if err != nil {
		return "", err
	}
	return "The acceptance criteria:\n" + st.criteriaText(), nil
}

// criteriaText lists the criteria for a model; empty: there are none.
func (s *State) criteriaText() string {
	var b strings.Builder
	for i, c := range s.Task.Acceptance.Criteria {
		fmt.Fprintf(&b, "%d. %s", i+1, c.Text)
		if c.Command != "" && c.Command != c.Text {
			fmt.Fprintf(&b, " – proved by `%s`", c.Command)
		}
		fmt.Fprintf(&b, " (set by the %s)\n", c.By)
	}
	return b.String()
}

// judge judges the COMPLETE at hand by the criteria.
func (st *step) judge() {
	criteria := &st.Task.Acceptance
	if len(criteria.Criteria) == 0 {
		st.concludeRuling()
		return
	}
	if how := criteria.AskHow(); how != "" && st.FallbackReason == "" && !st.asksOther() {
		st.Handoff.Completing = nil
		st.tell(contract.Arbiter, conversation.KindNotice, how)
		return
	}
	if !st.Changes.Judge(&st.out, st.Options.Workspace) {
		st.judgeTree("")
	}
}

// judgeAnew judges the COMPLETE at hand once more, in another process: the files may be others.
func (st *step) judgeAnew() {
	dropped := st.Handoff.RemoveWhere(func(h *handoff.Handover) bool { return h.Kind == handoff.KindAccept })
	for _, h := range dropped {
		st.out.StopTimer(handoverKey(h.Serial))
		st.dropCheck(h.Request, "the acceptance criteria are judged anew")
	}
	if len(dropped) > 0 && st.Handoff.Completing != nil {
		st.judge()
	}
}

// judgeTree runs the commands of the criteria, on the files as they are: a tree of Git, empty without Git.
func (st *step) judgeTree(tree string) {
	c := st.Handoff.Completing
	if c == nil || st.overtaken(c) {
		return
	}
	runs := st.Task.Acceptance.Begin(tree)
	if len(runs) == 0 {
		st.criteriaJudged()
		return
	}
	var doc verdict.Document
	for _, r := range runs {
		doc.Checks = append(doc.Checks, verdict.Check{Command: r.Command})
	}
	doc.Normalize()
	st.handOver(handoff.Handover{
		Agent: bridge.AgentRef{ID: contract.Supervisor}, Kind: handoff.KindAccept, Document: &doc,
	})
}

// criterionChecked takes what came of the command of the next criterion.
func (st *step) criterionChecked(r bridge.CheckResult, failed string) {
	pending := st.Task.Acceptance.Pending()
	if len(pending) == 0 {
		return
	}
	switch {
	case failed != "":
	case r.TimedOut:
		failed = "out of time"
	case r.Signal != "":
		failed = "ended by signal " + r.Signal
	}
	st.Task.Acceptance.Finish(pending[0], acceptance.Finding{
		Exit: r.Exit, SHA256: r.SHA256, Output: r.Output, Tree: pending[0].Tree, Failed: failed,
	})
}

// humansCommand reports whether a human set the criterion whose command is next: nobody is asked whether it may run.
func (s *State) humansCommand() bool {
	pending := s.Task.Acceptance.Pending()
	return len(pending) > 0 && s.Task.Acceptance.Criteria[pending[0].Criterion-1].By == acceptance.Human
}

// criteriaJudged ends a round: COMPLETE takes effect, goes back to its decider, or is the human's to settle.
func (st *step) criteriaJudged() {
	c := st.Handoff.Completing
	if c == nil {
		return
	}
	for len(st.Task.Acceptance.Pending()) > 0 {
		st.criterionChecked(bridge.CheckResult{}, "out of time")
	}
	o, judged := st.Task.Acceptance.Judge()
	if !judged { // the criteria were changed meanwhile
		st.judge()
		return
	}
	for _, e := range st.acceptance() {
		st.emit(contract.Supervisor, e)
	}
	if st.overtaken(c) {
		return
	}
	switch o.Verdict {
	case acceptance.Accepted:
		st.concludeRuling()
	case acceptance.Rejected:
		st.Handoff.Completing = nil
		st.emit(contract.Supervisor, contract.Notice{Text: o.Text})
		st.tellDecider(o.Text + "\n\nWhat failed, quoted:\n" + quoteLines(o.Evidence))
	default:
		st.Handoff.Completing = nil
		st.leaveToHuman(o.Text)
	}
}

// failedChecks are the checks and criteria that kept a COMPLETE from taking effect, as deciders are shown them.
func (s *State) failedChecks() []decision.Check {
	list := s.Handoff.FailedChecks()
	for _, r := range s.Task.Acceptance.Failing() {
		check := verdict.Check{Command: r.Command, Expect: "acceptance criterion: " + r.Text}
		why := cmp.Or(r.Why, fmt.Sprintf("exit code %d", r.Exit))
		list = append(list, decision.Ran(check, verdict.Receipt{Result: verdict.CheckFailed, Output: r.Output, Why: why}))
	}
	return list
}

// acceptance is what the criteria came to when they were last judged, for events and the result.
func (s *State) acceptance() []contract.Acceptance {
	tree := ""
	for _, r := range s.Task.Acceptance.Results {
		if r.Tree != "" {
			tree = r.Tree
		}
	}
	var list []contract.Acceptance
	for _, e := range s.Task.Acceptance.Entries(tree) {
		list = append(list, contract.Acceptance{
			Text: e.Text, Command: e.Command, By: string(e.By), Status: string(e.Status), ExitCode: e.ExitCode,
			SHA256: e.SHA256, Tree: e.Tree,
		})
	}
	return list
}
