package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Bounds of a record that the supervisor writes.
const (
	maxLastTexts   = 6_000  // bytes of an agent's last texts
	recordBrief    = 12_000 // of its brief
	recordReceived = 6_000  // of the messages it received since
	recordFiles    = 200
)

// HandoffSource is what the supervisor writes a document from, in place of an Orchestrator.
type HandoffSource struct {
	Agent  Agent
	Why    string // why the agent cannot write its own
	Seen   bridge.InspectResult
	Plan   []contract.Step
	Recent []*contract.Message
	Name   func(id string) string // returns the name of a party in prose
}

// GenerateHandoff writes the document of an Orchestrator that can no longer answer, from the journal, its transcript
// and the repository. Only the quotes in it are the Orchestrator's words.
func GenerateHandoff(s HandoffSource) *verdict.Document {
	a, seen := s.Agent, s.Seen
	d := &verdict.Document{}
	if a.Document != nil && a.GeneratedWhy == "" { // what the agent itself wrote earlier still counts
		*d = *a.Document // another state shares its lists: do not append in place
		d.Checks, d.Claims = nil, nil
		for _, list := range []*[]string{&d.Accomplished, &d.Remaining, &d.OpenQuestions, &d.Files} {
			*list = slices.Clip(*list)
		}
	}
	for i, step := range s.Plan {
		if step.Agent != a.ID {
			continue
		}
		text := fmt.Sprintf("step %d of the plan, marked %s: %s", i+1, step.Status, step.Text)
		if step.Status == contract.StepDone {
			d.Accomplished = append(d.Accomplished, text)
		} else {
			d.Remaining = append(d.Remaining, text)
		}
	}
	for _, m := range s.Recent {
		if m.From != a.ID {
			continue
		}
		switch m.Kind {
		case verdict.KindProgress, verdict.KindIntroduction:
			d.Claims = append(d.Claims, verdict.Claim{Claim: "it reported: " + m.Text})
		case verdict.KindQuestion:
			d.OpenQuestions = append(d.OpenQuestions, "it asked, and perhaps had its answer: "+m.Text)
		}
	}
	d.Remaining = append(d.Remaining, "all of its brief that the files and the repository do not show to be done")
	d.Files = append(d.Files, seen.Files...)
	if n := len(d.Files); n > recordFiles {
		d.Files = d.Files[n-recordFiles:]
	}
	d.KeyContext = s.context()
	d.Normalize()
	return d
}

// context is further information about an agent's work.
func (s *HandoffSource) context() string {
	a, why, seen := s.Agent, s.Why, s.Seen
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s) could not hand off itself: %s. The supervisor drew this record up from what it saw. It "+
		"is nobody's word: look before you build on it.\n", a.Name, a.ID, why)
	if a.Document != nil && a.Document.KeyContext != "" && a.GeneratedWhy == "" {
		fmt.Fprintf(&b, "\nIn an earlier document it said: %s\n", a.Document.KeyContext)
	}
	fmt.Fprintf(&b, "\nIts brief was:\n%s\n", words.Head(cmp.Or(a.Brief, noText), recordBrief))
	if received := s.receivedSince(a.ID); received != "" {
		fmt.Fprintf(&b, "\nSince then it was told, and perhaps did not read:\n%s\n", words.Tail(received, recordReceived))
	}
	if len(seen.Texts) > 0 {
		fmt.Fprintf(&b, "\nIts last words, to itself:\n%s\n",
			words.Tail(strings.Join(seen.Texts, "\n---\n"), maxLastTexts))
	}
	if len(seen.Commands) > 0 {
		b.WriteString("\nCommands it ran last:\n")
		for _, c := range seen.Commands {
			who := ""
			if c.Subagent {
				who = ", by a subagent"
			}
			fmt.Fprintf(&b, "- %s (%s%s)\n", strings.ReplaceAll(c.Command, "\n", "\n  "), c.Outcome, who)
		}
	}
	if g := seen.Git; g != nil {
		fmt.Fprintf(&b, "\nThe repository now: branch %s at %.12s\n", cmp.Or(g.Branch, noText),
			cmp.Or(g.Head, noText))
		for _, part := range [][2]string{
			{"last commits", strings.Join(g.Commits, "\n")}, {"not committed", strings.Join(g.Status, "\n")},
			{"that is", g.Stat},
		} {
			if part[1] != "" {
				fmt.Fprintf(&b, "%s:\n%s\n", part[0], part[1])
			}
		}
	}
	for _, t := range seen.Problems {
		fmt.Fprintf(&b, "\nNot seen: %s\n", t)
	}
	return b.String()
}

// receivedSince is what the human and the Arbiter said to an Orchestrator after its brief.
func (s *HandoffSource) receivedSince(id string) string {
	var parts []string
	for _, m := range s.Recent {
		if m.To == id && m.From != contract.Supervisor && m.Kind != KindBrief {
			parts = append(parts,
				fmt.Sprintf("- %s (%s): %s", s.Name(m.From), m.Kind, strings.ReplaceAll(m.Text, "\n", "\n  ")))
		}
	}
	return strings.Join(parts, "\n")
}

// ArbiterRecord is the document of an Arbiter that could not give one. Other information for its successor is
// added to every document.
func ArbiterRecord(why string, plan []contract.Step, question string) *verdict.Document {
	d := &verdict.Document{
		KeyContext: "The Arbiter before you could not hand off itself: " + why +
			". Nothing is known of its thoughts but what it said and ruled.",
	}
	for i, step := range plan {
		text := fmt.Sprintf("step %d of the plan: %s", i+1, step.Text)
		switch step.Status {
		case contract.StepDone:
			d.Accomplished = append(d.Accomplished, text)
		case contract.StepPending, contract.StepActive, contract.StepFailed:
			d.Remaining = append(d.Remaining, text+" ("+step.Status+")")
		}
	}
	if question != "" {
		d.OpenQuestions = append(d.OpenQuestions, question)
	}
	d.Normalize()
	return d
}

// noText stands for an empty text in what a model reads.
const noText = "(nothing)"
