package subcommands

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

func InboxCommand(io command.Env) *cli.Command {
	e := env{io}
	return &cli.Command{
		Name: "inbox", Usage: "list what waits for you in all live runs, and answer it",
		Description: strings.TrimSpace(`
Lists what waits for you in your live runs, in any directory, the oldest first. In a terminal it then reads answers, a
line each, by the number of the list; an empty line ends it:

  1 y                allow a permission request once (1 run, 1 always: again, too; 2 n REASON denies it; 3 y TEXT
                     answers an MCP server)
  4 TEXT             answer a question, or choose one of the options of a choice

Elsewhere it prints the list, with the command that answers each item.

Exit code 1: an answer was refused.`),
		Flags: []cli.Flag{command.JSONFlag(), settings.StateDirFlag()}, Action: e.inbox,
	}
}

// inboxEntry is what waits in one of the runs.
type inboxEntry struct {
	Run  string               `json:"run"`
	CWD  string               `json:"cwd"`
	Item supervisor.InboxItem `json:"item"`
}

// inbox is `arbiter inbox`.
func (e env) inbox(c *cli.Context) error {
	store, err := runstore.Open(c)
	if err != nil {
		return err
	}
	defer store.Close()
	reports, err := liveReports(c.Context, store)
	if err != nil {
		return err
	}
	list := []inboxEntry{}
	for _, r := range reports {
		if r.Problem != "" {
			fmt.Fprintf(e.Stderr, "Run %s: %s\n", command.ShortID(r.Run), sanitize.Line(r.Problem, 200))
		}
		for _, item := range r.Inbox {
			list = append(list, inboxEntry{r.Run, r.CWD, item})
		}
	}
	slices.SortStableFunc(list, func(a, b inboxEntry) int { return a.Item.Since.Compare(b.Item.Since) })
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(e.Stderr, "Nothing waits for you.")
		return nil
	}
	state := settings.StateForCommand(c.String("state-dir"))
	for n, i := range list {
		fmt.Fprintf(e.Stdout, "%d. run %s in %s, %s\n%s\n", n+1, command.ShortID(i.Run), sanitize.Line(i.CWD, 100),
			eventtext.Age(i.Item, time.Now()), indent(waitingText(i.Item, command.ShortID(i.Run), state)))
	}
	if !e.Asks() {
		return nil
	}
	return e.answerInbox(c, list)
}

// answerInbox reads answers, and sends each to its run.
func (e env) answerInbox(c *cli.Context, list []inboxEntry) error {
	var failed error
	lines := bufio.NewReader(e.Stdin)
	for {
		fmt.Fprint(e.Stderr, "Answer (NUMBER y, NUMBER n REASON, NUMBER TEXT; Enter ends): ")
		line, err := lines.ReadString('\n')
		if line = strings.TrimSpace(line); line == "" {
			return failed
		}
		if problem := e.answerOne(c, list, line); problem != nil {
			fmt.Fprintln(e.Stderr, problem)
			failed = &command.Error{Code: contract.ExitFailed, Text: "an answer was refused"}
		}
		if errors.Is(err, io.EOF) {
			return failed
		}
	}
}

func (e env) answerOne(c *cli.Context, list []inboxEntry, line string) error {
	number, text, _ := strings.Cut(line, " ")
	n, err := strconv.Atoi(number)
	if text = strings.TrimSpace(text); err != nil || n < 1 || n > len(list) || text == "" {
		return fmt.Errorf("begin with a number from 1 to %d, and write the answer behind it", len(list))
	}
	i := list[n-1]
	body, err := i.Item.Answer(text)
	if err != nil {
		return errors.New(sanitize.Line(err.Error(), 300))
	}
	l, err := runstore.Connect(c, i.Run, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	return e.sendCommand(c.Context, l, body, false)
}
