package evidence

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func (b *bench) mark() *bridge.InspectMark {
	b.t.Helper()
	r, err := b.Inspect(b.t.Context(),
		bridge.InspectParams{SessionID: session, CWD: b.cwd, Mark: true,
			Env: map[string]string{"HOME": os.Getenv("HOME")}})
	testkit.Need(b.t, err == nil && r.Mark != nil && len(r.Problems) == 0, "mark: %+v, %v", r, err)
	return r.Mark
}

func (b *bench) since(m *bridge.InspectMark) (*bridge.Changes, []string) {
	b.t.Helper()
	r, err := b.Inspect(b.t.Context(),
		bridge.InspectParams{SessionID: session, CWD: b.cwd, Since: m,
			Env: map[string]string{"HOME": os.Getenv("HOME")}})
	testkit.Need(b.t, err == nil && r.Changes != nil, "since: %+v, %v", r, err)
	return r.Changes, r.Problems
}

// writeTranscript appends to the session's transcript.
func (b *bench) writeTranscript(lines ...string) {
	b.t.Helper()
	dir := filepath.Join(os.Getenv("HOME"), ".claude", "projects", "p")
	testkit.OK(b.t, os.MkdirAll(dir, 0o755))
	f := testkit.Must(os.OpenFile(filepath.Join(dir, session+".jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(b.t)
	defer f.Close()
	for i, line := range lines {
		fmt.Fprintf(f, `{"uuid":"u-%d-%d","sessionId":%q,"timestamp":"2027-01-01T00:00:00.000Z",%s}`+"\n", os.Getpid(),
			i, session, line)
	}
}

func typedLine(source, text string) string {
	return fmt.Sprintf(`"type":"user","promptSource":%q,"message":{"role":"user","content":%q}`, source, text)
}

// TestChangesSinceMark reports exactly what has changed, whatever was dirty before.
func TestChangesSinceMark(t *testing.T) {
	b := newBench(t)
	b.repo()
	b.write("sub/same.txt", "s\n")
	b.write("dirty.txt", "d\n")
	b.write("gone.txt", "g\n")
	b.commit("second")
	b.write("dirty.txt", "changed before\n")
	b.write("untracked.txt", "there before\n")
	b.write("restored.txt", "there before\n")
	b.writeTranscript(typedLine("sdk", "an earlier word"), typedLine("typed", "an earlier takeover"))
	m := b.mark()

	quiet, problems := b.since(m)
	diff := cmp.Diff(&bridge.Changes{Typed: []string{}, Texts: []string{}, Tools: []bridge.ToolCount{},
		Files: []string{}}, quiet)
	testkit.Need(t, diff == "" && problems == nil, "nothing happened: %s %v", diff, problems)

	b.write("a.txt", "two\n")
	b.write("new ä.txt", "n\n")
	b.write("untracked.txt", "changed\n")
	testkit.OK(t, os.Remove(filepath.Join(b.cwd, "gone.txt")))
	b.write("committed.txt", "c\n")
	b.git("add", "committed.txt", "dirty.txt")
	b.git("commit", "-q", "-m", "third")
	b.writeTranscript(typedLine("typed", "use port 9090"), typedLine("typed", "<command-name>/exit</command-name>"),
		typedLine("sdk", "not typed"), `"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"text","text":"Done."},{"type":"tool_use","id":"t","name":"Write","input":{"file_path":"/elsewhere/x.go"}}]}`,
		`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}`)
	c, problems := b.since(m)
	want := &bridge.Changes{Words: 1, Typed: []string{"use port 9090"}, Texts: []string{"Done."},
		Tools: []bridge.ToolCount{{Tool: "Write", Count: 1}},
		Files: []string{"/elsewhere/x.go", "a.txt", "committed.txt", "gone.txt", "new ä.txt", "untracked.txt"}}
	commits := c.Commits
	c.Commits = nil
	if diff := cmp.Diff(want, c); diff != "" || len(commits) != 1 || problems != nil {
		t.Errorf("-want +got:\n%s%v %v", diff, commits, problems)
	}

	b.git("reset", "-q", "--hard", "HEAD~2")
	c, _ = b.since(m)
	testkit.Check(t, c.Moved, "HEAD went back: %+v", c)
}

// TestChangesSinceMarkWithoutGit: without git, the transcript alone shows the changes.
func TestChangesSinceMarkWithoutGit(t *testing.T) {
	b := newBench(t)
	t.Setenv("HOME", t.TempDir())
	b.writeTranscript(typedLine("sdk", "hi"))
	m := b.mark()
	testkit.Check(t, !m.Git && m.Transcript != 0 && m.AtMS != 0, "%+v", m)
	b.writeTranscript(fmt.Sprintf(`"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"tool_use","id":"t","name":"Edit","input":{"file_path":%q}}]}`, filepath.Join(b.cwd, "x.go")),
		`"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}`)
	c, problems := b.since(m)
	testkit.Check(t, cmp.Equal(c.Files, []string{"x.go"}) && problems == nil && c.Words == 0, "%+v %v", c, problems)
}

// TestMarkIsBounded, and reports that it was cut.
func TestMarkIsBounded(t *testing.T) {
	b := newBench(t)
	b.repo()
	for i := range bridge.MarkFiles + 1 {
		b.write(fmt.Sprintf("many/%d", i), "x")
	}
	b.writeTranscript(typedLine("sdk", "hi"))
	m := b.mark()
	testkit.Check(t, len(m.Dirty) == bridge.MarkFiles && m.Partial, "%d files, partial %v", len(m.Dirty), m.Partial)
	b.write(m.Dirty[0].Path, "y")
	c, problems := b.since(m)
	testkit.Check(t, cmp.Equal(c.Files, []string{m.Dirty[0].Path}) && len(problems) != 0, "%+v %v", c.Files, problems)
}

// TestSumOfWhatIsReplaced: a pipe that takes the place of a file between two looks is not waited for.
func TestSumOfWhatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path, file, pipe := filepath.Join(dir, "path"), filepath.Join(dir, "file"), filepath.Join(dir, "pipe")
	testkit.OK(t, os.WriteFile(file, []byte("x"), 0o600), syscall.Mkfifo(pipe, 0o600), os.Link(file, path))
	summed, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(summed)
		for range 5000 {
			sumOf(path)
		}
	}()
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-summed:
				return
			case <-t.Context().Done():
				return
			default:
				temp := filepath.Join(dir, "temp")
				_ = os.Remove(temp) // two names of one file are left by a rename
				_ = os.Link([]string{file, pipe}[i%2], temp)
				_ = os.Rename(temp, path)
			}
		}
	}()
	select {
	case <-summed:
	case <-time.After(time.Minute):
		t.Fatal("it waits for a pipe")
	}
	<-ended
}
