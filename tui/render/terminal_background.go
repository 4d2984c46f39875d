package render

import (
	"bytes"
	"strings"
	"sync"

	"github.com/gdamore/tcell/v2"
)

// askBackground requests a terminal's background color (OSC 11). Terminals that do not support it do not
// answer.
const askBackground = "\x1b]11;?\x1b\\"

// asksBackground reports whether the request may be sent: some terminals would print it, or pass it on to
// another terminal.
func asksBackground(term string, tmux bool) bool {
	for _, prefix := range []string{"linux", "vt", "dumb", "ansi", "cons"} {
		if strings.HasPrefix(term, prefix) {
			return false
		}
	}
	return term != "" && (tmux || !strings.HasPrefix(term, "screen"))
}

// backgroundReader removes the answer from the terminal's input before the screen's library reads it. It
// listens until it has received one answer; then everything passes.
type backgroundReader struct {
	tcell.Tty
	onColor func(RGB) // on the goroutine that reads

	mu     sync.Mutex
	listen bool

	// Owned by the goroutine that reads.
	held []byte // the beginning of what may be an answer
}

var answerBegins = []byte("\x1b]11;")

// longestAnswer bounds what is held back: "rgba:ffff/ffff/ffff/ffff" with its beginning and end.
const longestAnswer = 64

// ask writes the request and starts listening.
func (e *backgroundReader) ask() {
	e.mu.Lock()
	e.listen = true
	e.mu.Unlock()
	_, _ = e.Tty.Write([]byte(askBackground)) // the loss of the terminal is detected elsewhere
}

func (e *backgroundReader) listening() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.listen
}

// Read implements tcell.Tty.
func (e *backgroundReader) Read(b []byte) (int, error) {
	n, err := e.Tty.Read(b[:max(len(b)-len(e.held), 1)]) // held bytes may have to be returned before it
	if n == 0 || !e.listening() && len(e.held) == 0 {
		return n, err
	}
	return copy(b, e.filter(b[:n], len(b))), err
}

// filter returns what passes of the input, at most most bytes, for which there is room.
func (e *backgroundReader) filter(in []byte, most int) []byte {
	all := append(e.held, in...)
	e.held = nil
	at := bytes.Index(all, answerBegins)
	if at < 0 {
		// The beginning of an answer may be at the end. A lone ESC is a key, and passes.
		for n := min(len(answerBegins)-1, len(all)); n > 1; n-- {
			if bytes.HasSuffix(all, answerBegins[:n]) {
				e.held = bytes.Clone(all[len(all)-n:])
				return all[:len(all)-n]
			}
		}
		return all
	}
	rest := all[at+len(answerBegins):]
	end, width := bytes.IndexByte(rest, '\a'), 1
	if st := bytes.Index(rest, []byte("\x1b\\")); st >= 0 && (end < 0 || st < end) {
		end, width = st, 2
	}
	switch {
	case end < 0 && len(rest) < longestAnswer && len(all[at:]) < most:
		e.held = bytes.Clone(all[at:])
		return all[:at]
	case end < 0:
		return all // it is not an answer
	}
	if rgb, ok := ParseRGB(string(rest[:end])); ok {
		e.mu.Lock()
		e.listen = false
		e.mu.Unlock()
		e.onColor(rgb)
	}
	return append(all[:at:at], rest[end+width:]...)
}
