package subcommands

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// endsAfterOne is a run that ends after the first answer to its two requests.
type endsAfterOne struct {
	control.Service
	answered int
}

func (s *endsAfterOne) Status() any {
	status := runstore.LiveStatus{}
	for _, id := range []string{"perm-1", "perm-2"} {
		status.Inbox = append(status.Inbox, supervisor.InboxItem{Kind: supervisor.InboxPermission, ID: id,
			Request: &contract.PermissionRequest{Request: id}})
	}
	return status
}

func (s *endsAfterOne) Command(context.Context, json.RawMessage) (control.CommandResult, error) {
	if s.answered++; s.answered > 1 {
		return control.CommandResult{}, errors.New("the run is over")
	}
	return control.CommandResult{Accepted: true, Message: "allowed"}, nil
}

// TestAnswersBeforeTheEnd: answers that were given before the connection was lost are printed.
func TestAnswersBeforeTheEnd(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(runstore.OpenIn(root))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-ends", CWD: root}, journal.Options{}))(t)
	defer run.Close()
	socket := testkit.Must(host.Listen(run.Dir(), control.SocketName))(t)
	server := control.Serve(socket.UnixListener, &endsAfterOne{}, slog.New(slog.DiscardHandler))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	e := Env{command.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}}
	app := &cli.App{Commands: []*cli.Command{e.AllowCommand()}, ExitErrHandler: func(*cli.Context, error) {}}
	err := app.Run([]string{"arbiter", "allow", "--json", "--state-dir", root, "aaaa1111", "all"})
	testkit.Fails(t, "allow all", err, "the run is over")
	var got struct{ Answers []PermitAnswer }
	testkit.Works(t, "its output: "+stdout.String(), json.Unmarshal(stdout.Bytes(), &got))
	testkit.Same(t, "answers", []PermitAnswer{{"perm-1", true, "allowed"}}, got.Answers)
}

// stands is a run in a status.
type stands struct {
	control.Service
	status runstore.LiveStatus
}

func (s stands) Status() any { return s.status }

// TestWaitingInAllCommands: status, ps and inbox say who asks by its whole name, and what can wait.
func TestWaitingInAllCommands(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(runstore.OpenIn(root))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-stands", CWD: root}, journal.Options{}))(t)
	defer run.Close()
	socket := testkit.Must(host.Listen(run.Dir(), control.SocketName))(t)
	since := time.Now().Add(-5 * time.Minute)
	server := control.Serve(socket.UnixListener, stands{status: runstore.LiveStatus{LiveReport: runstore.LiveReport{
		Run: "aaaa1111-stands", Agents: []runstore.AgentStatus{{ID: "orch-1", Name: "Orchestrator I", Host: "box",
			Make: "codex", Does: "permission?"}},
		Inbox: []supervisor.InboxItem{{Kind: supervisor.InboxPermission, ID: "perm-1", Agent: "orch-1", Since: since,
			Request: &contract.PermissionRequest{Request: "perm-1", Tool: "Bash", Input: []byte(`{"command":"ls"}`)}},
			{Kind: supervisor.InboxRecovery, ID: "recovery-orch-1", Agent: "orch-1", Text: "It failed.", Since: since,
				Optional: true}}}}}, slog.New(slog.DiscardHandler))
	defer server.Close()
	asks, failed := "Orchestrator I @box [codex] asks permission, for 5 min\n",
		"Orchestrator I @box [codex] has failed, for 5 min, can wait\n  It failed."
	for command, want := range map[string][]string{
		"status": {"perm-1, " + asks + "  Orchestrator I @box [codex] asks to use Bash: ls", "recovery-orch-1, " + failed},
		"inbox":  {", " + asks, ", " + failed},
		"ps":     {"0 of 1  1        $0.00"},
	} {
		t.Run(command, func(t *testing.T) {
			testkit.Includes(t, "", output(t, root, command), want...)
		})
	}
}

// output runs a command about the runs of a state directory, and returns its stdout.
func output(t *testing.T, root, name string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := Env{command.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}}
	app := &cli.App{Commands: []*cli.Command{e.StatusCommand(), e.InboxCommand(), e.PsCommand()}}
	args := []string{"arbiter", name, "--state-dir", root}
	if name == "status" {
		args = append(args, "aaaa1111")
	}
	testkit.OK(t, app.Run(args))
	return stdout.String()
}

// goesOn is a run whose process has two events, after two lines of the process before.
type goesOn struct {
	control.Service
	lines []string
}

func (s *goesOn) Status() any { return runstore.LiveStatus{LogLines: 2} }

func (s *goesOn) Subscribe(_ context.Context, p control.SubscribeParams, send func(any) error) {
	for _, line := range s.lines {
		if int64(contract.SeqOf([]byte(line))) > p.Since {
			_ = send(control.Events{Lines: []string{line}}) // the test sees what is missing
		}
	}
	_ = send(control.RunEnded{})
}

// TestLogsGoOnWithTheNextProcess: a process that has told nothing yet counts its events anew.
func TestLogsGoOnWithTheNextProcess(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(runstore.OpenIn(root))(t)
	defer store.Close()
	run := testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-goes-on", CWD: root}, journal.Options{}))(t)
	defer run.Close()
	lines := func(texts ...string) (list []string) {
		for i, text := range texts {
			line := testkit.Must(contract.EncodeLine(nil, uint64(i+1), time.Now(),
				contract.Event{ID: contract.Supervisor, Body: contract.Notice{Text: text}}))(t)
			list = append(list, strings.TrimSpace(string(line)))
		}
		return list
	}
	var chain journal.LogChain
	var log []byte
	for _, line := range lines("one", "two") {
		log = testkit.Must(chain.Append(log, journal.LogContent{At: time.Now(), Line: json.RawMessage(line)}))(t)
	}
	testkit.OK(t, os.WriteFile(filepath.Join(run.Dir(), journal.LogName), log, 0o600))
	socket := testkit.Must(host.Listen(run.Dir(), control.SocketName))(t)
	server := control.Serve(socket.UnixListener, &goesOn{lines: lines("three", "four")}, slog.New(slog.DiscardHandler))
	defer server.Close()
	var stdout, stderr bytes.Buffer
	e := Env{command.Env{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}}
	app := &cli.App{Commands: []*cli.Command{{Name: "logs", Action: runstore.InRuns(e.Logs),
		Flags: []cli.Flag{&cli.BoolFlag{Name: "follow"}, settings.StateDirFlag()}}}}
	testkit.OK(t, app.Run([]string{"arbiter", "logs", "--follow", "--state-dir", root, "aaaa1111"}))
	testkit.Includes(t, "the log", stdout.String(), "one", "two", "three", "four")
}

// TestATallyOfARehearsal: what a scripted model has cost is simulated.
func TestATallyOfARehearsal(t *testing.T) {
	var text, line bytes.Buffer
	tally := Tally{CostUSD: 0.5, Rehearsal: true}
	for _, out := range []*bytes.Buffer{&text, &line} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.Bool("json", out == &line, "")
		testkit.OK(t, Env{command.Env{Stdout: out}}.printTally(cli.NewContext(nil, flags, nil), tally))
	}
	testkit.Includes(t, "the text", text.String(), "$0.5000 simulated")
	testkit.Includes(t, "the object", line.String(), `"rehearsal":true`)
}

// TestReportOfARunThatBegins: before the first input is recorded, a run's own record says since when it exists.
func TestReportOfARunThatBegins(t *testing.T) {
	info := journal.Info{Meta: journal.Meta{Run: "r", Began: time.Unix(1, 0), Title: "Build it"}}
	r := liveReportOf(info, runstore.LiveStatus{})
	testkit.Check(t, r.Began.Equal(info.Began) && r.Title == info.Title, "%+v", r)
}

// TestAttachNamesTheStateDirectory: the program that shows the run reads a configuration, which may name another.
func TestAttachNamesTheStateDirectory(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	root := testkit.Must(command.StateDir(""))(t)
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	defer testkit.Must(store.Create(journal.Meta{Run: "aaaa1111-seen", CWD: root}, journal.Options{}))(t).Close()
	shown := ""
	screen := func() *cli.App {
		return &cli.App{Flags: settings.Flags("session", "state-dir"), Action: func(c *cli.Context) error {
			shown = c.String("session") + " in " + c.String("state-dir")
			return nil
		}}
	}
	app := &cli.App{Commands: []*cli.Command{AttachCommand(command.Env{}, screen)}}
	testkit.OK(t, app.Run([]string{"arbiter", "attach", "aaaa1111"}))
	testkit.Same(t, "shown", "aaaa1111-seen in "+root, shown)
}
