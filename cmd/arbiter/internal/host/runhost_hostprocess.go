package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// hostOutput is the file in a run's directory for stdout and stderr of the host process. It stays empty unless the
// process crashes.
const hostOutput = "host.log"

// HostCommand is `arbiter host`, which arbiter itself starts.
func HostCommand(io command.Env) *cli.Command {
	e := hostEnv{io}
	return &cli.Command{
		Name: ProcessCommand, Usage: "play one run for the clients of its control socket", ArgsUsage: "DIR",
		Description: "Arbiter starts this process itself, for the screen and for --plain. The run continues when " +
			"they end.\nIf this process is killed, all of the run's agents end. The directory is only named for ps.",
		Action: e.host,
	}
}

// host is `arbiter host`.
func (e hostEnv) host(*cli.Context) (err error) {
	command.OutliveReaders()
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return command.Usagef("arbiter host is started by arbiter itself: use arbiter, or arbiter attach for a live run")
	}
	var spec ProcessSpec
	if err := json.NewDecoder(e.Stdin).Decode(&spec); err != nil {
		return command.Usagef("arbiter host is started by arbiter itself: its stdin is not a description of a run (%v)", err)
	}
	c := spec.Choices
	c.Given = spec.Given
	if c.Policy, err = settings.CheckRules(c.Options); err != nil {
		return e.notReady(err)
	}
	prepare := newRun
	if c.Resume {
		prepare = resumeRun
	}
	r, err := prepare(c)
	if err != nil {
		return e.notReady(err)
	}
	defer r.close()
	defer func() {
		if p := recover(); p != nil { // outside of the loop, which handles its own panics
			err = e.bug(r, p)
		}
	}()
	return e.playHost(r)
}

// playHost plays a prepared run, and reports its end to the clients.
func (e hostEnv) playHost(r *hostedRun) error {
	loop := r.ready(func(time.Time, contract.Event) {}) // the subscribers get events from the hub
	stopSignals := command.HandleSignals(func(name string, n int) bool {
		loop.Put(input.Signal{Signal: name, Fast: n > 1})
		return true
	}, nil, nil)
	defer stopSignals()
	if r.frontends.control == nil {
		return e.notReady(command.Environmentf("run %s has no control socket, so that no screen can follow it; "+
			"its log says why: %s", command.ShortID(r.choices.Options.Run), r.diagnostics.file.Path()))
	}
	var output bytes.Buffer
	hostEnv{command.Env{Stderr: &output}}.printStart(r)
	ready := Ready{Run: r.choices.Options.Run, Notices: output.String(),
		Socket: filepath.Join(r.storage.journal.Dir(), control.SocketName)}
	if err := json.NewEncoder(e.Stdout).Encode(ready); err != nil {
		return command.Environmentf("the process that started this one has ended: %v", err)
	}
	if err := leaveTerminal(r.storage.journal.Dir()); err != nil {
		r.diagnostics.log.Warn("redirecting stdout and stderr failed", "err", err)
	}
	exit := r.play(loop)
	s := loop.Snapshot()
	end := control.RunEnded{Exit: int(exit), Unfinished: r.shutdown(s)}
	if exit != contract.ExitComplete {
		end.Text = exitText(exit, s)
	}
	output.Reset()
	hostEnv{command.Env{Stderr: &output}}.printEnd(r, s, end.Unfinished)
	end.Notices = strings.Split(strings.TrimSuffix(output.String(), "\n"), "\n")
	r.awaitFrontend()
	r.announceEnd(end)
	if exit == contract.ExitComplete {
		return nil
	}
	return &command.Error{Code: exit, Text: end.Text}
}

// notReady answers that the run could not be started.
func (e hostEnv) notReady(err error) error {
	exit := &command.Error{Code: contract.ExitFailed, Text: err.Error()}
	errors.As(err, &exit)
	// If writing fails, the process that started this one has ended.
	_ = json.NewEncoder(e.Stdout).Encode(Ready{Code: exit.Code, Problem: exit.Text})
	return &command.Error{Code: exit.Code}
}

// leaveTerminal redirects stdout and stderr to a file of the run. A crash is then described there, and a write to a
// closed terminal cannot end the process.
func leaveTerminal(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, hostOutput), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", hostOutput, err)
	}
	defer f.Close()
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup2(int(f.Fd()), fd); err != nil {
			return fmt.Errorf("redirect output: %w", err)
		}
	}
	return nil
}
