// Package plain is the frontend of `--plain`: it prints a run as lines of prose, and reads
// lines of input that answer it. It is for screen readers, for terminals without cursor
// control, and for pipes. It prints no animation and no escape sequence, folds nothing, and
// says what is important once.
//
// [Frontend.Run] owns all state and never blocks. Three goroutines help it: one reads the
// input, one carries out in order what may take time (it begins the run and hands commands
// in), and one writes the output. Events come in through a mailbox whose sink does not block,
// and text waits in a bounded queue, so that neither a flood nor an output that nothing reads
// holds the run. Both drop the least important first, and say so.
//
// When the run is over, the rest of the text is written, for as long as the grace lasts, and
// the goroutine for commands is waited for. A read of the input and a write of the output
// cannot be cancelled: those goroutines are not waited for after that, and end with their file.
//
// All text passes package sanitize on its way out, here and nowhere else.
package plain
