package subcommands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
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
func (e liveEnv) sendCommand(
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

// liveEnv has the standard streams, and the commands of this package as methods.
type liveEnv struct{ command.Env }
