// Package terminal runs a program in a terminal of its own, for tests and pictures: a pseudo terminal with
// an emulator at the other end, so that the program is tested under the conditions of a user, with its
// start, its keys, its resizes and the state in which it leaves the terminal.
//
//	t, err := terminal.Start(cmd, terminal.Size{Columns: 80, Rows: 24})
//	defer t.Close()
//	t.Press("Ctrl+G")
//	screen, err := t.Wait(ctx, terminal.Shows("Speak, mortal."))
//	os.WriteFile("oracle.svg", []byte(screen.SVG(terminal.Picture{})), 0o644)
//
// # Reading order
//
// terminal.go starts and ends the program and waits; emulator.go wraps the emulator's library; screen.go is the
// visible state; sequence.go checks the bytes that a program sends; svg.go draws.
//
// # Goroutines, order, shutdown
//
// Four goroutines belong to a [Terminal]: one always reads the program's output into the log and the
// emulator; one reads the emulator's answers to queries; one writes keys and answers to the program, from
// an unbounded queue, so that a program that does not read blocks no caller; one waits for the process.
// [Terminal.Close] kills the process group and returns when all four have ended. Nothing sleeps or polls:
// [Terminal.Wait] checks again when something has changed, and fails at once when nothing can change any
// more.
package terminal
