package subcommands

// This part of the package explains the decisions of a run from its event log: the question, the prompt, who
// decided, and the result.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Explanation is what `decide --explain --json` prints about a decision, or about a moment of the run.
type Explanation struct {
	Run       string                `json:"run"`
	Rehearsal bool                  `json:"rehearsal,omitempty"` // a scripted model plays: costs are simulated
	Record    uint64                `json:"record"`              // in the journal; for a moment, the last one applied
	Time      time.Time             `json:"time"`
	Number    int                   `json:"number,omitempty"`
	Point     decider.DecisionPoint `json:"point"`
	About     string                `json:"about,omitempty"`
	Source    string                `json:"source,omitempty"`
	Failed    string                `json:"failed,omitempty"`
	Decision  *decider.Decision     `json:"decision,omitempty"`
	Spawned   []string              `json:"summoned,omitempty"` // modes summoned by the Arbiter's tool in that turn
	Input     json.RawMessage       `json:"input,omitempty"`
	// Rendered is the prompt that the current templates make from the input. It is set for a moment, and for a
	// decision for which no model read a prompt; the Arbiter's session reads messages instead.
	Rendered *Rendered `json:"rendered,omitempty"`
	// Rules is what the deterministic rules decide on the input; for a moment only.
	Rules *decider.Decision `json:"rules,omitempty"`
}

// Rendered is a prompt.
type Rendered struct {
	System string `json:"system"`
	Prompt string `json:"prompt"`
	// Problem says why there is no prompt.
	Problem string `json:"problem,omitempty"`
}

func (e Env) explain(c *cli.Context) error {
	if c.IsSet("number") && c.IsSet("at") {
		return command.Usagef("decide: --number and --at exclude each other: use one of them")
	}
	if c.IsSet("number") && c.Int("number") < 1 {
		return command.Usagef("--number %d: decision numbers start at 1", c.Int("number"))
	}
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	if c.IsSet("at") {
		return e.explainMoment(c, store, info)
	}
	list, err := DecisionsOf(e.Env, c.Context, store, info.Run)
	if err != nil {
		return err
	}
	if !c.IsSet("number") {
		return e.listDecisions(c, info, list)
	}
	set, err := templatesHere(c)
	if err != nil {
		return err
	}
	var found []Explanation
	for _, r := range list {
		if r.Number == c.Int("number") && (!r.Unused || !c.Bool("json")) {
			found = append(found, ExplainDecision(info.Run, info.Rehearsal, r, set))
		}
	}
	if len(found) == 0 {
		return command.Usagef("run %s has no decision %d: it has %d (arbiter decide --explain %[1]s lists them)",
			command.ShortID(info.Run), c.Int("number"), runstore.LastDecision(list))
	}
	if c.Bool("json") {
		found = found[len(found)-1:] // an earlier one only says why it was passed on
	}
	for _, x := range found {
		if err := e.printExplanation(c, x); err != nil {
			return err
		}
	}
	return nil
}

// DecisionsOf lists the decisions of a run.
func DecisionsOf(e command.Env, ctx context.Context, store *runstore.Runs, run string) ([]runstore.Decision, error) {
	list, health, err := store.Decisions(ctx, run)
	if err != nil {
		return nil, command.Environmentf("read run %s: %v", command.ShortID(run), err)
	}
	runstore.PrintDamage(e.Stderr, health)
	return list, nil
}

// templatesHere returns the prompts with the user's own templates, and those of a trusted workspace.
func templatesHere(c *cli.Context) (*decider.PromptSet, error) {
	place, err := command.Workspace(c)
	if err != nil {
		return nil, err
	}
	t, err := settings.TrustOf(c, place)
	if err != nil {
		return nil, err
	}
	found, err := settings.ReadTemplates(place, t.Trusted, true)
	if err == nil {
		err = t.Unchanged(place)
	}
	if err != nil {
		return nil, err
	}
	return decider.NewSet(found)
}

// outlineOf returns a decision without its input and prompt.
func outlineOf(run string, rehearsal bool, r runstore.Decision) Explanation {
	x := Explanation{
		Run: run, Rehearsal: rehearsal, Record: r.Record, Time: r.At, Number: r.Number, Point: r.Point,
		About: r.About, Source: r.By(), Failed: r.Failed, Spawned: r.Spawned,
	}
	if r.Failed == "" && !r.Deferred {
		d := r.Decision
		d.System, d.Prompt, d.Answer = "", "", ""
		x.Decision = &d
	}
	return x
}

// ExplainDecision returns a decision with its input and prompt. If set is nil, a prompt that no model read is left
// out.
func ExplainDecision(run string, rehearsal bool, r runstore.Decision, set *decider.PromptSet) Explanation {
	x := outlineOf(run, rehearsal, r)
	x.Input = r.Input
	if x.Decision != nil {
		x.Decision = &r.Decision
	}
	if set == nil || len(r.Input) == 0 || r.Decision.Prompt != "" || r.Decision.Source == decider.BySession {
		return x
	}
	q, err := runstore.QuestionOf(r.Point, r.Input)
	if err != nil {
		x.Rendered = &Rendered{Problem: err.Error()}
		return x
	}
	x.Rendered = renderTemplates(q, set)
	return x
}

func renderTemplates(q decider.Input, set *decider.PromptSet) *Rendered {
	system, prompt, err := set.Prompt(q)
	r := &Rendered{System: system, Prompt: prompt}
	if err != nil {
		r.Problem = err.Error()
	}
	return r
}

// explainMoment shows both inputs as they would be after a record of the journal.
func (e Env) explainMoment(c *cli.Context, store *runstore.Runs, info journal.Info) error {
	run, upTo := info.Run, ^uint64(0)
	if at := c.String("at"); at != "last" {
		n, err := strconv.ParseUint(at, 10, 64)
		if err != nil || n == 0 {
			return command.Usagef("--at %q: use the number of a journal record, counted from 1, or last", at)
		}
		upTo = n
	}
	set, err := templatesHere(c)
	if err != nil {
		return err
	}
	var replayer supervisor.Replayer
	var last journal.Record
	var at time.Time
	recovery, err := store.ReadTo(run, upTo, func(r journal.Record) error {
		last.Seq = r.Seq
		if r.Kind == journal.Snapshot {
			err := replayer.Take(r)
			at = replayer.State.Budget.Runtime.LastAt
			return err
		}
		step, err := replayer.Replay(r)
		at = step.Input.At
		return err
	})
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(run), err)
	}
	if list := supervisor.JournalDamage(recovery); len(list) > 0 {
		runstore.SayDamaged(e.Stderr, list)
	}
	if all, err := store.Read(run, nil); err == nil && last.Seq == 0 && all.Records >= upTo {
		return command.Usagef("the journal of run %s keeps its last states only, up to record %d, and not that after record "+
			"%d: name a later one", command.ShortID(run), all.Records, upTo)
	}
	if last.Seq == 0 {
		return command.Environmentf("nothing can be read of run %s: there is no moment to explain", command.ShortID(run))
	}
	if upTo != ^uint64(0) && last.Seq < upTo {
		return command.Usagef("run %s has %d records, and no record %d", command.ShortID(run), last.Seq, upTo)
	}
	record := replayer.State.Record()
	questions := []decider.Input{decider.SelectInput(record)}
	if replayer.State.Task.History.Len() > 0 { // otherwise there is nothing to judge
		questions = append(questions, decider.EvaluateInput(record))
	}
	for _, q := range questions {
		x := Explanation{Run: run, Rehearsal: info.Rehearsal, Record: last.Seq, Time: at, Point: q.Point(),
			Rendered: renderTemplates(q, set)}
		x.Input, _ = json.Marshal(q) // cannot fail with our own types
		d, err := decider.Rules{}.Decide(c.Context, q)
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

func (e Env) listDecisions(c *cli.Context, info journal.Info, list []runstore.Decision) error {
	if c.Bool("json") {
		all := []Explanation{}
		for _, r := range list {
			all = append(all, outlineOf(info.Run, info.Rehearsal, r)) // --number shows the rest
		}
		return e.PrintJSON(all)
	}
	return command.PrintList(e.Env, false, list, "No decision has been recorded in this run.",
		"NUMBER\tRECORD\tTIME\tPOINT\tBY\tDECISION\tSUMMONED\tREASON", func(r runstore.Decision) string {
			return fmt.Sprintf("%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s", r.Number, r.Record, r.At.Local().Format(time.TimeOnly),
				sanitize.Line(string(r.Point), 20), sanitize.Line(r.By(), 20),
				sanitize.Line(runstore.DecisionText(r.Decision), 40), spawnedText(r.Spawned),
				sanitize.Line(cmp.Or(r.Failed, r.Decision.Reason), 80))
		})
}

// spawnedText lists modes in a few words; an empty mode is "any".
func spawnedText(modes []string) string {
	var list []string
	for _, m := range modes {
		list = append(list, cmp.Or(m, "any"))
	}
	return sanitize.Line(strings.Join(list, " "), 40)
}

func (e Env) printExplanation(c *cli.Context, x Explanation) error {
	if c.Bool("json") {
		return e.PrintJSON(x)
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
