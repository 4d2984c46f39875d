package main

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// heedSignals hands signals on, by the name of what is asked for (INT, TERM) and their
// number: the first asks for an orderly end, the second for a fast one, the third does
// not ask. One that heed says was meant for somebody else does not count. QUIT, which is
// Ctrl+\ in a terminal that is not ours at the moment, halts; halt does not block.
// Without one it does what it does. Last, if any, is called before the end at the third.
// Who started us may have had us ignore some (nohup, a script that puts us behind itself):
// those stay ignored.
func heedSignals(heed func(name string, n int) bool, halt, last func()) (stop func()) {
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
				name, code := "INT", contract.ExitInterrupted
				if sig != syscall.SIGINT {
					name, code = "TERM", contract.ExitTerminated
				}
				if n > 2 {
					// The bridge outlives us by the two seconds it needs to stop and
					// sweep everything it started.
					if last != nil {
						last()
					}
					os.Exit(int(code))
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

// outliveReaders has a reader that has gone show as an error of the write, not as our
// death. The signal is caught, not ignored: what is ignored, every child ignores, too.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
