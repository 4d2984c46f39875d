package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// DigestLimits limits what ReadDigest keeps. 0 means the default, in parentheses.
type DigestLimits struct {
	Texts     int // texts of the main thread (8)
	TextBytes int // of each text and each command; longer ones are cut (4096)
	Files     int // paths (200)
	Commands  int // commands (40)
	Subagents int // transcripts of subagents to read, the last written ones (200)
}

func (l DigestLimits) orDefaults() DigestLimits {
	for _, f := range []struct {
		limit *int
		usual int
	}{{&l.Texts, 8}, {&l.TextBytes, 4096}, {&l.Files, 200}, {&l.Commands, 40}, {&l.Subagents, 200}} {
		if *f.limit <= 0 {
			*f.limit = f.usual
		}
	}
	return l
}

// Digest summarizes a session for others when the session itself can no longer do so. DigestLimits limits its
// size.
type Digest struct {
	Texts    []string  // the last texts of the main thread, oldest first
	Files    []string  // that its tools and its subagents' wrote, each once, by last write
	Commands []Command // last commands, oldest first
	Problems []string  // messages about what could not be read
}

// Command is a shell command that a session ran or tried to run. A refused command has failed.
type Command struct {
	Command   string
	Outcome   Outcome
	Subagent  bool
	Timestamp string // of the call, as in the transcript
}

// Outcome is the outcome of a command.
type Outcome string

// Outcomes of commands.
const (
	OutcomeDone    Outcome = "done"
	OutcomeFailed  Outcome = "failed"
	OutcomeUnknown Outcome = "unknown" // it has no result, or one that does not say
)

// ReadDigest summarizes what a session said and did, from its transcript along the branch that a resume
// remembers, and from its subagents' transcripts. No process may be writing them. An error means that the
// session's own transcript could not be read; other failures are in Problems.
//
// It reads the transcript twice: first it keeps how the records are linked, then no more than limits allows.
func ReadDigest(ctx context.Context, path string, limits DigestLimits) (Digest, error) {
	f, err := open(path)
	if err != nil {
		return Digest{}, err
	}
	defer f.Close()
	h := newHistory(strings.TrimSuffix(filepath.Base(path), extension))
	if err := h.read(ctx, f); err != nil {
		return Digest{}, err
	}
	h.remembered()
	limits = limits.orDefaults()
	main, inline := newActivity(limits), newActivity(limits)
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return Digest{}, fmt.Errorf("read transcript again: %w", err)
	}
	damaged, err := eachRecord(ctx, f, func(rec *Record) {
		n := h.byUUID[rec.UUID]
		switch {
		case !rec.of(h.session):
		case rec.Sidechain:
			inline.add(rec, false) // CLI 2.0.0 writes its subagents there
		case n != nil && n.live:
			n.live = false // a repeated record does not count
			main.add(rec, true)
		default:
			main.results(rec) // of parallel tools only one is on the branch
		}
	})
	if err != nil {
		return Digest{}, err
	}
	d := Digest{}
	d.damaged("the transcript", damaged)
	d.merge(main, append(d.subagents(ctx, path, h.session, time.Time{}, limits), inline), limits)
	return d, ctx.Err()
}

func (d *Digest) damaged(where string, lines int) {
	if lines > 0 {
		d.Problems = append(d.Problems, fmt.Sprintf("%d damaged lines in %s", lines, where))
	}
}

// subagents reads the transcripts of a session's subagents that were written last, from a time on, the oldest first.
func (d *Digest) subagents(ctx context.Context, path, session string, from time.Time, limits DigestLimits) (
	all []*activity) {
	files := subagentFiles(path, from.Truncate(time.Second))
	if left := len(files) - limits.Subagents; left > 0 {
		files = files[left:]
		d.Problems = append(d.Problems, fmt.Sprintf("%d older subagents' transcripts not read", left))
	}
	since := ""
	if !from.IsZero() { // another process wrote the times, by the same clock but with fewer digits
		since = from.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	}
	for _, file := range files {
		one := newActivity(limits)
		damaged, err := one.readSubagent(ctx, file, session, since)
		d.damaged(filepath.Base(file), damaged)
		if err != nil {
			d.Problems = append(d.Problems, fmt.Sprintf("subagent %s: %v", filepath.Base(file), err))
		}
		all = append(all, one)
	}
	return all
}

// subagentFiles lists the subagents' transcripts that were written since a time, the oldest first.
func subagentFiles(path string, since time.Time) (files []string) {
	dir := subagentDir(path)
	entries, _ := os.ReadDir(dir) // without it there were no subagents
	at := map[string]time.Time{}
	for _, e := range entries {
		info, err := e.Info()
		if strings.HasPrefix(e.Name(), "agent-") && strings.HasSuffix(e.Name(), extension) && err == nil &&
			!info.ModTime().Before(since) {
			file := filepath.Join(dir, e.Name())
			files, at[file] = append(files, file), info.ModTime()
		}
	}
	slices.SortStableFunc(files, func(a, b string) int { return at[a].Compare(at[b]) })
	return files
}

// merge merges the activity of the main thread and the others in the order of time, and returns the calls of all, by
// tool. Each has kept its last entries, so that the last ones of all are among them.
func (d *Digest) merge(main *activity, others []*activity, limits DigestLimits) (tools map[string]int) {
	var files []written
	tools, d.Texts = map[string]int{}, main.texts
	for i, s := range append([]*activity{main}, others...) {
		for _, c := range s.commands {
			c.Subagent = i > 0
			d.Commands = append(d.Commands, *c)
		}
		files = append(files, s.files...)
		for tool, n := range s.tools {
			count(tools, tool, n)
		}
	}
	slices.SortStableFunc(d.Commands, func(a, b Command) int { return cmp.Compare(a.Timestamp, b.Timestamp) })
	d.Commands = d.Commands[max(0, len(d.Commands)-limits.Commands):]
	slices.SortStableFunc(files, func(a, b written) int { return cmp.Compare(a.at, b.at) })
	last := map[string]int{}
	for i, f := range files {
		last[f.path] = i
	}
	for i, f := range files {
		if last[f.path] == i {
			d.Files = append(d.Files, f.path)
		}
	}
	d.Files = d.Files[max(0, len(d.Files)-limits.Files):]
	return tools
}

// count adds calls of a tool, whose name the model chose.
func count(tools map[string]int, tool string, n int) {
	if len(tool) < 200 && (len(tools) < 100 || tools[tool] > 0) {
		tools[tool] += n
	}
}

// activity is the latest work of one thread: its texts and calls.
type activity struct {
	limits   DigestLimits
	texts    []string
	commands []*Command
	files    []written
	tools    map[string]int  // calls, by tool
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
	return &activity{limits: limits, tools: map[string]int{}, calls: map[string]call{}}
}

// readSubagent adds the records of a subagent's transcript that belong to the session and are not older than
// since.
func (d *activity) readSubagent(ctx context.Context, path, session, since string) (damaged int, err error) {
	f, err := open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return eachRecord(ctx, f, func(rec *Record) {
		if rec.of(session) && rec.Timestamp >= since {
			d.add(rec, false)
		}
	})
}

// add adds a record of the thread, and its texts only if withTexts is set.
func (d *activity) add(r *Record, withTexts bool) {
	switch r.Type {
	case assistant:
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
	case user:
		d.results(r)
	}
}

// results adds the outcomes of calls that were added before.
func (d *activity) results(r *Record) {
	if r.Type != user || len(d.calls) == 0 {
		return
	}
	for _, b := range r.Message.Blocks() {
		if b.Type == "tool_result" {
			d.result(b, r.Timestamp)
		}
	}
}

func (d *activity) use(b Block, at string) {
	count(d.tools, b.Name, 1)
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

// cutText cuts a text to at most n bytes, including the ellipsis.
func cutText(s string, n int) string {
	const ellipsis = "…"
	if len(s) <= n {
		return s
	}
	return jsonl.Cut(s, max(0, n-len(ellipsis))) + ellipsis
}
