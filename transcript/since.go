package transcript

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Since is the work of a session after an offset in its transcript. DigestLimits limits its size.
type Since struct {
	Words    int            // number of messages that a person typed
	Typed    []string       // the last of these, oldest first
	Texts    []string       // the model's last texts, oldest first
	Files    []string       // that its tools and its subagents' wrote
	Tools    map[string]int // calls, by tool
	Problems []string       // messages about what could not be read
}

// typed is how the CLI marks a message that a person typed (observed with CLI 2.1.329: promptSource).
const typed = "typed"

// ReadSince reads a session's transcript from an offset on, and the records of its subagents' transcripts that
// are not older than at. No process may be writing them.
func ReadSince(ctx context.Context, path string, offset int64, at time.Time, limits DigestLimits) (Since, error) {
	f, err := open(path)
	if err != nil {
		return Since{}, err
	}
	defer f.Close()
	s := Since{Tools: map[string]int{}}
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end < offset {
		s.Problems = append(s.Problems, "the transcript is shorter than it was: it is read from its beginning")
		offset = 0
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return Since{}, fmt.Errorf("read transcript: %w", err)
	}
	limits = limits.orDefaults()
	session := strings.TrimSuffix(filepath.Base(path), extension)
	main, inline := newActivity(limits), newActivity(limits)
	damaged, err := eachRecord(ctx, f, func(rec *Record) {
		switch {
		case !rec.of(session):
		case rec.Sidechain:
			inline.add(rec, false)
			s.count(rec)
		default:
			main.add(rec, true)
			s.count(rec)
			s.addTyped(rec, limits)
		}
	})
	if err != nil {
		return Since{}, err
	}
	if damaged > 0 {
		s.Problems = append(s.Problems, fmt.Sprintf("%d damaged lines in the transcript", damaged))
	}
	s.Texts = main.texts
	d := Digest{}
	d.merge(append([]*activity{main, inline}, s.subagents(ctx, path, session, at, limits)...), limits)
	s.Files = d.Files
	return s, ctx.Err()
}

// addTyped records a typed message.
func (s *Since) addTyped(u *Record, limits DigestLimits) {
	if u.Type != user || u.Meta || u.CompactSummary || u.PromptSource != typed {
		return
	}
	var text strings.Builder
	for _, b := range u.Message.Blocks() {
		if b.Type == "text" {
			text.WriteString(b.Text)
		}
	}
	input := strings.TrimSpace(text.String())
	if input == "" || strings.HasPrefix(input, "<command-name>") || strings.HasPrefix(input, "<local-command") {
		return // a slash command, which the model does not get
	}
	s.Words++
	s.Typed = latest(s.Typed, cutText(input, limits.TextBytes), limits.Texts)
}

// count counts the calls of tools.
func (s *Since) count(a *Record) {
	if a.Type != assistant {
		return
	}
	for _, b := range a.Message.Blocks() {
		if b.Type == "tool_use" && len(b.Name) < 200 && (len(s.Tools) < 100 || s.Tools[b.Name] > 0) {
			s.Tools[b.Name]++
		}
	}
}

// subagents reads the records of a session's subagents since a time.
func (s *Since) subagents(ctx context.Context, path, session string, at time.Time, limits DigestLimits) []*activity {
	files, _ := subagentFiles(path, limits.Subagents)
	// Another process wrote the times, by the same clock but with fewer digits.
	since := at.UTC().Truncate(time.Millisecond).Format("2006-01-02T15:04:05.000Z")
	var all []*activity
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.ModTime().Before(at.Truncate(time.Second)) {
			continue
		}
		one := newActivity(limits)
		if _, err := one.readSubagent(ctx, file, session, since, s.count); err != nil {
			s.Problems = append(s.Problems, fmt.Sprintf("subagent %s: %v", filepath.Base(file), err))
		}
		all = append(all, one)
	}
	return slices.Clip(all)
}
