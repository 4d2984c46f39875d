package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
)

// explanation is what `decide --explain --json` prints of a decision, or of a moment.
type explanation struct {
	Run      string            `json:"run"`
	Record   uint64            `json:"record"` // of the journal; of a moment, the last one folded
	Time     time.Time         `json:"time"`
	Number   int               `json:"number,omitempty"`
	Point    decision.Point    `json:"point"`
	About    string            `json:"about,omitempty"`
	Source   string            `json:"source,omitempty"`
	Failed   string            `json:"failed,omitempty"`
	Decision *decider.Decision `json:"decision,omitempty"`
	Input    json.RawMessage   `json:"input,omitempty"`
	// Rendered is the prompt that the templates found now make of the input, where none
	// was recorded.
	Rendered *rendered `json:"rendered,omitempty"`
	// Rules is what the deterministic rules decide on it; of a moment only.
	Rules *decider.Decision `json:"rules,omitempty"`
}

// rendered is a prompt.
type rendered struct {
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Problem says why there is none.
	Problem string `json:"problem,omitempty"`
}

func (e env) explain(c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("decide --explain: one run at most, have %d", c.NArg())
	}
	if c.IsSet("number") && c.IsSet("at") {
		return usagef("decide: --number and --at are two ways to say which: choose one")
	}
	if c.IsSet("number") && c.Int("number") < 1 {
		return usagef("--number %d: decisions are counted from 1", c.Int("number"))
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := runOrLatest(c, store)
	if err != nil {
		return err
	}
	if c.IsSet("at") {
		return e.explainMoment(c, store, info.Run)
	}
	list, recovery, err := readRulings(store, info.Run)
	if err != nil {
		return environmentf("read run %s: %v", short(info.Run), err)
	}
	e.tellDamage(recovery)
	if !c.IsSet("number") {
		return e.listRulings(c, info.Run, list)
	}
	set, err := templatesHere(c)
	if err != nil {
		return err
	}
	var found []explanation
	for _, r := range list {
		if r.Number == c.Int("number") {
			found = append(found, explainRuling(info.Run, r, set))
		}
	}
	if len(found) == 0 {
		return usagef("run %s has no decision %d: it has %d (arbiter decide --explain %s lists them)", short(info.Run), c.Int("number"), len(list), short(info.Run))
	}
	for _, x := range found {
		if err := e.printExplanation(c, x); err != nil {
			return err
		}
	}
	return nil
}

// runOrLatest is the run that the argument names, or the latest of this directory.
func runOrLatest(c *cli.Context, store *runs) (journal.Info, error) {
	if c.NArg() > 0 {
		return oneRun(store.Store, c.Args().First())
	}
	place, err := workspace(c)
	if err != nil {
		return journal.Info{}, err
	}
	info, err := store.Latest(place, func(i journal.Info) bool { return !i.Empty })
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return info, usagef("no run has begun in %s: name one (arbiter sessions lists them)", place)
	case err != nil:
		return info, environmentf("find the latest run: %v", err)
	}
	return info, nil
}

// templatesHere are the prompts with the user's own templates, and a trusted workspace's.
func templatesHere(c *cli.Context) (*prompts.Set, error) {
	place, err := workspace(c)
	if err != nil {
		return nil, err
	}
	found, err := readTemplates(place, c.Bool("trust"), true)
	if err != nil {
		return nil, err
	}
	return prompts.NewSet(found)
}

func explainRuling(run string, r ruling, set *prompts.Set) explanation {
	x := explanation{
		Run: run, Record: r.Record, Time: r.At, Number: r.Number, Point: r.Point, About: r.About, Source: r.source(),
		Failed: r.Failed, Input: r.Input,
	}
	if r.Failed == "" && !r.Deferred {
		x.Decision = &r.Decision
	}
	if len(r.Input) == 0 || r.Decision.Prompt != "" {
		return x
	}
	q, err := questionOf(r.Point, r.Input)
	if err != nil {
		x.Rendered = &rendered{Problem: err.Error()}
		return x
	}
	x.Rendered = render(q, set)
	return x
}

// render makes the prompt of a question.
func render(q question, set *prompts.Set) *rendered {
	var r rendered
	var err error
	if q.evaluates != nil {
		r.System, r.Prompt, err = set.Evaluate(*q.evaluates)
	} else {
		r.System, r.Prompt, err = set.Select(*q.selects)
	}
	if err != nil {
		r.Problem = err.Error()
	}
	return &r
}

// explainMoment shows both inputs as they would be made after a record of the journal.
func (e env) explainMoment(c *cli.Context, store *runs, run string) error {
	upTo := ^uint64(0)
	if at := c.String("at"); at != "last" {
		n, err := strconv.ParseUint(at, 10, 64)
		if err != nil || n == 0 {
			return usagef("--at %q: want the number of a record of the journal, counted from 1, or last", at)
		}
		upTo = n
	}
	set, err := templatesHere(c)
	if err != nil {
		return err
	}
	var fold supervisor.Fold
	var last journal.Record
	var at time.Time
	recovery, err := store.Read(run, func(r journal.Record) error {
		if r.Seq > upTo {
			return nil
		}
		last.Seq = r.Seq
		if r.Kind == journal.Narration {
			return nil
		}
		step, err := fold.Replay(r)
		at = step.Input.At
		return err
	})
	if err != nil {
		return environmentf("read run %s: %v", short(run), err)
	}
	e.tellDamage(recovery)
	if upTo != ^uint64(0) && last.Seq < upTo {
		return usagef("run %s has %d records, and no record %d", short(run), last.Seq, upTo)
	}
	in := fold.State.SelectInput()
	questions := []question{{selects: &in}}
	if in, ok := fold.State.EvaluateInput(); ok {
		questions = append(questions, question{evaluates: &in})
	}
	for _, q := range questions {
		x := explanation{Run: run, Record: last.Seq, Time: at, Point: q.point(), Rendered: render(q, set)}
		if x.Input, err = json.Marshal(q.value()); err != nil {
			return err // our own types
		}
		d, err := ask(c.Context, decider.Rules{}, q)
		if err != nil {
			d = decider.Decision{Source: decider.ByRules, Warnings: []string{err.Error()}}
		}
		x.Rules = &d
		if err := e.printExplanation(c, x); err != nil {
			return err
		}
	}
	return nil
}

// ask puts a question to a decider.
func ask(ctx context.Context, d decider.Decider, q question) (decider.Decision, error) {
	if q.evaluates != nil {
		return d.EvaluateProgress(ctx, *q.evaluates)
	}
	return d.SelectAgent(ctx, *q.selects)
}

func (e env) listRulings(c *cli.Context, run string, list []ruling) error {
	if c.Bool("json") {
		all := []explanation{}
		for _, r := range list {
			x := explanation{Run: run, Record: r.Record, Time: r.At, Number: r.Number, Point: r.Point, About: r.About, Source: r.source(), Failed: r.Failed}
			if r.Failed == "" && !r.Deferred {
				d := r.Decision
				d.Prompt, d.Answer = "", "" // --number shows them
				x.Decision = &d
			}
			all = append(all, x)
		}
		return json.NewEncoder(e.stdout).Encode(all)
	}
	if len(list) == 0 {
		fmt.Fprintln(e.stderr, "No decision has been recorded in this run.")
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NUMBER\tRECORD\tTIME\tPOINT\tBY\tDECISION\tREASON")
	for _, r := range list {
		why := r.Decision.Reason
		if r.Failed != "" {
			why = r.Failed
		}
		fmt.Fprintf(w, "%d\t%d\t%s\t%s\t%s\t%s\t%s\n", r.Number, r.Record, r.At.Local().Format(time.TimeOnly), sanitize.Line(string(r.Point), 20),
			sanitize.Line(r.source(), 20), sanitize.Line(rulingText(r.Decision), 40), sanitize.Line(why, 80))
	}
	return w.Flush()
}

func (e env) printExplanation(c *cli.Context, x explanation) error {
	if c.Bool("json") {
		return json.NewEncoder(e.stdout).Encode(x)
	}
	if x.Number > 0 {
		word(e.stdout, "decision", "%d (%s), record %d, %s", x.Number, x.Point, x.Record, x.Time.Local().Format(time.DateTime))
	} else {
		word(e.stdout, "moment", "after record %d, %s: %s", x.Record, x.Time.Local().Format(time.DateTime), x.Point)
	}
	if x.About != "" {
		word(e.stdout, "about", "%s", x.About)
	}
	if x.Failed != "" {
		word(e.stdout, "failed", "%s", x.Failed)
	}
	if x.Source == "deferred" {
		word(e.stdout, "deferred", "the Arbiter rules on it in its own turn")
	}
	if x.Decision != nil {
		printDecision(e.stdout, *x.Decision)
	}
	if x.Rules != nil {
		fmt.Fprintln(e.stdout, "what the rules would decide:")
		printDecision(e.stdout, *x.Rules)
	}
	printExplained(e.stdout, x)
	fmt.Fprintln(e.stdout)
	return nil
}

// printDecision prints a decision in lines of prose.
func printDecision(w io.Writer, d decider.Decision) {
	by := string(d.Source)
	if d.Attempts > 0 {
		by += fmt.Sprintf(", attempts: %d", d.Attempts)
	}
	if d.Usage.CostUSD > 0 {
		by += fmt.Sprintf(", $%.4f", d.Usage.CostUSD)
	}
	word(w, "by", "%s", by)
	if d.Decision != "" {
		word(w, "decided", "%s", rulingText(d))
	}
	for _, x := range []struct{ name, text string }{{"reason", d.Reason}, {"message", d.Message}, {"summary", d.Summary}} {
		if x.text != "" {
			word(w, x.name, "%s", x.text)
		}
	}
	for _, text := range d.Warnings {
		word(w, "warning", "%s", text)
	}
}

// word prints a line that is named.
func word(w io.Writer, name, format string, args ...any) {
	fmt.Fprintf(w, "%-10s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...), 2000))
}

// printExplained prints what a decision was made from, whole.
func printExplained(w io.Writer, x explanation) {
	block := func(title, text string) {
		if text != "" {
			fmt.Fprintf(w, "\n%s:\n%s\n", title, sanitize.Text(text))
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
		block("prompt, as it was read", d.Prompt)
		block("answer, as it was given", d.Answer)
	}
	if r := x.Rendered; r != nil {
		if r.Problem != "" {
			word(w, "prompt", "none: %s", r.Problem)
		}
		block("system prompt, by the templates found now", r.System)
		block("prompt, by the templates found now", r.Prompt)
	}
}
