package subcommands

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// takes is how long a live run may take to accept a command, which it first writes to disk.
const takes = 15 * time.Second

// commandLine is the --json output for a command that was sent to a live run.
type commandLine struct {
	Run      string `json:"run"`
	Accepted bool   `json:"accepted"`
	Message  string `json:"message"`
}

// Send sends a command to a run with that status, and waits until it is accepted or rejected.
func Send(ctx context.Context, client *control.Client, st runstore.LiveStatus, body contract.CommandBody) (
	control.CommandResult, error) {
	ctx, cancel := context.WithTimeout(ctx, takes)
	defer cancel()
	r, err := runstore.Send(ctx, client, body)
	switch refused, ok := errors.AsType[*control.Refusal](err); {
	case ok:
		err = command.Usagef("run %s: %s", command.ShortID(st.Run), refused.Message)
	case err != nil:
		err = command.Failedf("run %s: %v: whether it accepted the command is not known; arbiter status shows the run",
			command.ShortID(st.Run), err)
	}
	held := supervisor.Held(st.Paused, st.Halted)
	if _, said := body.(contract.Say); said && r.Accepted && held != "" {
		r.Message += "; " + held
	}
	return r, err
}

// sendCommand sends a command to the run, and prints the result.
func (e Env) sendCommand(ctx context.Context, l *runstore.Connection, body contract.CommandBody, asJSON bool) error {
	r, err := Send(ctx, l.Client, l.First, body)
	if err != nil {
		return err
	}
	if asJSON {
		line := commandLine{Run: l.Info.Run, Accepted: r.Accepted, Message: r.Message}
		if err := e.PrintJSON(line); err != nil {
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

func (e Env) SendCommand() *cli.Command {
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

// runAnd returns the arguments of a command that takes one, optionally after a RUN.
func runAnd(c *cli.Context) (run, last string, ok bool) {
	if c.NArg() == 2 {
		return c.Args().Get(0), c.Args().Get(1), true
	}
	return "", c.Args().First(), c.NArg() == 1
}

// send is `arbiter send`.
func (e Env) send(c *cli.Context) error {
	run, text, ok := runAnd(c)
	if !ok {
		return command.Usagef("send: give one TEXT, in quotes, or - for stdin, optionally after a RUN")
	}
	err := oneOf("strength", c.String("strength"), contract.Note, contract.Steer, contract.Stop)
	if err != nil {
		return err
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
	if run == "" && len(text) >= 4 && strings.HasPrefix(l.First.Run, text) {
		return command.Usagef("send: %s is the id of the run: give the TEXT after it", text)
	}
	say := contract.Say{Text: text, To: c.String("to"), Strength: c.String("strength")}
	if say.To != "" {
		if err := Knows(l.First, say.To); err != nil {
			return err
		}
	}
	return e.sendCommand(c.Context, l, say, c.Bool("json"))
}

// Knows returns an error if a run has no such agent.
func Knows(st runstore.LiveStatus, agent string) error {
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

func (e Env) ChooseCommand() *cli.Command {
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
func (e Env) choose(c *cli.Context) error {
	run, option, ok := runAnd(c)
	if !ok || option == "" {
		return command.Usagef("choose: give one OPTION, optionally after a RUN; arbiter status shows the options")
	}
	l, err := runstore.Connect(c, run, nil)
	if err != nil {
		return err
	}
	defer l.Close()
	return e.sendCommand(c.Context, l, contract.Choose{Option: option}, c.Bool("json"))
}

// reportOn asks a live run for its status.
func reportOn(ctx context.Context, store *runstore.Runs, info journal.Info) runstore.LiveReport {
	client, st, err := store.Dial(ctx, info, runstore.AnswerTime, nil)
	if err == nil {
		client.Close()
		return liveReportOf(info, st)
	}
	r := runstore.LiveReport{Run: info.Run, PID: info.PID, CWD: info.CWD, Title: info.Title, Began: info.Began,
		Rehearsal: info.Rehearsal, Agents: []runstore.AgentStatus{}, Inbox: []supervisor.InboxItem{},
		ForkedFrom: info.ForkedFrom, Problem: err.Error()}
	if errors.Is(err, control.ErrSilent) || errors.Is(err, context.DeadlineExceeded) {
		r.Problem = "does not answer"
	}
	return r
}

// liveReportOf adds to a status what the directory of the run says.
func liveReportOf(info journal.Info, st runstore.LiveStatus) runstore.LiveReport {
	r := st.LiveReport
	r.ForkedFrom, r.Rehearsal = info.ForkedFrom, info.Rehearsal
	if r.Began.IsZero() { // its process has not begun the run yet
		r.Began, r.Title = info.Began, info.Title
	}
	return r
}

func (e Env) StatusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show where a live run stands, and what waits for you", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the live run of this directory. What waits for you is printed in full, with the command that answers
it. --json prints one object: {"run", "pid", "cwd", "title", "began", "rehearsal", "state", "does", "paused",
"halted", "seq", "cost_usd", "subagents", "max_subagents", "agents": [{"id", "name", "mode", "host", "make", "lacks",
"status", "does", "since", "session_id", "context_pct", "context_unknown", "cost_usd", "cost_unknown", "attached",
"fuse_usd", "fuse_spent_usd", "subagents", "max_subagents"}], "inbox": [{"id", "kind", "agent", "host", "text",
"since", "choices", "request", "optional"}], "forked_from": {"run", "at", "cost_usd", "isolated"}}. The run's subagents
are those that it has started, an agent's those at work. does says a state in words. seq is the last event's. A kind is
question, acceptance, permission, trust, limit or recovery.`),
		Flags:  []cli.Flag{command.JSONFlag(), settings.StateDirFlag()},
		Action: e.status,
	}
}

// status is `arbiter status`.
func (e Env) status(c *cli.Context) error {
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	defer l.Close()
	r := liveReportOf(l.Info, l.First)
	if c.Bool("json") {
		return e.PrintJSON(r)
	}
	e.printStatus(r, settings.StateForCommand(l.Store.Root), time.Now())
	return nil
}

func (e Env) printStatus(r runstore.LiveReport, state string, now time.Time) {
	word(e.Stdout, "run", "%s (process %d)", r.Run, r.PID)
	word(e.Stdout, "directory", "%s", r.CWD)
	word(e.Stdout, "task", "%s", r.Title)
	usd := func(x float64, unknown bool) string {
		text := eventtext.Dollars(x) + eventtext.Simulated(r.Rehearsal)
		if unknown {
			text += " and what is unknown"
		}
		return text
	}
	if text := runstore.ForkText(r.ForkedFrom); text != "" {
		word(e.Stdout, "forked", "%s", text)
	}
	word(e.Stdout, "state", "%s, %s, began %s ago", r.Does, usd(r.CostUSD, r.CostUnknown()),
		eventtext.Span(now.Sub(r.Began)))
	for _, a := range r.Agents {
		context := eventtext.Percent(a.Context)
		if a.ContextUnknown {
			context = "unknown"
		}
		text := fmt.Sprintf("%-8s %-16s %s for %s, context %s, %s", a.ID,
			r.Name(a.ID), a.Does,
			eventtext.Span(max(now.Sub(a.Since), 0)), context, usd(a.Cost, a.CostUnknown))
		if a.Fuse > 0 {
			text += ", " + eventtext.FuseSpent(a.FuseSpent, a.Fuse, r.Rehearsal) + " spent"
		}
		if a.Subagents > 0 {
			text += ", " + words.CountOf(a.Subagents, a.MaxSubagents, "subagent") + " at work"
		}
		if a.Attached != "" {
			text += ", in a terminal: " + a.Attached
		}
		word(e.Stdout, "agent", "%s", text)
		for _, what := range a.Lacks {
			word(e.Stdout, "", "  %s", what)
		}
	}
	if r.Subagents > 0 {
		word(e.Stdout, "subagents", "%s started", words.CountOf(r.Subagents, r.MaxSubagents, "subagent"))
	}
	for _, i := range r.Inbox {
		word(e.Stdout, "waiting", "%s, %s, %s", i.ID, eventtext.Asks(i, r.Name(i.Agent)), eventtext.Age(i, now))
		fmt.Fprintln(e.Stdout, indent(waitingText(r, i, state)))
	}
}

func (e Env) WatchCommand() *cli.Command {
	return &cli.Command{
		Name: "watch", Usage: "print the events of a live run until it ends", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Prints the same lines as arbiter --json: one event per line, from the first one of the run's process
on. Without RUN it is the live run of this directory. A reader that is slow costs the run nothing.

  arbiter watch | jq -r 'select(.event == "question") | .text'
  arbiter watch --since -1                             # only what happens from now on

Exit code: that of the run when it ends; else 1: stdout was closed; 5: the connection was lost; 130, 143: a
signal ended watch, the run continues.`),
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "since", DefaultText: "0: all",
				Usage: "print the events after the one with seq `N`; -1: those from now on"},
			settings.StateDirFlag(),
		},
		Action: e.watch,
	}
}

// watch is `arbiter watch`.
func (e Env) watch(c *cli.Context) error {
	if c.Int64("since") < -1 {
		return command.Usagef("--since %d: use the seq of an event, 0 for all, or -1 for those from now on", c.Int64("since"))
	}
	command.OutliveReaders()
	ctx, stop := command.Interruptible(c.Context, false)
	defer stop()
	l, err := runstore.Connect(c, c.Args().First(), nil)
	if err != nil {
		return err
	}
	f := runstore.Follower{Out: e.Stdout, Errs: e.Stderr, Since: c.Int64("since")}
	end, err := f.ToTheEnd(ctx, c, l)
	switch {
	case f.Failed != nil:
		return command.Failedf("stdout: %v", f.Failed)
	case err != nil || end.Exit == int(contract.ExitComplete):
		return err
	}
	return &command.Error{Code: contract.Exit(end.Exit), Text: "the run ended: " + end.Text}
}

func (e Env) PsCommand() *cli.Command {
	return &cli.Command{
		Name: "ps", Usage: "list live runs",
		Description: strings.TrimSpace(`
Lists your live runs, in any directory: where each stands, how many of its agents work, and how many things wait for
you. A run that does not answer within 2 s, or refuses to, is listed with the reason. --json prints an array of objects
as arbiter status --json does, with the reason as "problem". Runs whose process was killed are named on stderr, with the
command that resumes them.`),
		Flags:  []cli.Flag{command.JSONFlag(), settings.StateDirFlag()},
		Action: runstore.InRuns(e.ps),
	}
}

// ps is `arbiter ps`.
func (e Env) ps(c *cli.Context, store *runstore.Runs) error {
	reports, err := liveReports(c.Context, store)
	if err != nil {
		return err
	}
	if !c.Bool("json") {
		defer e.sayKilled(store)
	}
	return command.PrintList(e.Env, c.Bool("json"), reports, "No run is live.",
		"RUN\tSTATE\tAGENTS\tWAITING\tCOST\tBEGAN\tDIRECTORY\tTASK", func(r runstore.LiveReport) string {
			run, dir := command.ShortID(r.Run), sanitize.Line(r.CWD, 60)
			if r.Problem != "" {
				return run + "\t" + sanitize.Line(r.Problem, 60) + "\t\t\t\t\t" + dir
			}
			working := 0
			for _, a := range r.Agents {
				if a.Status == string(supervisor.AgentBusy) {
					working++
				}
			}
			return fmt.Sprintf("%s\t%s\t%d of %d\t%d\t%s\t%s\t%s\t%s", run, r.Does, working, len(r.Agents),
				len(supervisor.Awaited(r.Inbox)), eventtext.Costs(eventtext.Dollars(r.CostUSD), r.Rehearsal, r.CostUnknown()),
				r.Began.Local().Format(time.DateTime), dir, sanitize.Line(r.Title, 60))
		})
}

// liveReports asks all live runs for their status, at the same time.
func liveReports(ctx context.Context, store *runstore.Runs) ([]runstore.LiveReport, error) {
	list, err := store.Live("")
	if err != nil {
		return nil, err
	}
	reports := make([]runstore.LiveReport, len(list))
	var asked sync.WaitGroup
	for i, info := range list {
		asked.Go(func() { reports[i] = reportOn(ctx, store, info) })
	}
	asked.Wait()
	return reports, nil
}

// sayKilled names the runs whose process was killed or crashed, the last active first.
func (e Env) sayKilled(store *runstore.Runs) {
	const most = 5
	all, _ := store.List() // without it, ps still lists the live runs
	killed := slices.DeleteFunc(all, func(i journal.Info) bool { return !i.Killed() })
	for _, i := range killed[:min(len(killed), most)] {
		fmt.Fprintf(e.Stderr, "Interrupted: run %s in %s (%s). To resume: %s\n", command.ShortID(i.Run),
			sanitize.Line(i.CWD, 60), sanitize.Line(i.Title, 60), settings.ResumeLine("", i.Run, store.Root))
	}
	if len(killed) > most {
		fmt.Fprintf(e.Stderr, "%d more were interrupted: arbiter sessions%s\n", len(killed)-most,
			settings.StateForCommand(store.Root))
	}
}

func (e Env) InboxCommand() *cli.Command {
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
		Flags: []cli.Flag{command.JSONFlag(), settings.StateDirFlag()}, Action: runstore.InRuns(e.inbox),
	}
}

// inboxEntry is what waits in one of the runs.
type inboxEntry struct {
	Run  string               `json:"run"`
	CWD  string               `json:"cwd"`
	Item supervisor.InboxItem `json:"item"`

	report runstore.LiveReport
}

// inbox is `arbiter inbox`.
func (e Env) inbox(c *cli.Context, store *runstore.Runs) error {
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
			list = append(list, inboxEntry{r.Run, r.CWD, item, r})
		}
	}
	slices.SortStableFunc(list, func(a, b inboxEntry) int { return a.Item.Since.Compare(b.Item.Since) })
	if c.Bool("json") {
		return e.PrintJSON(list)
	}
	if len(list) == 0 {
		fmt.Fprintln(e.Stderr, "Nothing waits for you.")
		return nil
	}
	state := settings.StateForCommand(store.Root)
	for n, i := range list {
		fmt.Fprintf(e.Stdout, "%d. run %s in %s, %s, %s\n%s\n", n+1, command.ShortID(i.Run), sanitize.Line(i.CWD, 100),
			sanitize.Line(eventtext.Asks(i.Item, i.report.Name(i.Item.Agent)), 100), eventtext.Age(i.Item, time.Now()),
			indent(waitingText(i.report, i.Item, state)))
	}
	if !e.Asks() {
		return nil
	}
	return e.answerInbox(c, list)
}

// answerInbox reads answers, and sends each to its run.
func (e Env) answerInbox(c *cli.Context, list []inboxEntry) error {
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
			failed = command.Failedf("an answer was refused")
		}
		if errors.Is(err, io.EOF) {
			return failed
		}
	}
}

func (e Env) answerOne(c *cli.Context, list []inboxEntry, line string) error {
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

// AllRequests stands for every open permission request.
const AllRequests = "all"

// PermitAnswer is the output for one answer with allow --json and deny --json.
type PermitAnswer struct {
	Request  string `json:"request"`
	Accepted bool   `json:"accepted"`
	Message  string `json:"message"`
}

// permit is `arbiter allow` and `arbiter deny`.
func (e Env) permit(c *cli.Context, behavior string) error {
	if err := checkPermit(c, behavior); err != nil {
		return err
	}
	l, request, err := connectForRequest(c)
	if err != nil {
		return err
	}
	defer l.Close()
	list, err := openRequests(l, request)
	if err != nil {
		return err
	}
	if behavior == bridge.Allow && (request == "" || request == AllRequests) && len(list) > 0 {
		if err := e.showFirst(l.First.LiveReport, list, request == ""); err != nil {
			return err
		}
	}
	answers := []PermitAnswer{}
	var failed error
	for _, i := range list {
		r := *i.Request
		a, unsent := Send(c.Context, l.Client, l.First, contract.Permit{
			Request: r.Request, Behavior: behavior, Action: r.Action, Scope: c.String("for"), Rule: c.String("rule"),
			Message: c.String("message"), // of a denial, or to an MCP server
		})
		if unsent != nil {
			failed = unsent // the answers so far were given, and a script has to know that
			break
		}
		answers = append(answers, PermitAnswer{r.Request, a.Accepted, a.Message})
		if !a.Accepted && (request != AllRequests || stillAsked(l, c.Context, r.Request)) {
			failed = command.Usagef("run %s: %s", command.ShortID(l.Info.Run), a.Message)
		} else if !c.Bool("json") {
			fmt.Fprintf(e.Stderr, "Run %s: %s\n", command.ShortID(l.Info.Run), sanitize.Line(a.Message, 300))
		}
	}
	if c.Bool("json") {
		err = e.PrintJSON(struct {
			Run     string         `json:"run"`
			Answers []PermitAnswer `json:"answers"`
		}{l.Info.Run, answers})
	} else if len(list) == 0 {
		fmt.Fprintf(e.Stderr, "No permission request is open in run %s.\n", command.ShortID(l.Info.Run))
	}
	if failed != nil {
		return failed
	}
	return err
}

// showFirst shows requests that the command does not name, and asks whether they are allowed: what was not seen is not
// allowed. Without a terminal that needs the id of a single request, or the word all.
func (e Env) showFirst(r runstore.LiveReport, list []supervisor.InboxItem, only bool) error {
	texts := ""
	for _, i := range list {
		texts += sanitize.Line(i.ID, 80) + ":\n" + indent(itemText(r, i)) + "\n"
	}
	fmt.Fprint(e.Stderr, texts)
	yes, asked := e.Confirm("Allow this?")
	switch {
	case !asked && only:
		return command.Usagef("cannot ask: stdin is not a terminal; allow it with its id: arbiter allow %s",
			sanitize.Line(list[0].ID, 80))
	case asked && !yes:
		return command.Failedf("nothing was allowed")
	}
	return nil
}

// connectForRequest connects to the run that the arguments name. A single argument is a RUN if a live run has that
// id.
func connectForRequest(c *cli.Context) (l *runstore.Connection, request string, err error) {
	store, err := runstore.Open(c)
	if err != nil {
		return nil, "", err
	}
	run, request := c.Args().Get(0), c.Args().Get(1)
	if c.NArg() == 1 {
		live, err := store.Live("")
		if err != nil {
			store.Close()
			return nil, "", err
		}
		if !slices.ContainsFunc(live, func(i journal.Info) bool { return strings.HasPrefix(i.Run, run) }) {
			run, request = "", run
		}
	}
	l, err = runstore.ConnectIn(c, store, run, nil)
	return l, request, err
}

// openRequests returns the open permission requests that named selects: by id or a prefix of it, all of them, or
// the only one.
func openRequests(l *runstore.Connection, named string) ([]supervisor.InboxItem, error) {
	var open, found []supervisor.InboxItem
	var ids []string
	for _, i := range l.First.Inbox {
		if i.Kind != supervisor.InboxPermission {
			continue
		}
		open, ids = append(open, i), append(ids, sanitize.Line(i.ID, 80))
		if i.ID == named {
			return open[len(open)-1:], nil
		}
		if strings.HasPrefix(i.ID, named) || strings.HasPrefix(i.ID, "perm-"+named) {
			found = append(found, i)
		}
	}
	run := command.ShortID(l.Info.Run)
	switch {
	case named == AllRequests:
		return open, nil
	case len(found) == 1:
		return found, nil
	case len(open) == 0 && named == "":
		return nil, command.Usagef("no permission request is open in run %s", run)
	case len(open) == 0:
		return nil, command.Usagef("no permission request %q is open in run %s, nor any other", named, run)
	case len(found) == 0:
		return nil, command.Usagef("no permission request %q is open in run %s: use one of %s", named, run,
			strings.Join(ids, ", "))
	case named == "":
		return nil, command.Usagef("several permission requests are open in run %s: name one of %s, or all", run,
			strings.Join(ids, ", "))
	}
	return nil, command.Usagef("%q fits several permission requests of run %s: %s", named, run, strings.Join(ids, ", "))
}

// stillAsked reports whether a request that our answer did not settle is still open. Another client or a rule may
// have settled it.
func stillAsked(l *runstore.Connection, ctx context.Context, request string) bool {
	st, err := control.StatusOf[runstore.LiveStatus](ctx, l.Client)
	return err != nil || slices.ContainsFunc(st.Inbox, func(i supervisor.InboxItem) bool { return i.ID == request })
}

const PermitArgs = "[RUN] [REQUEST|all]"

func permitFlags(scope, rule string, more ...cli.Flag) []cli.Flag {
	return append(more, &cli.StringFlag{Name: "for", Value: contract.ScopeOnce, Usage: scope},
		&cli.StringFlag{Name: "rule", Usage: rule}, command.JSONFlag(), settings.StateDirFlag())
}

func (e Env) AllowCommand() *cli.Command {
	return &cli.Command{
		Name: bridge.Allow, Usage: "allow what an agent of a live run asks for", ArgsUsage: PermitArgs,
		Description: strings.TrimSpace(`
REQUEST is an id that arbiter status shows, or its beginning; all answers every request that is open now. Without RUN it
is the live run of this directory. On a terminal, REQUEST may be left out if only one is open: it is shown, and you are
asked, as with all. --for run and --for always allow the same action again, or what --rule says.

  arbiter allow perm-4be1
  arbiter allow perm-4be1 --for run --rule 'Bash(go test *)'
  arbiter allow all

Exit code 1: you said no, or the connection was lost: it may be answered, or not.`),
		Flags: permitFlags("`once|run|always`: this once, for the whole run, or in later runs of the workspace, too",
			"with --for run or always: the permission `RULE` to allow; it must cover the request",
			&cli.StringFlag{Name: "message", Usage: "the answer `TEXT` to what an MCP server asks: a value, or JSON"}),
		Action: func(c *cli.Context) error { return e.permit(c, bridge.Allow) },
	}
}

func (e Env) DenyCommand() *cli.Command {
	return &cli.Command{
		Name: bridge.Deny, Usage: "deny what an agent of a live run asks for", ArgsUsage: PermitArgs,
		Description: strings.TrimSpace(`
REQUEST and RUN are as for arbiter allow. --for run denies the same action, or what --rule says, for the rest of the run.
To deny something in later runs, give them --deny.

  arbiter deny --message "Use the staging database."
  arbiter deny perm-4be1 --for run

Exit code 1: the connection was lost: it may be answered, or not.`),
		Flags: permitFlags("`once|run`: this once, or for the whole run",
			"with --for run: the permission `RULE` to deny",
			&cli.StringFlag{Name: "message", Usage: "say `TEXT` to the agent"}),
		Action: func(c *cli.Context) error { return e.permit(c, bridge.Deny) },
	}
}

// checkPermit rejects flags that do not go together.
func checkPermit(c *cli.Context, behavior string) error {
	scopes := []string{contract.ScopeOnce, contract.ScopeRun, contract.ScopeAlways}
	scope := c.String("for")
	if err := oneOf("for", scope, scopes...); err != nil {
		return err
	}
	switch {
	case c.NArg() > 2:
		return command.Usagef("%s: give at most one RUN and one REQUEST, or all", behavior)
	case slices.Contains(c.Args().Slice(), ""):
		return command.Usagef("%s: an argument is empty", behavior)
	case behavior == bridge.Deny && scope == contract.ScopeAlways:
		return command.Usagef("deny --for always: a denial ends with its run; start later runs with --deny RULE")
	case c.String("rule") != "" && scope == contract.ScopeOnce:
		return command.Usagef("--rule needs --for run or always")
	}
	return nil
}

// Stopped is the output of stop --json.
type Stopped struct {
	Run    string `json:"run"`
	Exit   int    `json:"exit_code"`
	Text   string `json:"text"`
	Resume string `json:"resume,omitempty"` // the command that resumes the run
}

// endRun stops the run, and waits until its process has released it. The result is nil if the run did not report
// its end.
func endRun(l *runstore.Connection, ctx context.Context, now bool) (*control.RunEnded, error) {
	wait, err := l.Events(ctx, -1, func(control.Events) bool { return true })
	if err == nil {
		err = l.Stop(ctx, control.StopParams{Signal: "TERM", Fast: now})
	}
	var refused *control.Refusal
	if err != nil && !(errors.As(err, &refused) && refused.Message == runstore.ErrRunOver.Error()) {
		return nil, err
	}
	end, err := wait()
	if err != nil {
		return nil, err
	}
	return end, l.Store.AwaitEnd(ctx, l.Info.Run)
}

func (e Env) StopCommand() *cli.Command {
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
func (e Env) stop(c *cli.Context) error {
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
		return l.Store.NotConnected(l.Info, err)
	case end == nil:
		return &command.Error{Code: contract.ExitFailed, Text: "run " + run + " has ended, and did not report how"}
	}
	s := Stopped{Run: l.Info.Run, Exit: end.Exit, Text: end.Text}
	if info, err := l.Store.Find(l.Info.Run); err == nil && runstore.LineOf(info).Resumable && info.Unfinished {
		s.Resume = settings.ResumeLine("", l.Info.Run, l.Store.Root)
	}
	if c.Bool("json") {
		return e.PrintJSON(s)
	}
	for _, what := range end.Unfinished {
		fmt.Fprintln(e.Stderr, "arbiter: did not end in time: "+sanitize.Line(what, 500))
	}
	if s.Exit == int(contract.ExitComplete) {
		s.Text = "complete"
	}
	fmt.Fprintf(e.Stderr, "Run %s has ended: %s\n", run, sanitize.Line(s.Text, 1000))
	if s.Resume != "" {
		fmt.Fprintln(e.Stderr, "To resume: "+s.Resume)
	}
	return nil
}

// waitingText describes an item in full, and how to answer it. state is the flag that names the state directory.
func waitingText(r runstore.LiveReport, i supervisor.InboxItem, state string) string {
	program, run := command.Program(), command.ShortID(r.Run)
	answer := program + " send " + run + state + " TEXT"
	switch {
	case i.Request != nil:
		answer = program + " allow " + run + " " + sanitize.Line(i.ID, 80) + state
		if i.Request.Tool == bridge.ElicitTool {
			answer += " --message TEXT"
		}
		answer += ", or deny"
	case len(i.Choices) > 0:
		answer = program + " choose " + run + state + " " + sanitize.Line(strings.Join(i.Choices, "|"), 200)
	}
	return itemText(r, i) + "\nAnswer with: " + answer
}

// itemText is what waits, in words.
func itemText(r runstore.LiveReport, i supervisor.InboxItem) string {
	text := sanitize.Text(i.Text)
	if i.Request != nil {
		text, _ = eventtext.Text(history.Entry{Event: contract.Event{ID: i.Agent, Body: *i.Request}}, r.Name)
	}
	return strings.TrimRight(text, "\n")
}

func indent(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// This part of the package has the commands that talk to a live run over its control socket: list the live
// runs, show one, follow its events, send it messages, answer its requests, and stop or halt it. One more
// command prints the settings with which the hooks of a person's own session ask a live run.

// halts is how long a running arbiter may take to stop everything.
const halts = 15 * time.Second

func (e Env) HaltCommand() *cli.Command {
	return &cli.Command{
		Name: "halt", Usage: "stop every agent of a run at once", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Stops every agent at once, without asking. The run stays, paused: /continue on its screen, or
{"type":"continue"} on its stdin, starts the agents again. If the run's own arbiter does not answer
within 2 s, this command kills the run's bridge, and with it every agent.

Exit code 1: some agents are alive.`),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "all", Usage: "halt every live run, in any directory"},
			settings.StateDirFlag()},
		Action: runstore.InRuns(e.halt),
	}
}

// halt is `arbiter halt`.
func (e Env) halt(c *cli.Context, store *runstore.Runs) error {
	if c.NArg() > 1 || c.NArg() == 1 && c.Bool("all") {
		return command.Usagef("halt: give one RUN, or --all, not both")
	}
	if c.NArg() == 1 && c.Args().First() == "" {
		return command.Usagef("the RUN is empty: give one, or none to stop the run of this directory")
	}
	defer runstore.ReportStrays(e.Stderr, store.Store) // after the live runs
	list, err := store.Live("")
	if !c.Bool("all") {
		list = make([]journal.Info, 1)
		list[0], err = runstore.FindLive(store, c.Args().First())
	}
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(e.Stderr, "No run is live.")
	}
	problems := make([]*command.Error, len(list))
	var halted sync.WaitGroup
	for i, info := range list {
		halted.Go(func() { problems[i] = e.haltRun(store, info) }) // one that hangs must not delay the others
	}
	halted.Wait()
	var all *command.Error
	for _, err := range problems {
		switch {
		case err == nil:
		case all == nil:
			all = err
		default:
			all.Text += "; " + err.Text
			all.Code = min(all.Code, err.Code) // "still alive" before "refused"
		}
	}
	if all != nil {
		return all
	}
	return nil
}

// haltRun stops the agents of one run, and prints how.
func (e Env) haltRun(store *runstore.Runs, info journal.Info) *command.Error {
	var r control.HaltResult
	client, _, err := store.Dial(context.Background(), info, runstore.AnswerTime, nil)
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), halts)
		r, err = client.Halt(ctx, control.HaltParams{})
		cancel()
		client.Close()
	}
	switch refused, ok := errors.AsType[*control.Refusal](err); {
	case ok:
		return command.Usagef("run %s: %s", command.ShortID(info.Run), refused.Message)
	case err != nil:
		return e.haltSilent(store, info, err)
	case len(r.Left) > 0:
		return command.Failedf("run %s: still alive: %s", command.ShortID(info.Run), strings.Join(r.Left, ", "))
	}
	how := map[string]string{"loop": "halted", "bridge": "halted by its bridge: the run itself did not answer",
		"killed": "halted by force: neither the run nor its bridge answered"}
	run := command.ShortID(info.Run)
	fmt.Fprintf(e.Stderr, "Run %s is %s. No agent is alive. To continue: arbiter attach %s%s, then /continue.\n", run,
		cmp.Or(how[r.How], sanitize.Line(r.How, 40)), run, settings.StateForCommand(store.Root))
	return nil
}

// haltSilent stops the agents of an arbiter that does not answer, by killing its bridge. Agents may not do that.
func (e Env) haltSilent(store *runstore.Runs, info journal.Info, why error) *command.Error {
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
		return command.Failedf("run %s: still alive: %s", command.ShortID(info.Run), strings.Join(names, ", "))
	}
	if err != nil {
		return command.Failedf("run %s: %v", command.ShortID(info.Run), err)
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

// HookCommand is `arbiter hook` for people. [hookclient.Answer] answers events without it.
func (e Env) HookCommand() *cli.Command {
	return &cli.Command{
		Name: hookclient.Command, Usage: "answer the hooks of a session that you opened yourself",
		Description: strings.TrimSpace(`
Claude Code calls this command for each hook of a session that you opened yourself. It reads the
event from stdin, asks the running arbiter and prints the answer. It never fails and never takes
longer than 2 s: without an answer the session continues as if there were no hook.

  claude --resume ID --settings "$(arbiter hook --settings)"`),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "socket", Usage: "`PATH` of the running arbiter's socket",
				EnvVars: []string{hookclient.PathEnv}},
			&cli.BoolFlag{Name: "settings", Usage: "print the Claude Code settings that call this command"},
			&cli.StringFlag{Name: "session",
				Usage: "with --settings: the `RUN` (default: the live run of this directory)"},
			&cli.BoolFlag{Name: "debug", Usage: "print to stderr why there was no answer"},
			settings.StateDirFlag(),
		},
		Action: e.hookSettings,
	}
}

// hookSettings prints the JSON for `claude --settings`.
func (e Env) hookSettings(c *cli.Context) error {
	socket, err := hookSocketOf(c)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("unix", socket, hookclient.Deadline)
	if err != nil {
		return command.Usagef("no arbiter answers hooks at %s: %v", socket, err)
	}
	conn.Close()
	self, err := os.Executable()
	if err != nil {
		return command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	_, err = fmt.Fprintln(e.Stdout, string(hooks.Settings(hookclient.CommandLine(self, socket))))
	return err
}

// hookSocketOf returns the socket to use: the one in --socket, or else the one of the run that is named or that
// runs in this directory.
func hookSocketOf(c *cli.Context) (string, error) {
	if socket := c.String("socket"); socket != "" {
		abs, err := filepath.Abs(socket)
		if err != nil {
			return "", command.Environmentf("socket: %v", err)
		}
		return abs, nil
	}
	store, err := runstore.Open(c)
	if err != nil {
		return "", err
	}
	defer store.Close()
	info, err := runstore.FindLive(store, c.String("session"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(store.Dir(info.Run), host.HookSocketName)
	if target, err := os.Readlink(path); err == nil {
		path = target // the path in the run's directory is too long
	}
	return path, nil
}
