package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
)

// Show runs the frontend until it is left, ends the running session, and prints final messages. The terminal is
// restored before anything is written to stderr.
func (h *ScreenHost) Show(f *tui.Frontend) error {
	stop := h.HandleSignals(f.Leave, resetTerminal(os.Stdin, os.Stdout))
	defer stop()
	failed := f.Run(context.Background())
	var fault *tui.Fault
	broke, end := errors.As(failed, &fault), "INT"
	if failed != nil && !broke {
		end = "TERM"
	}
	if lost := (*tui.LostError)(nil); errors.As(failed, &lost) {
		h.Lost() // whether or not there was a signal
	}
	outcome := h.End(end)
	if broke {
		return h.screenFault(fault)
	}
	switch {
	case failed != nil && !h.played():
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", failed)
	case failed != nil:
		fmt.Fprintln(h.env.Stderr, "arbiter: the terminal was lost: "+sanitize.Line(failed.Error(), 300))
	}
	if outcome.Exit == contract.ExitComplete {
		return nil
	}
	if outcome.Exit == contract.ExitInterrupted && h.signal == "" {
		outcome.Text = "the run was stopped before it was done"
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}

// Lost records that the terminal is gone: the run continues, or [ScreenHost.End] stops it.
func (h *ScreenHost) Lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signal == "" {
		h.signal = "TERM"
		h.hungUp()
	}
}

// hungUp leaves the run if the settings say so. The caller holds mu.
func (h *ScreenHost) hungUp() (left bool) {
	if h.choices.Screen.OnHangup == settings.HangupStop {
		return false
	}
	if h.last != nil {
		h.last.Leave()
	}
	return true
}

// played reports whether a run was started or a signal was received.
func (h *ScreenHost) played() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last != nil || h.signal != ""
}

// screenFault reports a panic of the screen.
func (h *ScreenHost) screenFault(fault *tui.Fault) error {
	if l := h.Session(); l != nil {
		r := l.Reporter(h.choices)
		r.Panicked(&runloop.Fault{Panic: fault.Panic, Stack: fault.Stack})
		r.Close()
		for _, path := range r.Written() {
			fmt.Fprintln(h.env.Stderr, "arbiter: a crash report was written to "+path)
		}
	} else {
		fmt.Fprintf(h.env.Stderr, "%s\n", fault.Stack)
	}
	return &command.Error{Code: contract.ExitBug, Text: fault.Error()}
}

// HandleSignals ends the run and leaves the frontend when the terminal is closed or a signal asks for it.
func (h *ScreenHost) HandleSignals(leave, last func()) (stop func()) {
	command.OutliveReaders()
	return command.HandleSignals(func(name string, _ int) bool { return h.handles(name, leave) }, func() {
		if l := h.Session(); l != nil {
			l.HaltAtOnce()
		}
	}, last)
}

// handles reports whether a signal was meant for this program. Ctrl+C is only a key for the program that has the
// terminal.
func (h *ScreenHost) handles(name string, leave func()) bool {
	if name == "INT" && time.Now().UnixNano() < h.awayUntil.Load() {
		(*h.onInterrupt.Load())()
		return false
	}
	h.signalled(name)
	leave()
	return true
}

// signalled ends the current run, or leaves it if the terminal hung up. Without a run, the signal determines the
// exit code.
func (h *ScreenHost) signalled(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signal = name
	h.recall() // end the program that has the terminal
	if name == "HUP" && h.hungUp() || h.last == nil {
		return
	}
	h.last.StopBy(name)
}

// Find returns the id of the run to resume.
func (h *ScreenHost) Find(c settings.Choices) (string, error) {
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return "", command.StateDirProblem(err)
	}
	defer store.Close()
	info, err := runstore.ToResume(store, c.Place, c.Session)
	return info.Run, err
}
