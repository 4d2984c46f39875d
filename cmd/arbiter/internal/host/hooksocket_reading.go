package host

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/transcript"
)

// read reads the context size from the session's transcript, for events that need it. An unreadable transcript
// means an unknown context size.
func (s *HookSocketServer) read(in hooks.Input, agent HookSocketAgent) hooks.Reading {
	path, ok := transcriptOf(in)
	if !ok || in.AgentID != "" {
		return hooks.Reading{}
	}
	switch in.Event {
	case hooks.PostToolUse, hooks.PostToolUseFailure, hooks.UserPromptSubmit, hooks.PreCompact:
	default:
		return hooks.Reading{}
	}
	r := s.readAt(path, agent)
	if in.ToolUseID == "" || !s.near(agent, r) {
		return r
	}
	s.awaitWritten(path, in.ToolUseID)
	return s.readAt(path, agent)
}

func (s *HookSocketServer) readAt(path string, agent HookSocketAgent) hooks.Reading {
	tokens, err := s.service.Tokens(path)
	if err != nil {
		s.log.Debug("hooks", "session", agent.Session, "error", err)
		return hooks.Reading{}
	}
	return hooks.Reading{Tokens: tokens, Window: agent.Window, Pct: transcript.Percent(tokens, agent.Window)}
}

// The CLI writes its transcript up to a quarter of a second late (observed with CLI 2.1.329), so a reading can be
// one call old. Close to a level that was not reported yet, waiting is worthwhile: then the model learns of the
// level with its next request, not with the one after. Otherwise events do not wait.
const (
	nearness    = 15 // points below the first level
	longestWait = 400 * time.Millisecond
	recheck     = 15 * time.Millisecond
)

// near reports whether the next reading may reach a level that was not reported yet.
func (s *HookSocketServer) near(agent HookSocketAgent, r hooks.Reading) bool {
	s.mu.Lock()
	reported := s.present(agent)
	s.mu.Unlock()
	return reported.Level != hooks.LevelCritical && r.Window > 0 && r.Pct >= agent.Policy.Warn-nearness
}

// awaitWritten waits a short time until a call is in the transcript.
func (s *HookSocketServer) awaitWritten(path, toolUse string) {
	late := time.NewTimer(longestWait)
	defer late.Stop()
	again := time.NewTicker(recheck)
	defer again.Stop()
	for !s.service.Written(path, toolUse) {
		select {
		case <-again.C:
		case <-late.C:
			return
		case <-s.quit:
			return
		}
	}
}

// transcriptOf returns the transcript that an event names, if it can be the session's: the CLI stores it as
// projects/PROJECT/SESSION.jsonl (observed with CLI 2.1.329). Any other path from a client is refused.
func transcriptOf(in hooks.Input) (string, bool) {
	path := in.TranscriptPath
	ok := filepath.IsAbs(path) && filepath.Clean(path) == path && filepath.Base(path) == in.SessionID+".jsonl" &&
		filepath.Base(filepath.Dir(filepath.Dir(path))) == "projects"
	return path, ok
}

// tokensOf returns a session's context size from its transcript; 0: the transcript has none yet, or none since it
// was compacted.
func tokensOf(path string) (int, error) {
	newest, err := transcript.ReadNewest(path)
	if err != nil || !newest.Found {
		return 0, err
	}
	return newest.Sample.Usage.Context(), nil
}

// searched is how much of a transcript's end is searched for a call, which is in one of the last lines.
const searched = 1 << 20

// written reports whether a transcript has a tool call. It returns true for an unreadable transcript, so that
// nothing waits for it.
func written(path, toolUse string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	tail, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-searched), searched))
	return err != nil || bytes.Contains(tail, []byte(toolUse))
}
