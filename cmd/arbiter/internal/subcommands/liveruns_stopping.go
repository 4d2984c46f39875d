package subcommands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// Stopped is the output of stop --json.
type Stopped struct {
	Run    string `json:"run"`
	Exit   int    `json:"exit_code"`
	Text   string `json:"text"`
	Resume string `json:"resume,omitempty"` // the command that resumes the run
}

// printStopped prints how the run ended.
func (e env) printStopped(s Stopped, unfinished []string) {
	for _, what := range unfinished {
		fmt.Fprintln(e.Stderr, "arbiter: did not end in time: "+sanitize.Line(what, 500))
	}
	text := s.Text
	if s.Exit == int(contract.ExitComplete) {
		text = "complete"
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended: %s\n", command.ShortID(s.Run), sanitize.Line(text, 1000))
	if s.Resume != "" {
		fmt.Fprintln(e.Stderr, "To resume: "+s.Resume)
	}
}

// endRun stops the run, and waits until its process has released it. The result is nil if the run did not report
// its end.
func endRun(l *runstore.Connection, ctx context.Context, now bool) (*control.RunEnded, error) {
	ended := make(chan *control.RunEnded, 1)
	err := l.Subscribe(ctx, control.SubscribeParams{Since: -1}, func(part any) {
		if end, ok := part.(control.RunEnded); ok {
			ended <- &end
		}
	})
	if err == nil {
		err = l.Stop(ctx, control.StopParams{Signal: "TERM", Fast: now})
	}
	var refused *control.Refusal
	if err != nil && !(errors.As(err, &refused) && refused.Message == runstore.ErrRunOver.Error()) {
		return nil, err
	}
	var end *control.RunEnded
	select {
	case end = <-ended:
	case <-l.Done():
		select {
		case end = <-ended: // received just before the connection ended
		default:
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return end, l.Store.AwaitEnd(ctx, l.Info.Run)
}

func StopCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "stop", Usage: "end a live run in order, so that it can be resumed", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Ends the run as SIGTERM does, waits for its end, and prints how it ended and how to resume it. The
run's own process ends with exit code 143. Without RUN it is the live run of this directory. To stop
all agents but keep the run, use arbiter halt.

Exit code 1: the connection was lost before it reported how; 130, 143: a signal ended the wait, the run still
ends. If arbiter does not answer (5), arbiter halt still ends its agents.`),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "now", Usage: "do not let running turns end"},
			command.JSONFlag(), settings.StateDirFlag()},
		Action: e.stop,
	}
}

// stop is `arbiter stop`.
func (e env) stop(c *cli.Context) error {
	ctx, done := command.Interruptible(c.Context, false)
	defer done()
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	end, err := endRun(l, ctx, c.Bool("now"))
	run := command.ShortID(l.Info.Run)
	switch {
	case ctx.Err() != nil:
		return command.BySignal(ctx, "run "+run+" is being stopped; arbiter ps shows whether it is still live")
	case err != nil:
		return runstore.NotConnected(l.Info, err)
	case end == nil:
		return &command.Error{Code: contract.ExitFailed, Text: "run " + run + " has ended, and did not report how"}
	}
	s := Stopped{Run: l.Info.Run, Exit: end.Exit, Text: end.Text}
	if info, err := l.Store.Find(l.Info.Run); err == nil && runstore.LineOf(info).Resumable && info.Unfinished {
		s.Resume = settings.ResumeLine("", l.Info.Run, l.Store.Root)
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(s)
	}
	e.printStopped(s, end.Unfinished)
	return nil
}

// inboxOf returns the items that wait for a human in a live run, the oldest first.
func inboxOf(st control.Status) ([]supervisor.InboxItem, error) {
	var list []supervisor.InboxItem // the same JSON
	raw, err := json.Marshal(append([]control.InboxItem{}, st.Inbox...))
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		return nil, fmt.Errorf("read what waits in run %s: %w", command.ShortID(st.Run), err)
	}
	return list, nil
}

// waitingText describes an item in full, and how to answer it. state is the flag that names the state directory.
func waitingText(i supervisor.InboxItem, run, state string) string {
	program := command.Program()
	answer := program + " send " + run + state + " TEXT"
	switch {
	case i.Request != nil:
		answer = program + " allow " + run + " " + sanitize.Line(i.ID, 80) + state + ", or deny"
	case len(i.Choices) > 0:
		answer = program + " choose " + run + state + " " + sanitize.Line(strings.Join(i.Choices, "|"), 200)
	}
	return itemText(i) + "\nAnswer with: " + answer
}

// itemText is what waits, in words.
func itemText(i supervisor.InboxItem) string {
	text := sanitize.Text(i.Text)
	if i.Request != nil {
		text, _ = eventtext.Text(history.Entry{Event: contract.Event{ID: i.Agent, Body: *i.Request}}, nil)
	}
	return strings.TrimRight(text, "\n")
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }
