package subcommands

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// SessionReport is the output of `sessions show --json`.
type SessionReport struct {
	runstore.Line
	Phase      string                        `json:"state"`
	Task       string                        `json:"task"`
	Plan       []contract.Step               `json:"plan"`
	Agents     []agentReport                 `json:"agents"`
	Question   string                        `json:"question,omitempty"`
	Inbox      []supervisor.InboxItem        `json:"inbox"` // items that wait for a human
	Messages   []supervisor.MessageRecord    `json:"messages"`
	Ledger     supervisor.ConversationLedger `json:"ledger"`
	CostUSD    float64                       `json:"cost_usd"`
	Iterations int                           `json:"iterations"`
	Crashes    int                           `json:"crashes"`
	Processes  int                           `json:"lives"`
	Damage     []string                      `json:"damage"`
	Reports    []string                      `json:"crash_reports"`
	Log        string                        `json:"log"`
}

type agentReport struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Mode       string `json:"mode,omitempty"`
	Host       string `json:"host,omitempty"`
	SessionID  string `json:"session_id"`
	Generation int    `json:"generation"`
	Status     string `json:"status"`
	Standing   string `json:"standing,omitempty"`
}

func (a agentReport) condition() string {
	if a.Standing == "" {
		return a.Status
	}
	return a.Status + " " + a.Standing
}

func ShowSession(io command.Env, c *cli.Context) error {
	e := historyEnv{io}
	if c.NArg() != 1 {
		return command.Usagef("sessions show: give one RUN; arbiter sessions lists the runs")
	}
	store, info, err := runstore.OpenOne(c)
	if err != nil {
		return err
	}
	defer store.Close()
	s, recovery, err := runstore.LastState(store, info.Run)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	log, err := store.EventLog(info.Run)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	defer log.Close()
	ledger, health, err := supervisor.AuditLedger(c.Context, log)
	if err != nil {
		return command.Environmentf("read run %s: %v", command.ShortID(info.Run), err)
	}
	ledger.Close(&s.Conversation)
	dir := store.Dir(info.Run)
	reports, _ := filepath.Glob(filepath.Join(dir, "crash-*.txt"))
	r := SessionReport{
		Line: runstore.LineOf(info), Phase: string(s.Task.Phase), Task: s.Task.Text, Plan: s.Task.Plan,
		Agents: []agentReport{}, Messages: ledger.List, Ledger: s.Conversation.Ledger,
		CostUSD: contract.RoundUSD(s.Spent()), Iterations: s.Task.Iterations,
		Crashes: s.Lifecycle.Crashes, Processes: s.Budget.Runtime.Processes,
		Damage: append(
			supervisor.JournalDamage(recovery),
			supervisor.AuditDamage(health)...), Reports: append([]string{}, reports...),
		Log: filepath.Join(dir, runstore.LogName),
	}
	r.Resumable = r.Resumable && s.Reached()
	r.Inbox = append([]supervisor.InboxItem{}, supervisor.InboxOf(&s)...)
	if q := s.OpenQuestion(); q != nil {
		r.Question = q.Text
	}
	for _, a := range s.Agents {
		r.Agents = append(r.Agents, agentReport{
			ID: a.ID, Name: a.Name, Mode: a.Mode, Host: a.Host, SessionID: a.SessionID, Generation: a.Generation,
			Status: string(a.Status), Standing: string(a.Standing),
		})
	}
	if c.Bool("json") {
		return json.NewEncoder(e.Stdout).Encode(r)
	}
	e.printSession(r, store.Root)
	return nil
}

func (e historyEnv) printSession(r SessionReport, state string) {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(e.Stdout, "%-10s %s\n", name, sanitize.Line(fmt.Sprintf(format, args...), 400))
	}
	line("run", "%s (%s)", r.Run, r.Status)
	line("directory", "%s", r.CWD)
	line("task", "%s", words.Title(r.Task))
	line("began", "%s, last active %s, processes: %d", r.Began.Local().Format(time.DateTime),
		r.LastActive.Local().Format(time.DateTime), r.Processes)
	line("state", "%s; %s, %s, $%.4f%s", r.Phase, words.Count(r.Iterations, "iteration"),
		words.Count(r.Crashes, "crash"), r.CostUSD, eventtext.Simulated(r.Rehearsal))
	for _, i := range r.Inbox {
		line("waits", "for you, since %s: %s of %s: %s", i.Since.Local().Format(time.DateTime), i.Kind, i.Agent, i.Text)
	}
	for _, a := range r.Agents {
		line("agent", "%-8s %-16s %s, session %s, process %d", a.ID, eventtext.OnHost(a.Name, a.Host),
			a.condition(), a.SessionID, a.Generation)
	}
	for i, s := range r.Plan {
		line("plan", "%d. [%s] %s", i+1, s.Status, s.Text)
	}
	l := r.Ledger
	line("messages", "%d posted, %d sent, %d seen, %d sent again, %d swallowed, %d requeued, %d returned", l.Posted,
		l.Sent, l.Seen, l.Resent, l.Swallowed, l.Requeued, l.Returned)
	for _, m := range r.Messages {
		line("", "%s %-9s %s to %s, %s: %s", m.At.Local().Format(time.TimeOnly), m.Status, m.From, m.To, m.Kind,
			sanitize.Line(m.Text, 80))
	}
	for _, d := range r.Damage {
		line("damage", "%s", d)
	}
	for _, p := range r.Reports {
		line("crash", "%s", p)
	}
	line("log", "%s", r.Log)
	if r.Resumable {
		// Not truncated, because the person types the whole line.
		fmt.Fprintf(e.Stdout, "%-10s To resume: %s\n", "", sanitize.Line(settings.ResumeLine("", r.Run, state), 0))
	}
}

// historyEnv has the standard streams, and the commands of this package as methods.
type historyEnv struct{ command.Env }
