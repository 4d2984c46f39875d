package contract

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// DefaultMaxLine bounds a command line, in bytes.
const DefaultMaxLine = 16 << 20

// ReadCommands yields the commands of r until it ends, fails, or yield returns
// false. A line longer than max (0: DefaultMaxLine) becomes a Malformed, and
// reading continues after it. Empty lines and a byte order mark are skipped, CRLF
// is a line end, and the last line needs none. A problem names its line. The end of input is not an error.
func ReadCommands(r io.Reader, max int, yield func(Command) bool) error {
	if max <= 0 {
		max = DefaultMaxLine
	}
	lines := jsonl.NewLineReader(r, max+len("\r"))
	for n := 1; ; n++ {
		next, err := lines.Next()
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read commands: %w", err)
		}
		if err != nil {
			next, _ = lines.Splitter.Flush()
		}
		line := next.Data
		long := next.Oversize || len(line) > max
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		line = bytes.TrimSpace(line)
		switch {
		case long:
			problem := fmt.Sprintf("the line is longer than %d bytes", max)
			if !yield(located(Command{Body: malformed(problem, nil)}, n)) {
				return nil
			}
		case len(line) > 0:
			if !yield(located(ParseCommand(line), n)) {
				return nil
			}
		}
		if err != nil {
			return nil
		}
	}
}

// located says in which line the problem of a malformed command is, counted from 1.
func located(c Command, line int) Command {
	if m, ok := c.Body.(Malformed); ok {
		m.Problem = fmt.Sprintf("line %d: %s", line, m.Problem)
		c.Body = m
	}
	return c
}
