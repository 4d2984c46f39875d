// Package plain is the face of `--plain`: a run as lines of prose on an output, and
// lines of input that answer it. It is for screen readers, for terminals that can do
// nothing, and for pipes. There is no animation and no escape sequence, nothing is
// folded, and what is important is said once.
//
// [Frontend.Run] owns all state and never blocks on anybody. It has three helpers: the
// ears, which read the input; the hands, one goroutine that carries out in order what
// may take time (beginning the run, handing commands in); and the mouth, which writes.
// Events come in through a mailbox whose sink does not block, and what is to be said
// waits in a bounded queue, so that neither a flood nor an output that nobody reads
// holds the run. Both leave out what is least important first, and say so.
//
// When the run is over, what is left is said, for as long as the grace lasts. The hands
// are waited for. A read of the input and a write of the output cannot be called off:
// ears and mouth are not waited for beyond that, and end with their file.
//
// Everything said passes package sanitize on its way out, here and nowhere else.
package plain
