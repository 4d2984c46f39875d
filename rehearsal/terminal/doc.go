// Package terminal runs a program in a terminal of its own, for tests and pictures:
// a pseudo terminal with an emulator at the other end, so that the program is tried
// as a user would meet it, with its start, its keys, its resizes and what it leaves
// behind.
//
//	t, err := terminal.Start(cmd, terminal.Size{Columns: 80, Rows: 24})
//	defer t.Close()
//	t.Press("Ctrl+G")
//	screen, err := t.Wait(ctx, terminal.Shows("Speak, mortal."))
//	os.WriteFile("oracle.svg", []byte(screen.SVG(terminal.Picture{})), 0o644)
//
// # Reading order
//
// terminal.go starts and ends the program and waits; pty.go is the pseudo terminal
// and its line settings; emulator.go is all that knows the emulator's library;
// screen.go and style.go are what is seen; keys.go is what is typed; sequence.go and
// manners.go judge the bytes a program sends; svg.go and shapes.go draw.
//
// # Goroutines, order, shutdown
//
// Four goroutines belong to a [Terminal]: one reads what the program sends into the
// log and the emulator, always, whether anybody looks or not; one takes the
// emulator's answers to queries; one writes keys and answers to the program, from a
// queue without bound, so that a program that does not read blocks nobody; one waits
// for the process. [Terminal.Close] kills the process' group and returns when all
// four have ended. Nothing sleeps or polls: [Terminal.Wait] looks again when
// something has changed, and fails at once when nothing can change any more.
package terminal
