package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// signalNames has the names of the signals that end a run.
var signalNames = map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}

// fatal are signals that end a program at once.
var fatal = []os.Signal{syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGILL, syscall.SIGSEGV,
	syscall.SIGSYS, syscall.SIGTRAP, syscall.SIGXCPU, syscall.SIGXFSZ}

// HandleSignals passes INT, TERM and HUP to heed, by name and count. The first asks for an orderly end, the second
// for a fast one; the third exits the process at once, after calling last if that is not nil. A signal for which
// heed returns false does not count. QUIT (Ctrl+\ in a terminal that is currently not ours) calls halt, which must
// not block; if halt is nil, QUIT keeps its default action. Signals that the parent made us ignore (nohup, a
// background job of a script) stay ignored.
func HandleSignals(heed func(name string, n int) bool, halt, last func()) (stop func()) {
	ch := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(ch, sig)
		}
	}
	if halt != nil {
		signal.Notify(ch, syscall.SIGQUIT)
	}
	if last != nil {
		signal.Notify(ch, fatal...)
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := 1; ; {
			select {
			case <-quit:
				return
			case sig := <-ch:
				if sig == syscall.SIGQUIT {
					halt()
					continue
				}
				if slices.Contains(fatal, sig) {
					last()
					os.Exit(128 + int(sig.(syscall.Signal)))
				}
				name := signalNames[sig]
				if n > 2 {
					// The bridge lives two seconds longer than this process: it needs them to stop and sweep
					// everything it started.
					if last != nil {
						last()
					}
					os.Exit(int(codeOf(name)))
				}
				if heed(name, n) {
					n++
				}
			}
		}
	})
	return func() {
		signal.Stop(ch)
		close(quit)
		wg.Wait()
	}
}

// OutliveReaders turns a closed pipe into a write error instead of the end of the process. The signal is caught,
// not ignored, because children would inherit an ignored signal.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// codeOf returns the exit code of a program that a signal of that name ended.
func codeOf(name string) contract.Exit {
	if name == "INT" {
		return contract.ExitInterrupted
	}
	return contract.ExitTerminated
}

// Interruptible ends ctx at the first signal, and with quit also at QUIT (Ctrl+\ is next to Ctrl+]). The cause of
// ctx is the exit error. A third signal exits at once.
func Interruptible(ctx context.Context, quit bool) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	end := func(name string, _ int) bool {
		cancel(&Error{Code: codeOf(name), Text: "stopped"})
		return true
	}
	var halt func()
	if quit {
		halt = func() { end("INT", 0) }
	}
	stop := HandleSignals(end, halt, nil)
	return ctx, func() { stop(); cancel(nil) }
}

// BySignal returns an error with the exit code of the signal that ended ctx.
func BySignal(ctx context.Context, text string) error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return &Error{Code: e.Code, Text: text}
	}
	return &Error{Code: contract.ExitFailed, Text: text}
}
