// Package tui is the full-screen frontend: a projection of what the supervisor knows, and
// a keyboard that becomes commands. It starts no process and opens no terminal of its
// own; what it needs of the program around it is a [Host].
//
// Three goroutines, all waited for by [Frontend.Run]: tview's loop, which alone draws and
// takes keys; the pump, which alone writes the history and asks the loop to draw, at
// most every [frame]; and a worker for what may take time (beginning a run, searching
// a long history). Events come in through a mailbox that never blocks the run.
package tui
