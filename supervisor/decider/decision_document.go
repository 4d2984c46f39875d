package decider

import (
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Bounds of a document: items of a list, and runes of an item. The judged execution contains all that is kept;
// a history contains only what is left and what failed, shortened.
const (
	leftItems, leftRunes   = 16, 300 // of what remains and of open questions
	otherItems, otherRunes = 10, 200
	contextRunes           = 2000
	checkOutputRunes       = 300
	briefItems, briefRunes = 8, 160 // of each list in a history
	openAgents             = 8      // agents whose open points are listed: those that handed over last
)

// DecisionDocument is what an execution handed over, with the results of its checks, which the supervisor ran.
// Everything except the results of checks and the proofs is the author's statement.
type DecisionDocument struct {
	Accomplished  []string        `json:"accomplished,omitempty"`
	Remaining     []string        `json:"remaining,omitempty"`
	OpenQuestions []string        `json:"openQuestions,omitempty"`
	KeyContext    string          `json:"keyContext,omitempty"`
	Choices       []string        `json:"decisions,omitempty"` // with what was rejected, and why
	Constraints   []string        `json:"constraints,omitempty"`
	Files         []string        `json:"files,omitempty"`
	Claims        []DecisionClaim `json:"claims,omitempty"`
	Checks        []DecisionCheck `json:"checks,omitempty"`
}

// DecisionClaim is a statement with what its check proves: verified, unverified or refuted.
type DecisionClaim struct {
	Claim string `json:"claim"`
	Proof string `json:"proof"`
}

// DecisionCheck is a command of a document and the result.
type DecisionCheck struct {
	Agent   string `json:"agent,omitempty"` // the author of its document, if the context does not say it
	Command string `json:"command"`
	Expect  string `json:"expect,omitempty"`
	Result  string `json:"result"`           // passed, failed, unrun, unclear
	Why     string `json:"why,omitempty"`    // why it failed, was not run or is unclear
	Output  string `json:"output,omitempty"` // its end; not of a passed one
	Before  string `json:"before,omitempty"` // of a passed one, on the files before the work: failed at first, already true
}

// OpenPoint is what the last document of a mode leaves open.
type OpenPoint struct {
	Agent         string   `json:"agent"` // the mode
	Iteration     int      `json:"iteration"`
	Remaining     []string `json:"remaining,omitempty"`
	OpenQuestions []string `json:"openQuestions,omitempty"`
	// Since are the other modes that have had a successful execution since then.
	Since []string `json:"since,omitempty"`
}

// Handed builds an execution's document from the document that it gave and the receipts of its checks; nil: it
// gave none. Phrases that mean "nothing" are removed from what remains and from open questions.
func Handed(d *verdict.Document, receipts []verdict.Receipt) *DecisionDocument {
	if d == nil {
		return nil
	}
	h := &DecisionDocument{
		Accomplished:  items(d.Accomplished, otherItems, otherRunes),
		Remaining:     items(meant(d.Left()), leftItems, leftRunes),
		OpenQuestions: items(meant(d.OpenQuestions), leftItems, leftRunes),
		KeyContext:    short(d.KeyContext, contextRunes),
		Constraints:   items(d.Constraints, otherItems, otherRunes),
		Files:         items(d.Files, filesListed, otherRunes),
	}
	var choices []string
	for _, x := range d.Decisions {
		choices = append(choices, x.Text())
	}
	h.Choices = items(choices, otherItems, otherRunes)
	proofs := d.Proofs(receipts)
	for i, c := range d.Claims {
		if strings.TrimSpace(c.Claim) != "" && len(h.Claims) < otherItems {
			h.Claims = append(h.Claims, DecisionClaim{short(c.Claim, otherRunes), proofs[i]})
		}
	}
	for i, c := range d.Checks[:min(len(d.Checks), otherItems)] {
		r := verdict.Receipt{Result: verdict.CheckUnrun, Why: "it was not run"}
		if i < len(receipts) {
			r = receipts[i]
		}
		h.Checks = append(h.Checks, Ran(c, r))
	}
	return h
}

// Ran is a check with its receipt.
func Ran(c verdict.Check, r verdict.Receipt) DecisionCheck {
	x := DecisionCheck{Command: short(c.Command, otherRunes), Expect: short(c.Expect, otherRunes), Result: r.Result,
		Why: short(r.Why, otherRunes), Before: r.Before}
	if r.Result != verdict.CheckPassed {
		x.Output = short(r.Output, checkOutputRunes)
	}
	return x
}

// short is [Cut] with a copy of the text, so that the rest of it is not kept in memory.
func short(text string, runes int) string { return strings.Clone(Cut(text, runes)) }

// items shortens each text of a list, and the list; a last entry says how many more there were.
func items(list []string, most, runes int) []string {
	var out []string
	more := 0
	for _, text := range list {
		switch {
		case strings.TrimSpace(text) == "":
		case len(out) < most:
			out = append(out, short(text, runes))
		default:
			more++
		}
	}
	if more > 0 {
		out = append(out, mark+" and "+strconv.Itoa(more)+" more")
	}
	return out
}

// nothingWords are what models write into a list that should be empty.
var nothingWords = []string{
	"none", "nothing", "nothing remains", "nothing is left", "nothing left", "no remaining work", "none remaining",
	"n/a", "no open questions", "no",
}

// meant removes entries from a list that say that there is nothing.
func meant(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(text string) bool {
		text = strings.ToLower(strings.Trim(text, " \t\r\n.-–—()*"))
		return text == "" || slices.Contains(nothingWords, text)
	})
}

// brief is the document as a history contains it: what it leaves open, what its checks did not prove, what was
// refuted.
func (d *DecisionDocument) brief() *DecisionDocument {
	if d == nil {
		return nil
	}
	b := &DecisionDocument{
		Remaining:     items(d.Remaining, briefItems, briefRunes),
		OpenQuestions: items(d.OpenQuestions, briefItems, briefRunes),
		KeyContext:    Cut(d.KeyContext, SummaryRunes),
	}
	for _, c := range d.Claims {
		if c.Proof == verdict.Refuted {
			b.Claims = append(b.Claims, DecisionClaim{Cut(c.Claim, briefRunes), c.Proof})
		}
	}
	for _, c := range d.Checks {
		if c.Result != verdict.CheckPassed {
			c.Command, c.Expect, c.Why, c.Output = Cut(c.Command, briefRunes), "", Cut(c.Why, briefRunes), ""
		} else {
			c = DecisionCheck{Command: Cut(c.Command, briefRunes), Result: c.Result}
		}
		b.Checks = append(b.Checks, c)
	}
	return b
}

// openDecisionPoints lists what the last document of each mode leaves open, in the order in which the documents were
// handed over. Remaining work that is a step of the plan is left out: the plan contains it.
func openDecisionPoints(r DecisionRecord) []OpenPoint {
	var left []tally
	for _, t := range r.History.Agents {
		if t.Left != nil {
			left = append(left, t)
		}
	}
	slices.SortFunc(left, func(a, b tally) int { return a.LeftAt - b.LeftAt })
	var points []OpenPoint
	for _, t := range left[max(len(left)-openAgents, 0):] {
		p := OpenPoint{Agent: t.Agent, Iteration: t.LeftIteration, OpenQuestions: t.Left.OpenQuestions}
		for _, text := range t.Left.Remaining {
			if !slices.ContainsFunc(r.Steps, func(s DecisionStep) bool { return Cut(s.Description, leftRunes) == text }) {
				p.Remaining = append(p.Remaining, text)
			}
		}
		if len(p.Remaining)+len(p.OpenQuestions) == 0 {
			continue
		}
		for _, o := range r.History.Agents {
			if o.Agent != t.Agent && o.Succeeded > 0 && o.SucceededAt > t.LeftAt {
				p.Since = append(p.Since, o.Agent)
			}
		}
		points = append(points, p)
	}
	return points
}
