package host

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// drainDeadline bounds the writing of the last lines if the reader of stdout is slow but alive.
const drainDeadline = 10 * time.Second

// Headless runs a task for a script, with NDJSON on stdin and stdout.
func Headless(io command.Env, c settings.Choices) (err error) {
	e := hostEnv{io}
	command.OutliveReaders()
	if c.OrBegin {
		if err := resumeOrBegin(&c); err != nil {
			return err
		}
	}
	prepare := newRun
	if c.Resume {
		prepare = resumeRun
	}
	r, err := prepare(c)
	if err != nil {
		return err
	}
	empty := false
	defer func() {
		if r.close(); empty {
			e.discard(r)
		}
	}()
	defer func() {
		if p := recover(); p != nil { // outside of the loop, which handles its own panics
			err = e.bug(r, p)
		}
	}()
	var loop *runloop.Loop
	out := NewWriter(e.Stdout, NDJSONBacklog, func(err error) { loop.Put(input.OutputLost{Message: err.Error()}) })
	loop = r.ready(out.Put)
	e.printStart(r)
	stopSignals := command.HandleSignals(func(name string, n int) bool {
		loop.Put(input.Signal{Signal: name, Fast: n > 1})
		return true
	}, nil, nil) // QUIT prints the stacks of a stuck program; the bridge then ends the agents
	defer stopSignals()
	if !c.NoInput {
		// Not waited for: a read from stdin cannot be cancelled, and ends with the process.
		go readCommands(e.Stdin, r)
	}
	exit := r.play(loop)
	unfinished := r.shutdown(loop.Snapshot())
	if err := out.Close(drainDeadline); err != nil && exit == contract.ExitComplete {
		fmt.Fprintln(e.Stderr, "arbiter: stdout:", err)
		exit = contract.ExitFailed
	}
	e.printSessions(loop.Snapshot())
	e.printEnd(r, loop.Snapshot(), unfinished)
	empty = loop.Snapshot().Pointless() && len(unfinished) == 0
	end := control.RunEnded{Exit: int(exit), Unfinished: unfinished}
	if exit != contract.ExitComplete {
		end.Text = exitText(exit, loop.Snapshot())
	}
	r.announceEnd(end)
	if exit == contract.ExitComplete {
		return nil
	}
	return &command.Error{Code: exit, Text: end.Text}
}

// discard removes a closed run that never got a task, so that such runs do not fill the list of runs.
func (e hostEnv) discard(r *hostedRun) {
	if err := r.storage.discard(r.choices.Options.Run); err != nil {
		fmt.Fprintln(e.Stderr, "arbiter: remove the empty run:", err)
	}
}

// bug writes a report about a panic of Arbiter, and returns the error that ends the program.
func (e hostEnv) bug(r *hostedRun, p any) error {
	r.diagnostics.reporter.Panicked(&runloop.Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()})
	r.diagnostics.reporter.Close()
	e.printReports(r)
	return &command.Error{Code: contract.ExitBug, Text: fmt.Sprintf("bug in arbiter: %v", p)}
}

// exitText returns the line on stderr that explains why a run did not complete.
func exitText(exit contract.Exit, s *supervisor.State) string {
	if s.Ending == nil || exit == contract.ExitBug {
		return exit.String()
	}
	text := s.Ending.Status + ": " + s.Ending.Summary
	if len(s.Question.Recovery.Options) > 0 && exit == contract.ExitEnvironment {
		text += "; " + strings.Join(s.Question.Recovery.Options, "; or ")
	}
	return text
}

func readCommands(stdin io.Reader, r *hostedRun) {
	loop := r.loop
	err := contract.ReadCommands(stdin, 0, func(c contract.Command) bool {
		if r.frontends.halter.OnStdin(c) {
			return true
		}
		return loop.Put(input.Command{Command: c, Channel: input.ChannelStdin})
	})
	if err != nil && !errors.Is(err, os.ErrClosed) {
		loop.Put(input.Command{Command: contract.Command{Body: contract.Malformed{Problem: "stdin: " + err.Error()}},
			Channel: input.ChannelStdin})
	}
	loop.Put(input.InputEnded{})
}

// hostEnv has the standard streams, and the commands of this package as methods.
type hostEnv struct{ command.Env }
