package subcommands

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// Redecision is a recorded decision with the decision on the same input now.
type Redecision struct {
	Number   int                   `json:"number"`
	Record   uint64                `json:"record"`
	Point    decider.DecisionPoint `json:"point"`
	Same     bool                  `json:"same"`
	Recorded decider.Decision      `json:"recorded"` // its result: the Arbiter may have summoned by its tool
	Now      *decider.Decision     `json:"now,omitempty"`
	Failed   string                `json:"failed,omitempty"` // why there is no decision now
}

// Tally counts the results of a replay.
type Tally struct {
	Decider string  `json:"decider"`
	Asked   int     `json:"asked"`
	Same    int     `json:"same"`
	Differ  int     `json:"differ"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"` // without input, or only the Arbiter can decide
	CostUSD float64 `json:"cost_usd"`
}

// ReplayDecisions asks a decider again for each decision of a run, and prints those that differ.
func ReplayDecisions(io command.Env, c *cli.Context) error {
	e := decideEnv{io}
	if c.NArg() != 1 || c.IsSet("pace") {
		return command.Usagef("replay --decisions: give one RUN, and no --pace")
	}
	only, err := numbers(c.String("only"))
	if err != nil {
		return err
	}
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	list, err := DecisionsOf(e.Env, c.Context, store, info.Run)
	store.Close()
	if err != nil {
		return err
	}
	for _, n := range only {
		if !slices.ContainsFunc(list, func(r runstore.Decision) bool { return r.Number == n }) {
			return command.Usagef("--only: run %s has no decision %d (arbiter decide --explain %s%s lists them)",
				command.ShortID(info.Run), n, command.ShortID(info.Run), settings.StateForCommand(store.Root))
		}
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	o, err := e.openDecider(ctx, c)
	if err != nil {
		return err
	}
	defer o.close(e)
	t := Tally{Decider: o.name}
	for _, r := range list {
		if len(only) > 0 && !slices.Contains(only, r.Number) {
			continue
		}
		was, comparable := r.Amounts()
		q, err := runstore.QuestionOf(r.Point, r.Input)
		if err != nil || !comparable || r.Unused {
			t.Skipped++
			continue
		}
		d, err := o.ask(ctx, q)
		var exit *command.Error
		if errors.As(err, &exit) {
			return err
		}
		x := t.judge(Redecision{Number: r.Number, Record: r.Record, Point: r.Point, Recorded: was}, d, err)
		if err := e.printRedecision(c, x); err != nil {
			return err
		}
	}
	t.CostUSD = o.cost()
	if err := e.printTally(c, t); err != nil || t.Asked > 0 {
		return err
	}
	// A comparison of nothing must not look like a success.
	return command.Usagef("replay --decisions: run %s has no decision to compare (%d were skipped: arbiter decide "+
		"--explain %s%s lists them)", command.ShortID(info.Run), t.Skipped, command.ShortID(info.Run),
		settings.StateForCommand(store.Root))
}

// judge compares a recorded decision with the new one, and counts the result.
func (t *Tally) judge(x Redecision, now decider.Decision, err error) Redecision {
	t.Asked++
	switch {
	case err != nil:
		t.Failed++
		x.Failed = err.Error()
		return x
	case runstore.SameDecision(x.Recorded, now):
		t.Same++
		x.Same = true
	default:
		t.Differ++
	}
	x.Now = &now
	return x
}

func (e decideEnv) printRedecision(c *cli.Context, x Redecision) error {
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(x)
	}
	if x.Same {
		return nil
	}
	fmt.Fprintf(e.Stdout, "%d %s (record %d)\n", x.Number, sanitize.Line(string(x.Point), 20), x.Record)
	line := func(name string, d decider.Decision) {
		fmt.Fprintf(e.Stdout, "  %-9s %s (%s): %s\n", name, sanitize.Line(runstore.DecisionText(d), 60),
			sanitize.Line(string(d.Source), 20), sanitize.Line(d.Reason, 300))
	}
	line("recorded", x.Recorded)
	if x.Now == nil {
		fmt.Fprintf(e.Stdout, "  %-9s none: %s\n", "now", sanitize.Line(x.Failed, 300))
		return nil
	}
	line("now", *x.Now)
	return nil
}

func (e decideEnv) printTally(c *cli.Context, t Tally) error {
	if c.Bool("json") {
		if err := json.NewEncoder(e.Stdout).Encode(t); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.Stdout, "%s: %d asked, %d the same, %d differ, %d failed; %d skipped; $%.4f\n",
			t.Decider, t.Asked, t.Same, t.Differ, t.Failed, t.Skipped, t.CostUSD)
	}
	if t.Differ+t.Failed > 0 {
		return &command.Error{Code: contract.ExitFailed}
	}
	return nil
}

// numbers parses a comma-separated list of decision numbers.
func numbers(list string) ([]int, error) {
	var found []int
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, command.Usagef("--only %q: use numbers of decisions, separated by commas", list)
		}
		found = append(found, n)
	}
	return found, nil
}
