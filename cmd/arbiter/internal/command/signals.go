package command

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// signalNames are those of the signals that end a run.
var signalNames = map[os.Signal]string{syscall.SIGINT: "INT", syscall.SIGTERM: "TERM", syscall.SIGHUP: "HUP"}

// HandleSignals hands signals on, by their names (INT, TERM, HUP) and their number: the first
// asks for an orderly end, the second for a fast one, the third does not ask. One that heed
// says was meant for somebody else does not count. QUIT, which is Ctrl+\ in a terminal that
// is not ours at the moment, halts; halt does not block. Without one it does what it does.
// Last, if any, is called before the end at the third. Who started us may have had us ignore
// some (nohup, a script that puts us behind itself): those stay ignored.
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
				name := signalNames[sig]
				if n > 2 {
					// The bridge outlives us by the two seconds it needs to stop and
					// sweep everything it started.
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

// OutliveReaders has a reader that has gone show as an error of the write, not as our
// death. The signal is caught, not ignored: what is ignored, every child ignores, too.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// codeOf is what a program ends with that a signal of that name ended.
func codeOf(name string) contract.Exit {
	if name == "INT" {
		return contract.ExitInterrupted
	}
	return contract.ExitTerminated
}

// Interruptible ends ctx at the first signal, QUIT included if it is asked for (Ctrl+\ is a
// slip beside Ctrl+]); its cause is the exit. A third signal does not wait.
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

// BySignal ends the program as a signal has it.
func BySignal(ctx context.Context, text string) error {
	if e, ok := errors.AsType[*Error](context.Cause(ctx)); ok {
		return &Error{Code: e.Code, Text: text}
	}
	return &Error{Code: contract.ExitFailed, Text: text}
}
