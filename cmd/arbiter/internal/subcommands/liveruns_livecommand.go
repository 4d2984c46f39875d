package subcommands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// takes is how long a live run may take to accept a command, which it first writes to disk.
const takes = 15 * time.Second

// commandLine is the --json output for a command that was sent to a live run.
type commandLine struct {
	Run      string `json:"run"`
	Accepted bool   `json:"accepted"`
	Message  string `json:"message"`
}

// send sends a command to the run, and waits until it is accepted or rejected.
func send(l *runstore.Connection, ctx context.Context, body contract.CommandBody) (control.CommandResult, error) {
	line, err := contract.MarshalCommand(contract.Command{Body: body})
	if err != nil {
		return control.CommandResult{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, takes)
	defer cancel()
	r, err := l.Command(ctx, line)
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		err = command.Usagef("run %s: %s", command.ShortID(l.Info.Run), refused.Message)
	case err != nil:
		err = &command.Error{Code: contract.ExitFailed, Text: fmt.Sprintf(
			"run %s: %v: whether it accepted the command is not known; arbiter watch prints its events",
			command.ShortID(l.Info.Run), err)}
	}
	return r, err
}

// sendCommand sends a command to the run, and prints the result.
func (e env) sendCommand(
	ctx context.Context,
	l *runstore.Connection,
	body contract.CommandBody,
	asJSON bool,
) error {
	r, err := send(l, ctx, body)
	if err != nil {
		return err
	}
	if asJSON {
		line := commandLine{Run: l.Info.Run, Accepted: r.Accepted, Message: r.Message}
		if err := json.NewEncoder(e.Stdout).Encode(line); err != nil {
			return command.Environmentf("stdout: %v", err)
		}
	}
	if !r.Accepted {
		return command.Usagef("run %s: %s", command.ShortID(l.Info.Run), r.Message)
	}
	if !asJSON {
		fmt.Fprintf(e.Stderr, "Run %s: %s\n", command.ShortID(l.Info.Run), sanitize.Line(r.Message, 300))
	}
	return nil
}

// oneOf returns an error if the value of a flag is not one of words.
func oneOf(flag, value string, words ...string) error {
	if slices.Contains(words, value) {
		return nil
	}
	last := len(words) - 1
	return command.Usagef("--%s %q: use %s or %s", flag, value, strings.Join(words[:last], ", "), words[last])
}

// maxSent bounds a text from stdin; the run refuses one of more than 1 MiB.
const maxSent = 1<<20 + 1

func SendCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "send", Usage: "send a message to a live run, or answer its question", ArgsUsage: "[RUN] TEXT|-",
		Description: strings.TrimSpace(`
Sends TEXT, or what stdin holds, to the Arbiter or to an agent. Without RUN it is the live run of
this directory. A message to the Arbiter answers its open question.

  arbiter send "Use PostgreSQL."
  arbiter send --to orch-1 --strength steer "Leave the parser alone."
  git diff | arbiter send -

Exit code 0: the message is on disk; 1: the connection was lost: it may be, or not.`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "to", Usage: "the `AGENT`, such as orch-1 (default: the Arbiter)"},
			&cli.StringFlag{Name: "strength", Value: contract.Note, Usage: "`note|steer|stop`: for the agent's next " +
				"turn, into the running turn, or after interrupting it"},
			command.JSONFlag(), settings.StateDirFlag(),
		},
		Action: e.send,
	}
}

// send is `arbiter send`.
func (e env) send(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 || len(args) > 2 {
		return command.Usagef("send: give one TEXT, in quotes, or - for stdin, optionally after a RUN")
	}
	err := oneOf("strength", c.String("strength"), contract.Note, contract.Steer, contract.Stop)
	if err != nil {
		return err
	}
	run, text := "", args[len(args)-1]
	if len(args) == 2 {
		run = args[0]
	}
	if text == "-" {
		raw, err := io.ReadAll(io.LimitReader(e.Stdin, maxSent))
		if err != nil {
			return command.Environmentf("stdin: %v", err)
		}
		text = strings.TrimRight(string(raw), "\r\n")
	}
	if strings.TrimSpace(text) == "" {
		return command.Usagef("send: the TEXT is empty")
	}
	l, err := runstore.Connect(c, run, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	say := contract.Say{Text: text, To: c.String("to"), Strength: c.String("strength")}
	if say.To != "" {
		if err := Knows(l.First, say.To); err != nil {
			return err
		}
	}
	return e.sendCommand(c.Context, l, say, c.Bool("json"))
}

// Knows returns an error if a run has no such agent.
func Knows(st control.Status, agent string) error {
	var ids []string
	for _, a := range st.Agents {
		if a.ID == agent {
			return nil
		}
		ids = append(ids, sanitize.Line(a.ID, 40))
	}
	return command.Usagef("there is no agent %q in run %s: use one of %s", agent, command.ShortID(st.Run),
		strings.Join(ids, ", "))
}

func ChooseCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "choose", Usage: "choose how a live run continues", ArgsUsage: "[RUN] OPTION",
		Description: strings.TrimSpace(`
Takes one of the options that arbiter status shows: after a failure, such as retry, or about trust in
a workspace that has changed. Without RUN it is the live run of this directory.

Exit code 1: the connection was lost: it may be chosen, or not.`),
		Flags: []cli.Flag{command.JSONFlag(), settings.StateDirFlag()}, Action: e.choose,
	}
}

// choose is `arbiter choose`.
func (e env) choose(c *cli.Context) error {
	args := c.Args().Slice()
	if len(args) == 0 || len(args) > 2 || args[len(args)-1] == "" {
		return command.Usagef("choose: give one OPTION, optionally after a RUN; arbiter status shows the options")
	}
	run := ""
	if len(args) == 2 {
		run = args[0]
	}
	l, err := runstore.Connect(c, run, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	return e.sendCommand(c.Context, l, contract.Choose{Option: args[len(args)-1]}, c.Bool("json"))
}
