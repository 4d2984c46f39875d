package subcommands

// This part of the package has the commands that talk to a live run over its control socket: list the live
// runs, show one, follow its events, send it messages, answer its requests, and stop or halt it. One more
// command prints the settings with which the hooks of a person's own session ask a live run.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// halts is how long a running arbiter may take to stop everything.
const halts = 15 * time.Second

func HaltCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "halt", Usage: "stop every agent of a run at once", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Stops every agent at once, without asking. The run stays, paused: /continue on its screen, or
{"type":"continue"} on its stdin, starts the agents again. If the run's own arbiter does not answer
within 2 s, this command kills the run's bridge, and with it every agent.

Exit code 1: some agents are alive.`),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "halt every live run, in any directory"},
			settings.StateDirFlag()},
		Action: e.halt,
	}
}

// halt is `arbiter halt`.
func (e env) halt(c *cli.Context) error {
	if c.NArg() > 1 || c.NArg() == 1 && c.Bool("all") {
		return command.Usagef("halt: give one RUN, or --all, not both")
	}
	if c.NArg() == 1 && c.Args().First() == "" {
		return command.Usagef("the RUN is empty: give one, or none to stop the run of this directory")
	}
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	defer runstore.ReportStrays(e.Stderr, store.Store) // after the live runs
	var list []journal.Info
	if c.Bool("all") {
		if list, err = store.Live(""); err != nil {
			return err
		}
		if len(list) == 0 {
			fmt.Fprintln(e.Stderr, "No run is live.")
		}
	} else {
		info, err := runstore.FindLive(store, c.Args().First())
		if err != nil {
			return err
		}
		list = append(list, info)
	}
	var worst *command.Error
	for _, info := range list {
		if err := e.haltRun(store, info); err != nil && (worst == nil || worst.Code == contract.ExitUsage) {
			worst = err
		}
	}
	if worst != nil {
		return worst
	}
	return nil
}

// haltRun stops the agents of one run, and prints how.
func (e env) haltRun(store *runstore.Runs, info journal.Info) *command.Error {
	r, err := askHalt(store, info)
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		return command.Usagef("run %s: %s", command.ShortID(info.Run), refused.Message)
	case err != nil:
		return e.haltSilent(store, info, err)
	case len(r.Left) > 0:
		return &command.Error{Code: contract.ExitFailed,
			Text: fmt.Sprintf("run %s: still alive: %s", command.ShortID(info.Run), strings.Join(r.Left, ", "))}
	}
	how := map[string]string{"loop": "halted", "bridge": "halted by its bridge: the run itself did not answer",
		"killed": "halted by force: neither the run nor its bridge answered"}
	run := command.ShortID(info.Run)
	fmt.Fprintf(e.Stderr, "Run %s is %s. No agent is alive. To continue: arbiter attach %s%s, then /continue.\n", run,
		cmp.Or(how[r.How], sanitize.Line(r.How, 40)), run, settings.StateForCommand(store.Root))
	return nil
}

// askHalt asks the run's arbiter.
func askHalt(store *runstore.Runs, info journal.Info) (control.HaltResult, error) {
	client, _, err := store.Dial(context.Background(), info, runstore.AnswerTime, nil)
	if err != nil {
		return control.HaltResult{}, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), halts)
	defer cancel()
	return client.Halt(ctx, control.HaltParams{})
}

// haltSilent stops the agents of an arbiter that does not answer, by killing its bridge. Agents may not do that.
func (e env) haltSilent(store *runstore.Runs, info journal.Info, why error) *command.Error {
	if anAgents(info.PID) {
		return command.Usagef("refused: an agent started this process, and agents may not halt or attach")
	}
	fmt.Fprintf(e.Stderr, "The arbiter of run %s (process %d) does not answer: %s. Its bridge is killed.\n",
		command.ShortID(info.Run), info.PID, sanitize.Line(why.Error(), 200))
	note, killed, left, err := runstore.KillBridge(store.Dir(info.Run), info.Run)
	if len(left) > 0 {
		var names []string
		for _, p := range left {
			names = append(names, fmt.Sprintf("%s (%d)", sanitize.Line(p.Name, 40), p.PID))
		}
		return &command.Error{Code: contract.ExitFailed,
			Text: fmt.Sprintf("run %s: still alive: %s", command.ShortID(info.Run), strings.Join(names, ", "))}
	}
	if err != nil {
		return &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf("run %s: %v", command.ShortID(info.Run), err)}
	}
	where := ""
	if len(note.Hosts) > 0 {
		where = " here"
	}
	fmt.Fprintf(e.Stderr, "Killed: %s. No agent of run %s is alive%s.%s\n", words.Count(killed, "process"),
		command.ShortID(info.Run), where, note.EndElsewhere())
	return nil
}

// anAgents reports whether an agent started this process: an agent of that arbiter or of any other.
func anAgents(arbiter int) bool {
	line, err := proctree.Lineage(os.Getpid())
	if err != nil {
		return !errors.Is(err, errors.ErrUnsupported)
	}
	return slices.ContainsFunc(line, func(k proctree.Ancestor) bool { return k.PID == arbiter || len(k.Runs) > 0 })
}
