// Package ptyproxy runs a program, such as `claude` for its log-in, in a pseudo-terminal behind the user's
// terminal, and restores the terminal afterwards.
//
// The program does not get the terminal itself: it gets one of its own, whose bytes are copied both ways
// (proxy.go, pump.go). So it can be ended from outside, and it cannot change the settings of the user's
// terminal, stop arbiter by a keyboard signal or read what is typed after its end. Ctrl+] takes the
// terminal back from a program that hangs (key.go). Terminal modes that it left on – the alternate screen,
// the mouse – are switched off when it has ended (modes.go).
//
// # Goroutines, order, shutdown
//
// One goroutine, the pump, waits in poll(2) for both terminals and is the only one that copies their bytes;
// another, of package proctree, waits for the process. [Proxy.Run] listens for signals, the detach key and
// the context, ends the process in order if necessary (SIGHUP, SIGTERM, SIGKILL), makes the pump deliver
// the program's last output, waits for the pump and restores the terminal, on every path. No read or write
// blocks, unless the terminal cannot be opened a second time (on macOS): there a terminal that accepts no
// more output blocks arbiter as it would any program.
package ptyproxy
