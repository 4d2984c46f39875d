package transcript

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	damaged, err := eachRecord(ctx, f, func(rec Record) {
		head := rec.Head()
		n := h.byUUID[head.UUID]
		switch {
		case !head.of(h.session):
		case head.Sidechain:
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
	d := Digest{Texts: main.texts}
	if damaged > 0 {
		d.Problems = append(d.Problems, fmt.Sprintf("%d damaged lines in the transcript", damaged))
	}
	all := append(d.subagents(ctx, path, h.session, limits), inline)
	for _, s := range all {
		for i := range s.commands {
			s.commands[i].Subagent = true
		}
	}
	d.merge(append([]*activity{main}, all...), limits)
	return d, ctx.Err()
}

// subagents reads the transcripts of a session's subagents, the oldest first.
func (d *Digest) subagents(ctx context.Context, path, session string, limits DigestLimits) []*activity {
	files, left := subagentFiles(path, limits.Subagents)
	if left > 0 {
		d.Problems = append(d.Problems, fmt.Sprintf("%d older subagents' transcripts not read", left))
	}
	var all []*activity
	for _, file := range files {
		one := newActivity(limits)
		damaged, err := one.readSubagent(ctx, file, session, "", func(Record) {})
		if damaged > 0 {
			d.Problems = append(d.Problems, fmt.Sprintf("%d damaged lines in %s", damaged, filepath.Base(file)))
		}
		if err != nil {
			d.Problems = append(d.Problems, fmt.Sprintf("subagent %s: %v", filepath.Base(file), err))
		}
		all = append(all, one)
	}
	return all
}

// subagentFiles lists the subagents' transcripts that were written last, at most most of them, and returns how
// many it left out.
func subagentFiles(path string, most int) (files []string, left int) {
	dir := subagentDir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0 // it had no subagents
	}
	type written struct {
		path string
		at   int64
	}
	var all []written
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "agent-") || !strings.HasSuffix(e.Name(), extension) {
			continue
		}
		w := written{path: filepath.Join(dir, e.Name())}
		if info, err := e.Info(); err == nil {
			w.at = info.ModTime().UnixNano()
		}
		all = append(all, w)
	}
	slices.SortStableFunc(all, func(a, b written) int { return cmp.Compare(a.at, b.at) })
	left = max(0, len(all)-most)
	for _, w := range all[left:] {
		files = append(files, w.path)
	}
	return files, left
}

// merge merges the activity of all sources in the order of time. Each source has kept its last entries, so that
// the last ones of all are among them.
func (d *Digest) merge(sources []*activity, limits DigestLimits) {
	var files []written
	for _, s := range sources {
		d.Commands = append(d.Commands, s.commandList()...)
		files = append(files, s.files...)
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
}
