package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/tui"
)

// playScreen shows the frontend until it is left, ends what still runs, and says what is
// left to say. The terminal is as it was before anything is written to stderr.
func (e env) playScreen(h *host, f *tui.Frontend) error {
	stop := h.handleSignals(f.Leave, resetTerminal(os.Stdin, os.Stdout))
	defer stop()
	failed := f.Run(context.Background())
	var fault *tui.Fault
	broke, end := errors.As(failed, &fault), "INT"
	if failed != nil && !broke {
		end = "TERM"
	}
	if lost := (*tui.LostError)(nil); errors.As(failed, &lost) {
		h.lost() // whether or not a signal says so
	}
	outcome := h.end(end)
	if broke {
		return e.screenFault(h, fault)
	}
	switch {
	case failed != nil && !h.played():
		return command.Environmentf("%v; use --plain for lines of text, or --json for scripts", failed)
	case failed != nil:
		fmt.Fprintln(e.Stderr, "arbiter: the terminal was lost: "+sanitize.Line(failed.Error(), 300))
	}
	if outcome.Exit == contract.ExitComplete {
		return nil
	}
	if outcome.Exit == contract.ExitInterrupted && h.signal == "" {
		outcome.Text = "left before it was done"
	}
	return &command.Error{Code: outcome.Exit, Text: outcome.Text}
}

// lost notes that the terminal has gone: what runs continues, or is stopped by [host.end].
func (h *host) lost() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.signal == "" {
		h.signal = "TERM"
		h.hungUp()
	}
}

// hungUp has the run go on if that is wanted; it needs mu.
func (h *host) hungUp() (left bool) {
	if h.choices.Face.OnHangup == settings.HangupStop {
		return false
	}
	if h.session != nil {
		h.session.Leave()
	}
	return true
}

// played reports whether something was begun, or a signal came.
func (h *host) played() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session != nil || h.signal != ""
}

// screenFault reports a panic of the screen's.
func (e env) screenFault(h *host, fault *tui.Fault) error {
	if l := h.present(); l != nil {
		r := l.Reporter(h.choices)
		r.Panicked(&runloop.Fault{Panic: fault.Panic, Stack: fault.Stack})
		r.Close()
		for _, path := range r.Written() {
			fmt.Fprintln(e.Stderr, "arbiter: a crash report was written to "+path)
		}
	} else {
		fmt.Fprintf(e.Stderr, "%s\n", fault.Stack)
	}
	return &command.Error{Code: contract.ExitBug, Text: fault.Error()}
}

// handleSignals ends the run and leaves the frontend when the terminal goes, or somebody asks
// for it.
func (h *host) handleSignals(leave, last func()) (stop func()) {
	command.OutliveReaders()
	return command.HandleSignals(func(name string, _ int) bool { return h.handles(name, leave) }, func() {
		if l := h.present(); l != nil {
			l.HaltAtOnce()
		}
	}, last)
}

// handles reports whether a signal was meant for us: Ctrl+C is a key of the program that has
// the terminal.
func (h *host) handles(name string, leave func()) bool {
	if name == "INT" && time.Now().UnixNano() < h.awayUntil.Load() {
		(*h.onInterrupt.Load())()
		return false
	}
	h.signalled(name)
	leave()
	return true
}

// signalled ends the run that is being played, or leaves it if the terminal hung up; without one
// the signal is what the program ends with.
func (h *host) signalled(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.signal = name
	h.recall() // from the program that has the terminal
	if name == "HUP" && h.hungUp() || h.session == nil {
		return
	}
	h.session.StopBy(name)
}

// find is the id of the run that is to be taken up.
func (h *host) find(c settings.Choices) (string, error) {
	store, err := journal.OpenStore(c.StateDir)
	if err != nil {
		return "", command.StateDirProblem(err)
	}
	defer store.Close()
	info, err := findRun(store, c)
	return info.Run, err
}
