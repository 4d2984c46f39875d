package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// maxSummary is the maximum size that GitHub accepts for the summary of a step, in bytes.
const maxSummary = 1 << 20

// maxAnnotations is how many annotations of a kind GitHub shows for a step.
const maxAnnotations = 10

// annotations returns workflow commands of GitHub Actions: an error for each thing that failed, a warning for each
// other open point, and a notice that says how the run ended.
func (r *Report) annotations() string {
	var b strings.Builder
	counts := map[string]int{}
	annotate := func(level, title, text string) {
		if counts[level]++; counts[level] <= maxAnnotations {
			fmt.Fprintf(&b, "::%s title=%s::%s\n", level, property(title), data(words.Head(text, 2000)))
		}
	}
	if r.Status != contract.StatusComplete {
		annotate("error", "Run "+short(r.Run)+" is not complete: "+r.Status, r.Summary)
	}
	for _, c := range r.Acceptance {
		if c.Status == "failed" {
			annotate("error", "An acceptance criterion failed", c.Text+"\n"+c.Command+"\n"+c.receipt())
		}
	}
	for _, c := range r.Checks {
		if c.Result == "failed" {
			annotate("error", "A check of "+c.Agent+" failed", c.Command+"\n"+c.receipt()+"\n"+c.Output)
		}
	}
	for _, o := range r.Open {
		if o.Kind != OpenCheck && !(o.Kind == OpenCriterion && strings.HasPrefix(o.Text, "failed")) {
			annotate("warning", "Open: "+o.Kind, o.Text)
		}
	}
	text := fmt.Sprintf("%s\n%s. Changed: %s. Cost: %s, %s.", r.Summary, upperFirst(r.proved()), r.changed(),
		r.usd(r.CostUSD), r.lasted())
	annotate("notice", "Run "+short(r.Run)+": "+r.Status, text)
	return inLog(b.String(), "$1%5B")
}

// StepSummary returns the report for the file that GITHUB_STEP_SUMMARY names. If the report is too long, it
// returns a short form.
func (r *Report) StepSummary() string {
	text := r.Markdown()
	if len(text) <= maxSummary {
		return text
	}
	brief := *r
	brief.Milestones, brief.Decisions, brief.Answers, brief.Messages, brief.Checks = nil, nil, nil, nil, nil
	brief.Changes.Files = brief.Changes.Files[:min(len(brief.Changes.Files), 100)]
	brief.Tasks = brief.Tasks[max(0, len(brief.Tasks)-1):]
	brief.Notes = []string{"The report is too long for this place: use arbiter report --format markdown."}
	return brief.Markdown()
}

// Outputs returns the lines for the file that GITHUB_OUTPUT names: what later steps of a job need to know. No value has
// a line end, so none of them can set another output.
func (r *Report) Outputs() string {
	exit := ""
	if code, ok := exitOf[r.Status]; ok {
		exit = strconv.Itoa(int(code))
	}
	var b strings.Builder
	for _, o := range []struct{ name, value string }{
		{"run", r.Run}, {"status", r.Status}, {"exit-code", exit}, {"cost-usd", fmt.Sprintf("%.4f", r.CostUSD)},
		{"branch", r.Changes.Branch}, {"head", r.Changes.Head},
	} {
		fmt.Fprintf(&b, "%s=%s\n", o.name, sanitize.Line(o.value, maxReason))
	}
	return b.String()
}

// exitOf are the exit codes of runs that came to an end. A run without a result has none.
var exitOf = map[string]contract.Exit{
	contract.StatusComplete: contract.ExitComplete, contract.StatusIncomplete: contract.ExitFailed,
	contract.StatusFailed:    contract.ExitFailed,
	contract.StatusCancelled: contract.ExitFailed, contract.StatusNeedsInput: contract.ExitNeedsInput,
	contract.StatusLimit: contract.ExitLimit, contract.StatusInterrupted: contract.ExitInterrupted,
}

// data escapes text after a workflow command. The runner reverses this.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

// property escapes text in a property of a workflow command.
func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}
