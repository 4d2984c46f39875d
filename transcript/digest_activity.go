package transcript

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// activity is the latest work of one thread: its texts and calls.
type activity struct {
	limits   DigestLimits
	texts    []string
	commands []*Command
	files    []written
	calls    map[string]call // calls without a result yet, by tool use id
	waiting  []string        // their ids, oldest first
}

// written is a file that a tool wrote, and when.
type written struct{ path, at string }

// call is a tool call without a result yet: of a command, or for a file.
type call struct {
	command *Command
	path    string
}

const (
	maxWaiting = 1024 // calls; those of a killed process never get a result
	maxPath    = 4096 // bytes of a path; longer ones are ignored
)

// noOutcome are the texts that the CLI writes in place of an outcome (observed with CLI 2.1.329).
var noOutcome = []string{"[Tool call interrupted:", "Command running in background with ID:"}

func newActivity(limits DigestLimits) *activity {
	return &activity{limits: limits, calls: map[string]call{}}
}

// readSubagent adds the records of a subagent's transcript that belong to the session and are not older than
// since, and passes each of them to also.
func (d *activity) readSubagent(ctx context.Context, path, session, since string,
	also func(Record)) (damaged int, err error) {
	f, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return eachRecord(ctx, f, func(rec Record) {
		if rec.Head().of(session) && rec.Head().Timestamp >= since {
			d.add(rec, false)
			also(rec)
		}
	})
}

// add adds a record of the thread, and its texts only if withTexts is set.
func (d *activity) add(rec Record, withTexts bool) {
	switch r := rec.(type) {
	case *Assistant:
		if r.APIError || r.Message.Model == synthetic {
			return
		}
		for _, b := range r.Message.Blocks() {
			switch {
			case b.Type == "tool_use":
				d.use(b, r.Timestamp)
			case b.Type == "text" && withTexts && strings.TrimSpace(b.Text) != "":
				d.texts = latest(d.texts, cutText(strings.TrimSpace(b.Text), d.limits.TextBytes), d.limits.Texts)
			}
		}
	case *User:
		d.results(r)
	}
}

// results adds the outcomes of calls that were added before.
func (d *activity) results(rec Record) {
	r, ok := rec.(*User)
	if !ok || len(d.calls) == 0 {
		return
	}
	for _, b := range r.Message.Blocks() {
		if b.Type == "tool_result" {
			d.result(b, r.Timestamp)
		}
	}
}

func (d *activity) use(b Block, at string) {
	var input struct {
		Command  string `json:"command"`
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(b.Input, &input) != nil {
		return
	}
	var c call
	switch b.Name {
	case "Bash":
		c.command = &Command{Command: cutText(input.Command, d.limits.TextBytes), Outcome: OutcomeUnknown,
			Timestamp: at}
		d.commands = latest(d.commands, c.command, d.limits.Commands)
	case "Edit", "Write", "MultiEdit":
		c.path = input.File
	case "NotebookEdit":
		c.path = input.Notebook
	}
	if c.command == nil && (c.path == "" || len(c.path) > maxPath) {
		return
	}
	if len(d.waiting) == maxWaiting {
		delete(d.calls, d.waiting[0])
	}
	d.calls[b.ID] = c
	d.waiting = latest(d.waiting, b.ID, maxWaiting)
}

func (d *activity) result(b Block, at string) {
	c, ok := d.calls[b.ToolUseID]
	if !ok {
		return
	}
	delete(d.calls, b.ToolUseID)
	if i := slices.Index(d.waiting, b.ToolUseID); i >= 0 {
		d.waiting = slices.Delete(d.waiting, i, i+1)
	}
	text := ""
	if blocks := (&Message{Content: b.Content}).Blocks(); len(blocks) > 0 {
		text = blocks[0].Text
	}
	unsaid := slices.ContainsFunc(noOutcome, func(s string) bool { return strings.HasPrefix(text, s) })
	switch {
	case c.command != nil && unsaid:
	case c.command != nil && b.IsError:
		c.command.Outcome = OutcomeFailed
	case c.command != nil:
		c.command.Outcome = OutcomeDone
	case !b.IsError:
		d.files = slices.DeleteFunc(d.files, func(w written) bool { return w.path == c.path })
		d.files = latest(d.files, written{c.path, at}, d.limits.Files)
	}
}

func (d *activity) commandList() []Command {
	list := make([]Command, len(d.commands))
	for i, c := range d.commands {
		list[i] = *c
	}
	return list
}

// cutText cuts a text to at most n bytes, including the ellipsis.
func cutText(s string, n int) string {
	const ellipsis = "…"
	if len(s) <= n {
		return s
	}
	n = max(0, n-len(ellipsis))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}
