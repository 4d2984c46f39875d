// Package ptyproxy runs a program in a pseudo-terminal behind the user's, such as `claude` for its log-in,
// and restores the terminal afterwards.
//
// The program does not get the terminal itself: it gets one of its own, whose bytes are
// carried both ways (proxy.go, pump.go). So it can be ended from outside, it cannot
// change the settings of the user's terminal, stop us with a signal of its keyboard or
// read what is typed after its end; and a key, Ctrl+], takes the terminal back from one
// that hangs (key.go). What it switched on in the terminal and did not switch off –
// the alternate screen, the mouse – is switched off when it has ended (modes.go).
//
// # Goroutines, order, shutdown
//
// One goroutine, the pump, waits in poll(2) for both terminals and alone touches their
// bytes; another, of package proctree, waits for the process. [Proxy.Run] listens for
// signals, the detach key and the context, ends the process in order if it must
// (SIGHUP, SIGTERM, SIGKILL), has the pump deliver what the program sent last, waits
// for it and restores the terminal, on every path. Nothing blocks in a read or a write
// but where the terminal cannot be opened a second time (on macOS): there a terminal
// that takes no more output holds us as it would hold any program.
package ptyproxy
