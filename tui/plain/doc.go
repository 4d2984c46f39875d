// Package plain is the frontend of `--plain`: it prints a run as lines of prose, and reads lines of input
// that answer it. It is for screen readers, for terminals without cursor control, and for pipes. It prints
// no animation and no escape sequence, folds nothing, and prints important things once.
//
// [Frontend.Run] owns all state and never blocks. Three goroutines help it: one reads the input, one does
// in order what may take time (it begins the run and submits commands), and one writes the output. Events
// come in through a mailbox whose sink does not block, and text waits in a bounded queue, so that neither a
// flood of events nor an unread output blocks the run. Both drop the least important first, and report it.
//
// When the run is over, the rest of the text is written, as long as the grace lasts, and Run waits for the
// goroutine for commands. A read of the input and a write of the output cannot be cancelled: Run does not
// wait for those goroutines after that, and they end with their file.
//
// All text passes package sanitize on its way out, here and nowhere else.
package plain
