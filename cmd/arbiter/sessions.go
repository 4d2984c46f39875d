package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// neverBegan is the status of a run that ended before it reached an agent.
const neverBegan = "never_began"

// kept bounds what the state directory holds. Runs that can still come to an end are
// never let go of by this.
var kept = journal.Retention{Runs: 200, Bytes: 4 << 30}

func stateDirFlag() cli.Flag {
	return &cli.StringFlag{Name: "state-dir", Usage: "`DIR` where runs are kept", EnvVars: []string{"ARBITER_STATE_DIR"}}
}

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "as JSON"} }

func (e env) sessionCommands() []*cli.Command {
	return []*cli.Command{
		{
			Name: "sessions", Usage: "list runs, show one, or remove some",
			Flags: []cli.Flag{stateDirFlag(), jsonFlag(), &cli.BoolFlag{Name: "here", Usage: "only those of this directory"}},
			Action: func(c *cli.Context) error {
				if c.NArg() > 0 {
					return usagef("sessions: no command %q: use ls, show or rm", c.Args().First())
				}
				return e.listSessions(c)
			},
			Subcommands: []*cli.Command{
				{
					Name: "ls", Usage: "list runs, the last active first", Action: e.listSessions,
					Flags: []cli.Flag{stateDirFlag(), jsonFlag(), &cli.BoolFlag{Name: "here", Usage: "only those of this directory"}},
				},
				{
					Name: "show", Usage: "show a run: its agents, its plan, and what became of each message", ArgsUsage: "RUN",
					Flags: []cli.Flag{stateDirFlag(), jsonFlag()}, Action: e.showSession,
				},
				{
					Name: "rm", Usage: "remove runs for good", ArgsUsage: "RUN…",
					Flags: []cli.Flag{stateDirFlag()}, Action: e.removeSessions,
				},
			},
		},
		{
			Name: "logs", Usage: "print the log of a run", ArgsUsage: "RUN",
			Flags: []cli.Flag{stateDirFlag()}, Action: e.logs,
		},
		{
			Name: "replay", Usage: "print the events of a run again, as they were", ArgsUsage: "RUN",
			Flags: []cli.Flag{stateDirFlag(), &cli.Float64Flag{Name: "pace", Usage: "keep the time between events, that many times as fast (1: as it was; 0: all at once)"}},
			Description: "Every event of every life of the run, from its journal; pieces of text as it arrived are not kept.\n" +
				"No agent is started and nothing is sent.",
			Action: e.replay,
		},
	}
}

// runs is the collection of runs in a state directory.
type runs struct {
	*journal.Store
	root string
}

// Dir is the directory of a run.
func (r runs) Dir(run string) string { return filepath.Join(r.root, "runs", run) }

func openRuns(c *cli.Context) (*runs, error) {
	dir, err := stateDir(c.String("state-dir"))
	if err != nil {
		return nil, err
	}
	store, err := journal.OpenStore(dir)
	if err != nil {
		return nil, environmentf("state directory: %v", err)
	}
	return &runs{store, dir}, nil
}

// runStatus says where a run stands, for a person choosing one.
func runStatus(i journal.Info) string {
	switch {
	case i.Live:
		return "live"
	case i.Damaged:
		return "damaged"
	case i.Status != "":
		return i.Status
	case i.Empty:
		return neverBegan
	}
	return "interrupted"
}

type sessionLine struct {
	Run        string    `json:"run"`
	Status     string    `json:"status"`
	CWD        string    `json:"cwd"`
	Title      string    `json:"title"`
	Began      time.Time `json:"began"`
	LastActive time.Time `json:"last_active"`
	Bytes      int64     `json:"bytes"`
	PID        int       `json:"pid,omitempty"`
	Rehearsal  bool      `json:"rehearsal,omitempty"`
	Resumable  bool      `json:"resumable"`
	Problem    string    `json:"problem,omitempty"`
}

func lineOf(i journal.Info) sessionLine {
	status := runStatus(i)
	return sessionLine{
		Run: i.Run, Status: status, CWD: i.CWD, Title: i.Title, Began: i.Began, LastActive: i.LastActive,
		Bytes: i.Bytes, PID: i.PID, Rehearsal: i.Rehearsal, Problem: i.Problem,
		Resumable: !i.Live && !i.Damaged && status != neverBegan,
	}
}

func (e env) listSessions(c *cli.Context) error {
	if c.NArg() > 0 {
		return usagef("sessions ls takes no argument: %s", c.Args().First())
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return environmentf("state directory: %v", err)
	}
	lines := []sessionLine{}
	here, _ := os.Getwd()
	for _, info := range list {
		if !c.Bool("here") || sameDir(info.CWD, here) {
			lines = append(lines, lineOf(info))
		}
	}
	if c.Bool("json") {
		return json.NewEncoder(e.stdout).Encode(lines)
	}
	if len(lines) == 0 {
		fmt.Fprintln(e.stderr, "No runs yet.")
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tSTATUS\tLAST ACTIVE\tSIZE\tDIRECTORY\tTASK")
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", short(l.Run), l.Status, l.LastActive.Local().Format("2006-01-02 15:04"),
			supervisor.Size(l.Bytes), sanitize.Line(l.CWD, 60), sanitize.Line(l.Title, 60))
	}
	return w.Flush()
}

// sameDir compares directories by what they are, not by how they are called.
func sameDir(a, b string) bool {
	real := func(p string) string {
		if r, err := filepath.EvalSymlinks(p); err == nil {
			return r
		}
		return p
	}
	return a != "" && real(a) == real(b)
}

// sessionReport is what `sessions show --json` prints.
type sessionReport struct {
	sessionLine
	Phase      string                     `json:"state"`
	Task       string                     `json:"task"`
	Plan       []contract.Step            `json:"plan"`
	Agents     []agentReport              `json:"agents"`
	Question   string                     `json:"question,omitempty"`
	Messages   []supervisor.MessageRecord `json:"messages"`
	Ledger     supervisor.Ledger          `json:"ledger"`
	CostUSD    float64                    `json:"cost_usd"`
	Iterations int                        `json:"iterations"`
	Crashes    int                        `json:"crashes"`
	Lives      int                        `json:"lives"`
	Damage     []string                   `json:"damage"`
	Reports    []string                   `json:"crash_reports"`
	Log        string                     `json:"log"`
}

type agentReport struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Mode       string `json:"mode,omitempty"`
	SessionID  string `json:"session_id"`
	Generation int    `json:"generation"`
	Status     string `json:"status"`
	Standing   string `json:"standing,omitempty"`
}

// history folds a run and its ledger.
func history(store *runs, run string) (supervisor.State, supervisor.Messages, journal.Recovery, error) {
	var fold supervisor.Fold
	var ledger supervisor.Messages
	recovery, err := store.Read(run, func(r journal.Record) error {
		if r.Kind == journal.Narration {
			return nil
		}
		step, err := fold.Replay(r)
		if err == nil {
			ledger.Take(step, &fold.State)
		}
		return err
	})
	ledger.Close(&fold.State)
	return fold.State, ledger, recovery, err
}

func (e env) showSession(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("sessions show: name one run (arbiter sessions lists them)")
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := oneRun(store.Store, c.Args().First())
	if err != nil {
		return err
	}
	s, ledger, recovery, err := history(store, info.Run)
	if err != nil {
		return environmentf("read run %s: %v", short(info.Run), err)
	}
	dir := store.Dir(info.Run)
	reports, _ := filepath.Glob(filepath.Join(dir, "crash-*.txt"))
	r := sessionReport{
		sessionLine: lineOf(info), Phase: string(s.Phase), Task: s.Task, Plan: s.Plan,
		Agents: []agentReport{}, Messages: ledger.List, Ledger: s.Ledger,
		CostUSD: s.CostUSD, Iterations: s.Iterations, Crashes: s.Crashes, Lives: s.Lives,
		Damage: []string{}, Reports: append([]string{}, reports...), Log: filepath.Join(dir, logName),
	}
	r.Resumable = r.Resumable && s.Reached()
	if s.Question != nil {
		r.Question = s.Question.Text
	}
	for _, a := range s.Agents {
		r.Agents = append(r.Agents, agentReport{
			ID: a.ID, Name: a.Name, Mode: a.Mode, SessionID: a.SessionID, Generation: a.Generation,
			Status: string(a.Status), Standing: string(a.Standing),
		})
	}
	for _, d := range recovery.Damage {
		if !d.Torn {
			r.Damage = append(r.Damage, fmt.Sprintf("%s at %d: %s", d.Segment, d.Offset, d.Reason))
		}
	}
	if c.Bool("json") {
		return json.NewEncoder(e.stdout).Encode(r)
	}
	e.printSession(r)
	return nil
}

func (e env) printSession(r sessionReport) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(e.stdout, "%-10s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...), 400))
	}
	line("run", "%s (%s)", r.Run, r.Status)
	line("directory", "%s", r.CWD)
	line("task", "%s", r.Task)
	line("began", "%s, last active %s, %d lives", r.Began.Local().Format(time.DateTime), r.LastActive.Local().Format(time.DateTime), r.Lives)
	line("state", "%s; %d iterations, %d crashes, $%.4f", r.Phase, r.Iterations, r.Crashes, r.CostUSD)
	if r.Question != "" {
		line("question", "%s", r.Question)
	}
	for _, a := range r.Agents {
		line("agent", "%-8s %-16s %s %s, session %s, process %d", a.ID, a.Name, a.Status, a.Standing, a.SessionID, a.Generation)
	}
	for i, s := range r.Plan {
		line("plan", "%d. [%s] %s", i+1, s.Status, s.Text)
	}
	l := r.Ledger
	line("messages", "%d posted, %d sent, %d seen, %d sent again, %d swallowed, %d requeued, %d returned", l.Posted, l.Sent, l.Seen, l.Resent, l.Swallowed, l.Requeued, l.Returned)
	for _, m := range r.Messages {
		line("", "%s %-9s %s to %s, %s: %s", m.At.Local().Format(time.TimeOnly), m.Status, m.From, m.To, m.Kind, sanitize.Line(m.Text, 80))
	}
	for _, d := range r.Damage {
		line("damage", "%s", d)
	}
	for _, p := range r.Reports {
		line("crash", "%s", p)
	}
	line("log", "%s", r.Log)
	if r.Resumable {
		line("", "To take it up again: arbiter --json --resume --session %s", short(r.Run))
	}
}

func (e env) removeSessions(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("sessions rm: name the runs to remove (arbiter sessions lists them)")
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	var runs []string
	for _, prefix := range c.Args().Slice() { // all are found before any is removed
		info, err := oneRun(store.Store, prefix)
		if err != nil {
			return err
		}
		runs = append(runs, info.Run)
	}
	for _, run := range runs {
		err := store.Remove(run)
		var held *journal.HeldError
		if errors.As(err, &held) {
			return usagef("run %s is being played by process %d: end that first", short(run), held.PID)
		}
		if err != nil {
			return environmentf("remove run %s: %v", short(run), err)
		}
		fmt.Fprintln(e.stdout, run)
	}
	return nil
}

func (e env) logs(c *cli.Context) error {
	if c.NArg() != 1 {
		return usagef("logs: name one run (arbiter sessions lists them)")
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := oneRun(store.Store, c.Args().First())
	if err != nil {
		return err
	}
	found := false
	for _, name := range []string{logName + ".1", logName} {
		f, err := os.Open(filepath.Join(store.Dir(info.Run), name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return environmentf("log: %v", err)
		}
		found = true
		_, err = io.Copy(e.stdout, f)
		f.Close()
		if err != nil {
			return environmentf("log: %v", err)
		}
	}
	if !found {
		return usagef("run %s has no log", short(info.Run))
	}
	return nil
}

// replay prints what the run's faces were told, line for line.
func (e env) replay(c *cli.Context) error {
	pace := c.Float64("pace")
	if c.NArg() != 1 || pace < 0 {
		return usagef("replay: name one run, and a --pace that is not negative")
	}
	store, err := openRuns(c)
	if err != nil {
		return err
	}
	defer store.Close()
	info, err := oneRun(store.Store, c.Args().First())
	if err != nil {
		return err
	}
	p := replayer{w: e.stdout, pace: pace}
	recovery, err := store.Read(info.Run, p.take)
	if err != nil {
		return environmentf("replay run %s: %v", short(info.Run), err)
	}
	if recovery.Harmed() {
		fmt.Fprintln(e.stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(damageOf(recovery), "; "))
	}
	return nil
}

func damageOf(r journal.Recovery) []string {
	var list []string
	for _, d := range r.Damage {
		list = append(list, sanitize.Line(fmt.Sprintf("%s at %d: %s", d.Segment, d.Offset, d.Reason), 300))
	}
	return list
}
