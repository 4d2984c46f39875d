package subcommands

import (
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxSent bounds a text from stdin; the run refuses one of more than 1 MiB.
const maxSent = 1<<20 + 1

func SendCommand(io command.Env) *cli.Command {
	e := liveEnv{io}
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
func (e liveEnv) send(c *cli.Context) error {
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
