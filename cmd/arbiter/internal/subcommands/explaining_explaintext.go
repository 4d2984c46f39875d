package subcommands

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func (e explainEnv) listDecisions(c *cli.Context, info journal.Info, list []runstore.Decision) error {
	if c.Bool("json") {
		all := []Explanation{}
		for _, r := range list {
			all = append(all, outlineOf(info.Run, info.Rehearsal, r)) // --number shows the rest
		}
		return json.NewEncoder(e.Stdout).Encode(all)
	}
	if len(list) == 0 {
		fmt.Fprintln(e.Stderr, "No decision has been recorded in this run.")
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tRECORD\tTIME\tPOINT\tBY\tDECISION\tSUMMONED\tREASON")
	for _, r := range list {
		why := r.Decision.Reason
		if r.Failed != "" {
			why = r.Failed
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", r.Number, r.Record, r.At.Local().Format(time.TimeOnly),
			sanitize.Line(string(r.Point), 20), sanitize.Line(r.By(), 20),
			sanitize.Line(runstore.DecisionText(r.Decision), 40), spawnedText(r.Spawned), sanitize.Line(why, 80))
	}
	return w.Flush()
}

// spawnedText lists modes in a few words; an empty mode is "any".
func spawnedText(modes []string) string {
	var list []string
	for _, m := range modes {
		list = append(list, cmp.Or(m, "any"))
	}
	return sanitize.Line(strings.Join(list, " "), 40)
}

func (e explainEnv) printExplanation(c *cli.Context, x Explanation) error {
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(x)
	}
	WriteExplanation(e.Stdout, x)
	fmt.Fprintln(e.Stdout)
	return nil
}

// WriteExplanation writes an explanation as lines of prose, and the whole input of the decision.
func WriteExplanation(w io.Writer, x Explanation) {
	if x.Number > 0 {
		word(w, "decision", "%d (%s), record %d, %s", x.Number, x.Point, x.Record,
			x.Time.Local().Format(time.DateTime))
	} else {
		word(w, "moment", "after record %d, %s: %s", x.Record, x.Time.Local().Format(time.DateTime), x.Point)
	}
	if x.About != "" {
		word(w, "about", "%s", x.About)
	}
	if x.Failed != "" {
		word(w, "failed", "%s", x.Failed)
	}
	if x.Source == "deferred" {
		word(w, "deferred", "the Arbiter rules on it in its own turn")
	}
	if x.Decision != nil {
		PrintDecision(w, *x.Decision, x.Rehearsal)
	}
	if len(x.Spawned) > 0 {
		word(w, "summoned", "%s, by its tool", spawnedText(x.Spawned))
	}
	if x.Rules != nil {
		fmt.Fprintln(w, "what the rules would decide:")
		PrintDecision(w, *x.Rules, x.Rehearsal)
	}
	printExplained(w, x)
}

// PrintDecision prints a decision as lines of prose. In a rehearsal, the cost is marked as simulated.
func PrintDecision(w io.Writer, d decider.Decision, rehearsal bool) {
	by := string(d.Source)
	if d.Model != "" {
		by += " " + d.Model
	}
	if d.Attempts > 0 {
		by += fmt.Sprintf(", attempts: %d", d.Attempts)
	}
	if d.Usage.CostUSD > 0 {
		by += fmt.Sprintf(", $%.4f%s", d.Usage.CostUSD, eventtext.Simulated(rehearsal))
	}
	word(w, "by", "%s", by)
	if d.Decision != "" {
		word(w, "decided", "%s", runstore.DecisionText(d))
	}
	for _, x := range []struct{ name, text string }{{"reason", d.Reason}, {"message", d.Message},
		{"summary", d.Summary}} {
		if x.text != "" {
			word(w, x.name, "%s", x.text)
		}
	}
	for _, text := range d.Warnings {
		word(w, "warning", "%s", text)
	}
}

// word prints a line with a name.
func word(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-10s %s\n", name, sanitize.Line(sanitize.Redact(fmt.Sprintf(format, args...)), 2000))
}

// printExplained prints the whole input of a decision.
func printExplained(w io.Writer, x Explanation) {
	block := func(title, text string) {
		if text != "" {
			fmt.Fprintf(w, "\n%s:\n%s\n", title, sanitize.Text(sanitize.Redact(text)))
		}
	}
	if len(x.Input) > 0 {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, x.Input, "", "  "); err != nil {
			pretty.Write(x.Input)
		}
		block("input", pretty.String())
	}
	if d := x.Decision; d != nil {
		read := "prompt, as it was read"
		if d.Source == decider.BySession {
			read = "messages, as the Arbiter read them in its session"
		}
		block("system prompt, as it was read", d.System)
		block(read, d.Prompt)
		block("answer, as it was given", d.Answer)
	}
	if r := x.Rendered; r != nil {
		if r.Problem != "" {
			word(w, "prompt", "none: %s", r.Problem)
		}
		made := "by the templates found now"
		if x.Decision != nil {
			made += " (it was not read for this decision)"
		}
		block("system prompt, "+made, r.System)
		block("prompt, "+made, r.Prompt)
	}
}
