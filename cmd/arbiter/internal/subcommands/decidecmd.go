package subcommands

// This part of the package has the commands that ask a decider outside of a run: decide, and replay
// --decisions.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// maxInput bounds an input file, in bytes.
const maxInput = 4 << 20

// DecideFlags returns the flags of commands that ask a decider, from the table of settings.
func DecideFlags() []cli.Flag {
	return settings.Flags("cwd", "claude", "model", "arbiter-model", "decider", "decider-model", "decider-provider",
		"decider-base-url", "decider-key-env", "decider-max-tokens", "decider-temperature", "decider-effort",
		"decider-timeout", "env", "arbiter-env", "trust", "max-cost", "pid-namespace", "rehearse", "scenario", "stand-in",
		"state-dir", "config", "debug")
}

// DecideCommand is `arbiter decide`.
func (e Env) DecideCommand() *cli.Command {
	return &cli.Command{
		Name: "decide", Usage: "explain a run's decisions, or ask a decider for one", ArgsUsage: "[RUN]",
		Description: "--explain lists the decisions of a run, by default of the latest run of this directory. With\n" +
			"--number it shows one decision: the input, the prompt, the answer, the decision and what went wrong.\n" +
			"With --at it shows the inputs as of one journal record, and what the rules would decide.\n\n" +
			"--input reads an input (as --explain --json prints it) and asks a decider: to try out prompts and\n" +
			"models. The decider sees only the input. It is stateless by default; session cannot be asked.\n\n" +
			"Exit code 1: the decider gave no usable decision.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "explain", Usage: "list the decisions of a run"},
			&cli.IntFlag{Name: "number", Usage: "show decision `N`, counted from 1; implies --explain"},
			&cli.StringFlag{Name: "at",
				Usage: "show the inputs as of journal `RECORD`, counted from 1, or last; implies --explain"},
			&cli.StringFlag{Name: "input", Usage: "decide on the input in `FILE` (-: stdin)"},
			&cli.StringFlag{Name: "template", Usage: settings.Choice(decider.PromptNames()...) +
				"print this built-in prompt template"},
			command.JSONFlag(),
		}, DecideFlags()...),
		Action: e.decide,
	}
}

func (e Env) decide(c *cli.Context) error {
	explains := c.Bool("explain") || c.IsSet("number") || c.IsSet("at")
	switch {
	case c.IsSet("template"):
		return e.printTemplate(c)
	case explains && c.IsSet("input"):
		return command.Usagef("decide: --explain and --input exclude each other: use one of them")
	case explains:
		return e.explain(c)
	case c.IsSet("input"):
		return e.decideOn(c)
	}
	return command.Usagef("decide: use --explain [RUN], --input FILE or --template NAME")
}

// decideOn asks a decider to decide on an input from a file.
func (e Env) decideOn(c *cli.Context) error {
	if c.NArg() > 0 {
		return command.Usagef("decide --input takes no RUN: leave out %s", c.Args().First())
	}
	raw, err := e.readInput(c.String("input"))
	if err != nil {
		return err
	}
	q, err := runstore.ParseQuestion(raw)
	if err != nil {
		return command.Usagef("--input %s: %v", c.String("input"), err)
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	o, err := e.openDecider(ctx, c)
	if err != nil {
		return err
	}
	defer o.close(e)
	d, err := o.ask(ctx, q)
	switch _, ok := errors.AsType[*command.Error](err); {
	case ok:
		return err
	case err != nil:
		return command.Failedf("%s gives no decision: %v", o.name, err)
	case c.Bool("json"):
		return e.PrintJSON(struct {
			decider.Decision
			Rehearsal bool `json:"rehearsal,omitempty"`
		}{d, o.rehearses()})
	}
	PrintDecision(e.Stdout, d, o.rehearses())
	return nil
}

func (e Env) readInput(path string) (raw []byte, err error) {
	if path != "-" {
		raw, err = command.ReadFile(path, maxInput)
	} else if raw, err = io.ReadAll(io.LimitReader(e.Stdin, maxInput+1)); err == nil && len(raw) > maxInput {
		err = fmt.Errorf("stdin has more than %s bytes", words.Number(maxInput))
	}
	if err != nil {
		return nil, command.Usagef("--input %s: %v", path, command.WithoutPath(err))
	}
	return raw, nil
}

// sideDecider is a decider that is asked outside of any run, with its bridge.
type sideDecider struct {
	host.Opened
	name   string
	bridge *host.SideBridge // empty for rules only; has no client if a provider is asked over HTTP
}

// openDecider makes the decider that the settings name. Errors are *command.Error.
func (e Env) openDecider(ctx context.Context, c *cli.Context) (*sideDecider, error) {
	named := c.IsSet("decider")
	if err := settings.CheckVariables(os.Environ()); err != nil {
		return nil, err
	}
	s, err := settings.ReadChoices(c)
	if err != nil {
		return nil, err
	}
	if s.Options.Decider == runconfig.DeciderSession {
		if named && c.String("decider") != "" {
			return nil, command.Usagef("--decider session works only inside a run: use stateless, hybrid or rules")
		}
		s.Options.Decider = runconfig.DeciderStateless
	}
	if s.Options.Templates, err = settings.ReadTemplates(s.Place, s.Trusting.Trusted, !s.Options.Rehearsal); err != nil {
		return nil, err
	}
	log := slog.New(slog.DiscardHandler)
	if s.Debug {
		log = slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	o := &sideDecider{name: s.Options.Decider, bridge: &host.SideBridge{}}
	switch {
	case o.name == runconfig.DeciderRules:
	case host.OverHTTP(s.Options):
		o.bridge, err = host.StageSide(&s, log)
	default:
		o.bridge, err = host.OpenSide(ctx, &s, log)
	}
	if err != nil {
		return nil, err
	}
	s.Options.DecisionCache = false
	o.Opened, err = host.OpenDecider(s.Options, host.ModelRun{Stage: o.bridge.Stage, Strict: true, Log: log,
		State: func() *supervisor.State {
			now := &supervisor.State{Options: s.Options}
			now.Budget.CostUSD = o.bridge.Cost()
			return now
		},
		Bridge: func() host.Querier { return o.bridge }})
	if err != nil {
		o.close(e)
		return nil, err
	}
	return o, nil
}

// rehearses reports whether a script answers, so that costs are simulated.
func (o *sideDecider) rehearses() bool { return o.bridge.Stage != nil }

// ask asks one question. A *command.Error ends the command; any other error concerns this question only.
func (o *sideDecider) ask(ctx context.Context, q decider.Input) (decider.Decision, error) {
	d, err := o.Decider.Decide(ctx, q)
	var asked interface{ Hopeless() bool }
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() != nil:
		return d, context.Cause(ctx)
	case errors.As(err, &asked) && asked.Hopeless():
		return d, command.Environmentf("%v", err)
	}
	return d, err
}

// close closes the bridge, and prints where a rehearsal left its script.
func (o *sideDecider) close(e Env) {
	o.Opened.Close()
	if o.bridge.Stage != nil {
		for _, p := range o.bridge.Stage.Server.Problems() {
			fmt.Fprintln(e.Stderr, "REHEARSAL PROBLEM: "+sanitize.Line(p, 500))
		}
	}
	o.bridge.Close()
}

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

	Rehearsal bool `json:"rehearsal,omitempty"` // the cost is simulated
}

// ReplayDecisions asks a decider again for each decision of a run, and prints those that differ.
func (e Env) ReplayDecisions(c *cli.Context) error {
	if c.IsSet("pace") {
		return command.Usagef("replay --decisions takes no --pace")
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
			return command.Usagef("--only: run %s has no decision %d (arbiter decide --explain %[1]s lists them)",
				command.ShortID(info.Run), n)
		}
	}
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	o, err := e.openDecider(ctx, c)
	if err != nil {
		return err
	}
	defer o.close(e)
	t := Tally{Decider: o.name, Rehearsal: o.rehearses()}
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
		if _, ok := errors.AsType[*command.Error](err); ok {
			return err
		}
		x := t.judge(Redecision{Number: r.Number, Record: r.Record, Point: r.Point, Recorded: was}, d, err)
		if err := e.printRedecision(c, x); err != nil {
			return err
		}
	}
	t.CostUSD = o.bridge.Cost()
	if err := e.printTally(c, t); err != nil || t.Asked > 0 {
		return err
	}
	// A comparison of nothing must not look like a success.
	return command.Usagef("replay --decisions: run %s has no decision to compare (%d were skipped: arbiter decide "+
		"--explain %[1]s lists them)", command.ShortID(info.Run), t.Skipped)
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

func (e Env) printRedecision(c *cli.Context, x Redecision) error {
	if c.Bool("json") {
		return e.PrintJSON(x)
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

func (e Env) printTally(c *cli.Context, t Tally) error {
	if c.Bool("json") {
		if err := e.PrintJSON(t); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.Stdout, "%s: %d asked, %d the same, %d differ, %d failed; %d skipped; $%.4f%s\n", t.Decider, t.Asked,
			t.Same, t.Differ, t.Failed, t.Skipped, t.CostUSD, eventtext.Simulated(t.Rehearsal))
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

// printTemplate prints a built-in template, as a start for a user's own.
func (e Env) printTemplate(c *cli.Context) error {
	if c.NArg() > 0 || c.IsSet("explain") || c.IsSet("number") || c.IsSet("at") || c.IsSet("input") {
		return command.Usagef("decide --template takes no other flag and no argument")
	}
	text, ok := decider.PromptSource(c.String("template"))
	if !ok {
		return command.Usagef("--template %q: use one of %s", c.String("template"), strings.Join(decider.PromptNames(), ", "))
	}
	_, err := io.WriteString(e.Stdout, text)
	return err
}
