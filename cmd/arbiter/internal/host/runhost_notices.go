package host

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// printStart prints on stderr what a person should know before anything runs.
func (e hostEnv) printStart(r *hostedRun) {
	o := r.choices.Options
	if r.stage != nil {
		fmt.Fprintf(e.Stderr, "REHEARSAL: a scripted model plays %q; nothing is real but the files in %s\n",
			sanitize.Line(o.Scenario, 100), sanitize.Line(o.CWD, 400))
	} else if line := r.choices.Trusting.Greeting(); line != "" {
		fmt.Fprintln(e.Stderr, line)
	}
	if o.Permissions == "allow-all" {
		fmt.Fprintln(e.Stderr, "WARNING: every agent may run anything without asking (--permissions allow-all).")
	}
	if r.choices.Sandbox.Mode == settings.SandboxOff && r.stage == nil {
		fmt.Fprintln(e.Stderr,
			"Agents run without a sandbox: their commands can do what you can do (--sandbox on confines them).")
	}
	if text := r.notice.String(); text != "" {
		fmt.Fprintln(e.Stderr, "arbiter: "+sanitize.Line(text, 1000))
	}
}

// printReports prints the paths of crash reports.
func (e hostEnv) printReports(r *hostedRun) {
	for _, path := range r.diagnostics.reporter.Written() {
		fmt.Fprintln(e.Stderr, "arbiter: a crash report was written to "+path)
	}
}

// printEnd prints where a rehearsal left its script, what did not stop, and the receipt of the run. A run that never
// reached an agent has no receipt.
func (e hostEnv) printEnd(r *hostedRun, s *supervisor.State, unfinished []string) {
	for _, what := range unfinished {
		fmt.Fprintln(e.Stderr, "arbiter: did not end in time: "+sanitize.Line(what, 500))
	}
	e.printReports(r)
	if r.stage != nil {
		for _, p := range r.stage.Problems() {
			fmt.Fprintln(e.Stderr, "REHEARSAL PROBLEM: "+sanitize.Line(p, 500))
		}
	}
	if s.Reached() {
		next := "To resume: " + settings.ResumeLine(r.choices.FrontendFlag(), r.choices.Options.Run, r.choices.StateDir)
		for _, line := range r.receipt(next) {
			fmt.Fprintln(e.Stderr, line)
		}
	}
}

// printSessions prints the ids of the CLI's sessions for a script, not for a person.
func (e hostEnv) printSessions(s *supervisor.State) {
	if len(s.Agents) == 0 || command.OnTerminal(e.Stderr) {
		return
	}
	line := struct {
		Arbiter string `json:"arbiter"`
		Last    string `json:"lastOrchestrator"`
		Number  int    `json:"orchestratorNumber"`
	}{Arbiter: s.Agents[0].SessionID, Number: s.Spawned}
	if last, ok := s.Last(); ok {
		line.Last = last.SessionID
	}
	raw, err := json.Marshal(line)
	if err != nil {
		return // cannot happen: two strings and a number
	}
	fmt.Fprintln(e.Stderr, string(raw))
}

// notice collects what the human should know before the run continues.
type notice struct {
	mu   sync.Mutex
	text string
}

func (n *notice) add(format string, args ...any) { n.append("; ", fmt.Sprintf(format, args...)) }

func (n *notice) append(separator, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text != "" {
		n.text += separator
	}
	n.text += text
}

// String returns everything that was added.
func (n *notice) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text
}

// lastNotifications bounds the final wait for servers of --notify at the end of a run's process.
const lastNotifications = 3 * time.Second

// notifications posts new items that wait for the human, and how the run ended. The zero value posts nothing.
type notifications struct {
	notifier *settings.Notifier // nil unless --notify names a URL
	mask     func(string) string
}

// openNotifications starts posting to targets. The human is informed about the first failure of each.
func openNotifications(
	targets []settings.Target, run string, mask func(string) string, in *Sender, log *slog.Logger,
) notifications {
	if len(targets) == 0 {
		return notifications{}
	}
	failed := func(err error) {
		log.Warn("notification failed", "err", err)
		in.Notice(contract.Arbiter,
			fmt.Sprintf("--notify: %v. The run continues; further failures there are not reported.", err))
	}
	return notifications{settings.NewNotifier(settings.NotifierOptions{Targets: targets, Run: run, Failed: failed}), mask}
}

// look posts the new items that wait for the human.
func (n notifications) look(s *supervisor.State) {
	if n.notifier != nil {
		n.notifier.Look(n.mask(command.Title(s.Task.Text)), supervisor.InboxOf(s))
	}
}

// end posts how the run ended.
func (n notifications) end(s *supervisor.State, exit contract.Exit) {
	if n.notifier == nil || s.Pointless() {
		return
	}
	status := exit.String()
	if s.Ending != nil {
		status = s.Ending.Status
	}
	n.notifier.End(n.mask(command.Title(s.Task.Text)), status)
}

// close waits a limited time for the last posts.
func (n notifications) close() {
	if n.notifier != nil {
		n.notifier.Close(lastNotifications)
	}
}
