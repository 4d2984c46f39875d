package transcript

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"
)

// Since is the work of a session after an offset in its transcript.
type Since struct {
	Digest
	Words int            // number of messages that a person typed
	Typed []string       // the last of these, oldest first
	Tools map[string]int // calls, by tool
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
	var s Since
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
		default:
			main.add(rec, true)
			s.addTyped(rec, limits)
		}
	})
	if err != nil {
		return Since{}, err
	}
	s.damaged("the transcript", damaged)
	s.Tools = s.merge(main, append(s.subagents(ctx, path, session, at, limits), inline), limits)
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
