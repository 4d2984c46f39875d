package clients

import (
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// asItWas resets everything that a screen may have changed: mouse, paste and focus reports, keys, colours and
// cursor, the alternate screen, and the title, which the terminal had saved.
const asItWas = "\x1b[?1006l\x1b[?1003l\x1b[?1002l\x1b[?1000l\x1b[?2004l\x1b[?1004l\x1b[?9001l" +
	"\x1b[<u\x1b[>4;0m\x1b[?1l\x1b>\x1b[?7h\x1b[0m\x1b[0 q\x1b[?25h\x1b[23;2t\x1b[?1049l"

// resetTerminal is for a screen that hangs and cannot reset the terminal itself. The returned function resets the
// terminal as far as possible without blocking. Call resetTerminal before the screen starts.
func resetTerminal(in *os.File, out io.Writer) (last func()) {
	was, err := term.GetState(int(in.Fd()))
	return func() {
		if err != nil {
			return // no terminal
		}
		_ = term.Restore(int(in.Fd()), was) // an error means that the terminal is gone
		written := make(chan struct{})
		go func() { // may block if the terminal is not read; the process ends anyway
			defer close(written)
			_, _ = io.WriteString(out, asItWas)
		}()
		select {
		case <-written:
		case <-time.After(200 * time.Millisecond):
		}
	}
}
