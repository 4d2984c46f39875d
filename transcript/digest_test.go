package transcript

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// done adds a tool call and its result.
func (s *scribe) done(id, name string, input m, isError bool) {
	s.assistant("tool_use", use(id, name, input))
	s.result(id, isError)
}

func digest(t *testing.T, path string, limits DigestLimits) Digest {
	t.Helper()
	d := testkit.Must(ReadDigest(context.Background(), path, limits))(t)
	for i := range d.Commands {
		d.Commands[i].Timestamp = ""
	}
	return d
}

// subagent writes a subagent's transcript for a session.
func subagent(t *testing.T, path, name, content string) string {
	t.Helper()
	file := filepath.Join(Beside(path), "subagents", name)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.OK(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

func TestDigest(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.assistant("tool_use", text("I begin.\n"))
	s.done("t1", "Write", m{"file_path": "/w/a", "content": "x"}, false)
	s.done("t2", "Edit", m{"file_path": "/w/b"}, false)
	s.done("t3", "Edit", m{"file_path": "/w/refused"}, true)
	s.done("t4", "MultiEdit", m{"file_path": "/w/c"}, false)
	s.done("t5", "NotebookEdit", m{"notebook_path": "/w/d.ipynb"}, false)
	s.done("t6", "Read", m{"file_path": "/w/read"}, false)
	s.done("t7", "Bash", m{"command": "make"}, true)
	s.done("t8", "Write", m{"file_path": "/w/a"}, false) // again
	s.own("API Error: 500", true)
	s.own("No response requested.", false)
	s.line(m{"type": "assistant", "isApiErrorMessage": true,
		"message": m{"id": "e", "model": "opus", "content": []m{text("an error")}}})
	s.line(m{"type": "assistant", "isApiErrorMessage": "no",
		"message": m{"id": "o", "model": "opus", "content": []m{text("Odd, and said.")}}})
	s.assistant("tool_use", text("  "), text("I go on."), use("t9", "Bash", m{"command": 7}),
		use("t10", "Write", m{"file_path": strings.Repeat("p", 5000)}))
	s.assistant("tool_use", use("t11", "Bash", m{"command": "make test"}))
	s.line(m{"type": "user",
		"message": m{"role": "user", "content": []m{{"type": "tool_result", "tool_use_id": "t11", "is_error": true,
			"content": []m{text("[Tool call interrupted: the session ended before …")}}}}})
	s.done("t12", "Bash", m{"command": "make ok"}, false)
	s.assistant("tool_use", use("t13", "Write", m{"file_path": "/w/pending"}), use("t14", "Bash", m{"command": "sleep"}))
	s.lines = append(s.lines, "garbage", `{"type":"assistant","uuid":"f","sessionId":"else","message":{"content":[{"type":"text","text":"foreign"}]}}`)
	path := inFile(t, s.String())
	want := Digest{
		Texts: []string{"I begin.", "Odd, and said.", "I go on."},
		Files: []string{"/w/b", "/w/c", "/w/d.ipynb", "/w/a"},
		Commands: []Command{{Command: "make", Outcome: OutcomeFailed}, {Command: "make test", Outcome: OutcomeUnknown},
			{Command: "make ok", Outcome: OutcomeDone}, {Command: "sleep", Outcome: OutcomeUnknown}},
		Problems: []string{"1 damaged lines in the transcript"},
	}
	testkit.Same(t, "", want, digest(t, path, DigestLimits{}))
}

// Texts and files of a branch that a resume does not remember are left out, and each of two parallel tools has
// its result.
func TestDigestBranch(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	fork := s.assistant("end_turn", text("one"))
	s.prompt("B")
	s.assistant("end_turn", text("abandoned"))
	s.done("t0", "Write", m{"file_path": "/w/abandoned"}, false)
	s.leaf = fork
	s.prompt("C")
	call := s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "content": []m{use("t1", "Bash", m{"command": "one"})}}})
	s.line(m{"type": "assistant",
		"message": m{"id": "msg_x", "content": []m{use("t2", "Write", m{"file_path": "/w/side"})}}})
	s.result("t2", false)
	s.leaf = call
	s.result("t1", false)
	s.assistant("end_turn", text("two"))
	s.lines = append(s.lines, s.lines[len(s.lines)-1]) // the same line twice
	want := Digest{Texts: []string{"one", "two"}, Files: []string{"/w/side"},
		Commands: []Command{{Command: "one", Outcome: OutcomeDone}}}
	testkit.Same(t, "", want, digest(t, inFile(t, s.String()), DigestLimits{}))
}

func TestDigestSubagents(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	s.done("t1", "Bash", m{"command": "first"}, false)
	inner := &scribe{n: s.n, leaf: ""}
	inner.done("s1", "Bash", m{"command": "second"}, false)
	inner.done("s2", "Write", m{"file_path": "/w/sub"}, false)
	inner.done("s3", "Write", m{"file_path": "/w/both"}, false)
	inner.assistant("end_turn", text("a subagent's words"))
	s.n = inner.n
	s.done("t2", "Bash", m{"command": "third"}, true)
	s.done("t3", "Write", m{"file_path": "/w/both"}, false)
	s.line(m{"type": "assistant", "isSidechain": true,
		"message": m{"id": "i", "content": []m{use("i1", "Bash", m{"command": "inline"})}}})
	path := inFile(t, s.String())
	side := strings.ReplaceAll(inner.String(), `{"parentUuid"`, `{"isSidechain":true,"agentId":"a1","parentUuid"`)
	subagent(t, path, "agent-a1.jsonl", side+"garbage\n")
	subagent(t, path, "agent-a1.meta.json", "{}")
	subagent(t, path, "other.jsonl", side)
	subagent(t, path, "agent-foreign.jsonl", strings.ReplaceAll(side, session, "else"))
	testkit.OK(t, os.Symlink("/dev/zero", filepath.Join(Beside(path), "subagents", "agent-link.jsonl")))
	got := digest(t, path, DigestLimits{})
	if len(got.Problems) != 2 ||
		!strings.Contains(strings.Join(got.Problems, "\n"), "1 damaged lines in agent-a1.jsonl") ||
		!strings.Contains(strings.Join(got.Problems, "\n"), "agent-link.jsonl: ") {
		t.Errorf("problems: %q", got.Problems)
	}
	got.Problems = nil
	want := Digest{
		Files: []string{"/w/sub", "/w/both"},
		Commands: []Command{{Command: "first", Outcome: OutcomeDone},
			{Command: "second", Outcome: OutcomeDone, Subagent: true},
			{Command: "third", Outcome: OutcomeFailed}, {Command: "inline", Outcome: OutcomeUnknown, Subagent: true}},
	}
	testkit.Same(t, "", want, got)
}

func TestDigestBounds(t *testing.T) {
	s := &scribe{}
	s.prompt("A")
	for i := range 50 {
		s.assistant("tool_use", text(fmt.Sprintf("text %d %s", i, strings.Repeat("ö", 100))))
		s.done(fmt.Sprintf("w%d", i), "Write", m{"file_path": fmt.Sprintf("/w/%d", i)}, false)
		s.done(fmt.Sprintf("b%d", i), "Bash", m{"command": fmt.Sprintf("run %d %s", i, strings.Repeat("x", 100))},
			false)
	}
	for i := range 2 * maxWaiting { // never answered
		s.assistant("tool_use", use(fmt.Sprintf("p%d", i), "Write", m{"file_path": "/w/pending"}))
	}
	path := inFile(t, s.String())
	older := time.Now().Add(-time.Hour)
	for i := range 5 {
		file := subagent(t, path, fmt.Sprintf("agent-%d.jsonl", i), "")
		testkit.OK(t, os.Chtimes(file, older, older.Add(time.Duration(i)*time.Second)))
	}
	got := digest(t, path, DigestLimits{Texts: 2, TextBytes: 16, Files: 3, Commands: 2, Subagents: 4})
	want := Digest{Texts: []string{"text 48 öö…", "text 49 öö…"}, Files: []string{"/w/47", "/w/48", "/w/49"},
		Commands: []Command{{Command: "run 48 xxxxxx…", Outcome: OutcomeDone},
			{Command: "run 49 xxxxxx…", Outcome: OutcomeDone}},
		Problems: []string{"1 older subagents' transcripts not read"}}
	testkit.Same(t, "", want, got)
}

func TestDigestUnreadable(t *testing.T) {
	if _, err := ReadDigest(context.Background(), filepath.Join(t.TempDir(), session+extension),
		DigestLimits{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	given, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ReadDigest(given, inFile(t, plain().String()), DigestLimits{}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}
