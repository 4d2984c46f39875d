package view

// This file keeps the output of a command that the user runs, and shows it as a card: the end of its output,
// how it ended, and the text that an agent reads about it.

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// Bounds of the output, in bytes: the part of its end that is kept, and the part that an agent reads.
const (
	keptBytes  = 128 << 10
	agentBytes = 32 << 10
)

// ShellCard is a command and its output. It is safe for concurrent use.
type ShellCard struct {
	line  string
	began time.Time
	wrote func() // called after each output

	mu    sync.Mutex // guards the following fields
	text  []byte     // the end of the output
	lost  int        // bytes before it
	over  bool
	ended time.Time
	how   string // how it ended: "exit code 1"
	good  bool
}

// NewCard returns the card of a command that begins.
func NewCard(line string, at time.Time, wrote func()) *ShellCard {
	return &ShellCard{line: line, began: at, wrote: wrote}
}

// Write implements io.Writer: it adds output.
func (c *ShellCard) Write(p []byte) (int, error) {
	defer c.wrote()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text = append(c.text, p...)
	if n := len(c.text) - keptBytes; n > keptBytes { // not at every write
		c.lost += n
		c.text = append([]byte(nil), c.text[n:]...)
	}
	return len(p), nil
}

// End records how the command ended.
func (c *ShellCard) End(how string, good bool, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over, c.how, c.good, c.ended = true, how, good, at
}

// Over reports whether the command has ended.
func (c *ShellCard) Over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.over
}

// Line returns the command.
func (c *ShellCard) Line() string { return c.line }

// Head describes what runs, or how it ended, and how long it took.
func (c *ShellCard) Head(now time.Time) []render.Line {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := render.Of(render.Strong, sanitize.Line(c.line, 500))
	if !c.over {
		return []render.Line{line, render.Of(render.Active, "running for "+seconds(now.Sub(c.began)))}
	}
	role := render.Good
	if !c.good {
		role = render.Bad
	}
	return []render.Line{line, render.Of(role, c.how).Append(render.Dim, ", after "+seconds(c.ended.Sub(c.began)))}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", int(d.Seconds())) }

// Body lays out the output for a width.
func (c *ShellCard) Body(width int) []render.Line {
	text, lost := c.tail(keptBytes)
	var lines []render.Line
	if lost > 0 {
		lines = append(lines, render.WrapText(render.Dim, cutShell(lost), width)...)
	}
	if text == "" {
		return append(lines, render.Of(render.Dim, "(no output)"))
	}
	return append(lines, render.WrapText(render.Code, text, width)...)
}

// Text returns the command and the end of its output as text, for an agent.
func (c *ShellCard) Text() string {
	text, lost := c.tail(agentBytes)
	c.mu.Lock()
	how := c.how
	c.mu.Unlock()
	if lost > 0 {
		text = cutShell(lost) + "\n" + text
	}
	return fmt.Sprintf("I ran this command (%s):\n%s\nIts output:\n%s\n", how, words.Fenced(sanitize.Text(c.line)),
		words.Fenced(text))
}

// tail returns at most most bytes of the end of the output, from the beginning of a line, and how many
// bytes are before.
func (c *ShellCard) tail(most int) (text string, lost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := c.text
	lost = c.lost
	if n := len(end) - most; n > 0 {
		lost, end = lost+n, end[n:]
		if i := strings.IndexByte(string(end), '\n'); i >= 0 && i < len(end)-1 {
			lost, end = lost+i+1, end[i+1:]
		}
	}
	return strings.Trim(sanitize.Text(string(end)), "\n"), lost
}

func cutShell(lost int) string { return "(" + words.Bytes(int64(lost)) + " before this are not shown)" }
