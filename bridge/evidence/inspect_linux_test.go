package evidence

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const session = "11111111-1111-4111-8111-111111111111"

// repo is a repository on branch main, with one commit.
func (b *bench) repo() {
	b.t.Helper()
	b.t.Setenv("HOME", b.t.TempDir())
	b.git("init", "-q", "-b", "main")
	b.git("config", "user.name", "A")
	b.git("config", "user.email", "a@example.com")
	b.write("a.txt", "one\n")
	b.commit("first")
}

func (b *bench) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.cwd
	out, err := cmd.CombinedOutput()
	testkit.Need(b.t, err == nil, "git %v: %v\n%s", args, err, out)
	return strings.TrimSpace(string(out))
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.cwd, name)
	testkit.OK(b.t, os.MkdirAll(filepath.Dir(path), 0o755))
	testkit.OK(b.t, os.WriteFile(path, []byte(text), 0o644))
}

func (b *bench) commit(message string) {
	b.t.Helper()
	b.git("add", "-A")
	b.git("commit", "-q", "-m", message)
}

// state surveys the repository, checks that this changed nothing in it, and returns the state and what
// could not be read.
func (b *bench) state() (*bridge.GitState, []string) {
	b.t.Helper()
	before := tree(b.t, b.cwd)
	r := testkit.Must(b.Inspect(b.t.Context(), bridge.InspectParams{SessionID: session, CWD: b.cwd}))(b.t)
	testkit.Same(b.t, "the survey changed files", before, tree(b.t, b.cwd))
	testkit.Check(b.t, len(r.Problems) != 0 && strings.HasPrefix(r.Problems[0], "transcript: "),
		"there is no transcript, and it says %q", r.Problems)
	return r.Git, r.Problems[1:]
}

// tree returns all files below a directory, with size, mode and time.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	testkit.OK(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files[path] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime())
		}
		return err
	}))
	return files
}

func TestInspectRepository(t *testing.T) {
	b := newBench(t)
	b.repo()
	for i := range 12 {
		b.write("a.txt", fmt.Sprintf("%d\n", i))
		b.commit(fmt.Sprintf("change %d", i))
	}
	b.write("a.txt", "changed\n")
	b.write("dé/new.txt", "new\n")
	b.write(".git/index.lock", "") // another git may be running: its lock is neither waited for nor removed
	g, problems := b.state()
	testkit.Need(t, g != nil && len(problems) == 0, "%+v, %q", g, problems)
	testkit.Check(t, len(g.Commits) == maxCommits && strings.HasSuffix(g.Commits[0], " change 11") &&
		strings.HasPrefix(g.Head, strings.Fields(g.Commits[0])[0]), "head %s, commits %q", g.Head, g.Commits)
	g.Head, g.Commits = "", nil
	want := &bridge.GitState{Branch: "main", Status: []string{" M a.txt", "?? dé/"},
		Stat: " a.txt | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"}
	testkit.Same(t, "", want, g)
	testkit.OK(t, os.Remove(filepath.Join(b.cwd, ".git/index.lock")))
	b.git("checkout", "-q", "--detach")
	g, _ = b.state()
	testkit.Check(t, g.Branch == "" && g.Head != "", "with a detached head: %+v", g)
}

func TestInspectWithoutRepository(t *testing.T) {
	b := newBench(t)
	g, problems := b.state()
	testkit.Check(t, g == nil && len(problems) == 0, "%+v, %q", g, problems)
	b.cwd = filepath.Join(b.cwd, "gone")
	r, err := b.Inspect(t.Context(), bridge.InspectParams{SessionID: session, CWD: b.cwd})
	testkit.Check(t, err == nil && r.Git == nil && len(r.Problems) == 2 &&
		strings.Contains(r.Problems[1], "gone is not there"), "of a directory that has gone: %+v, %v", r, err)
}

func TestInspectEmptyAndBareRepositories(t *testing.T) {
	b := newBench(t)
	b.t.Setenv("HOME", b.t.TempDir())
	b.git("init", "-q", "-b", "main")
	b.write("a.txt", "one\n")
	g, problems := b.state()
	diff := cmp.Diff(&bridge.GitState{Branch: "main", Status: []string{"?? a.txt"}}, g)
	testkit.Check(t, diff == "" && len(problems) == 0, "before the first commit: %q, -want +got:\n%s", problems, diff)
	b = newBench(t)
	b.repo()
	source := b.cwd
	b.cwd = t.TempDir()
	b.git("clone", "-q", "--bare", source, ".")
	if g, problems := b.state(); g != nil || len(problems) > 0 { // an agent may have made it from files
		t.Errorf("bare: %+v, %q", g, problems)
	}
}

func TestInspectDuringMerge(t *testing.T) {
	b := newBench(t)
	b.repo()
	b.git("checkout", "-q", "-b", "other")
	b.write("a.txt", "theirs\n")
	b.commit("theirs")
	b.git("checkout", "-q", "main")
	b.write("a.txt", "ours\n")
	b.commit("ours")
	cmd := exec.Command("git", "merge", "-q", "other")
	cmd.Dir = b.cwd
	testkit.Need(t, cmd.Run() != nil, "the merge has no conflict")
	g, problems := b.state()
	testkit.Check(t, g != nil && g.Operation == "merge" && cmp.Equal(g.Status, []string{"UU a.txt"}) &&
		len(problems) == 0, "%+v, %q", g, problems)
}

func TestInspectIsBounded(t *testing.T) {
	b := newBench(t)
	b.repo()
	for i := range maxStatus + 50 {
		b.write(fmt.Sprintf("f%03d-%s", i, strings.Repeat("x", 60)), "1\n")
	}
	b.commit(strings.Repeat("a long message ", 100))
	for i := range maxStatus + 50 {
		b.write(fmt.Sprintf("f%03d-%s", i, strings.Repeat("x", 60)), "2\n")
	}
	g, problems := b.state()
	testkit.Check(t, len(g.Status) == maxStatus && len(g.Stat) <= maxStat && len(g.Commits[0]) <= maxLine+len("…"),
		"%d lines of status, %d bytes of stat, %d of a commit", len(g.Status), len(g.Stat), len(g.Commits[0]))
	testkit.Check(t, strings.HasSuffix(g.Stat, "250 files changed, 250 insertions(+), 250 deletions(-)"),
		"the sum is missing: %q", g.Stat[max(0, len(g.Stat)-100):])
	testkit.Same(t, "problems", []string{"git status: more than 200 lines"}, problems)
}

// fake replaces git by a script.
func (b *bench) fake(script string) {
	b.t.Helper()
	b.Collector.git = filepath.Join(b.t.TempDir(), "git")
	testkit.OK(b.t, os.WriteFile(b.Collector.git, []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

// TestGitThatDoesNotWork: what is wrong with git is reported, and with it what is known all the same. A call with more
// output than is kept is ended, as one whose caller gives up.
func TestGitThatDoesNotWork(t *testing.T) {
	b := newBench(t)
	b.repo()
	for _, c := range []struct {
		name, script string
		problems     []string
	}{
		{"complains", `echo "fatal: detected dubious ownership" >&2; exit 128`,
			[]string{"git rev-parse: fatal: detected dubious ownership"}},
		{"fails without a word", `exit 9`, []string{"git rev-parse: exit code 9"}},
		{"dies", `kill -9 $$`, []string{"git rev-parse: a signal ended it"}},
		{"prints endlessly", `case "$*" in *'status --porcelain'*) yes ' M a.txt';; esac`,
			[]string{"git status: more output than is kept", "git status: more than 200 lines"}},
	} {
		b.fake(c.script)
		g, problems := b.state()
		testkit.Same(t, "one that "+c.name, c.problems, problems)
		if len(c.problems) > 1 {
			testkit.Check(t, g != nil && len(g.Status) == maxStatus && g.Status[maxStatus-1] == " M a.txt", "%+v", g)
		} else {
			testkit.Check(t, g == nil, "one that %s: %+v", c.name, g)
		}
	}
	b.fake("echo > " + b.cwd + "/up; sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- testkit.Err(b.Inspect(ctx, bridge.InspectParams{SessionID: session, CWD: b.cwd})) }()
	b.up("up")
	cancel()
	testkit.Fails(t, "one that is cancelled", b.ended(over), ctx.Err())
	b.Collector.git = "no-such-git"
	g, problems := b.state()
	testkit.Check(t, g == nil && len(problems) == 1 && strings.Contains(problems[0], "executable file not found"),
		"one that is missing: %+v, %q", g, problems)
}

// Programs that a repository's configuration names are not run.
func TestRepositoryThatConfiguresPrograms(t *testing.T) {
	b := newBench(t)
	b.repo()
	b.write("trap", "#!/bin/sh\necho > "+b.cwd+"/sprung\nexit 0\n")
	testkit.OK(t, os.Chmod(filepath.Join(b.cwd, "trap"), 0o755))
	b.write(".gitattributes", "*.txt diff=trap\n")
	b.commit("trap")
	trap := filepath.Join(b.cwd, "trap")
	for _, key := range []string{"core.fsmonitor", "core.pager", "diff.external", "diff.trap.textconv",
		"diff.trap.command", "core.editor"} {
		b.git("config", key, trap)
	}
	b.git("config", "core.hooksPath", b.cwd)
	b.write("a.txt", "changed\n")
	g, problems := b.state()
	testkit.Check(t, g != nil && cmp.Equal(g.Status, []string{" M a.txt"}) && strings.Contains(g.Stat, "a.txt") &&
		len(problems) == 0, "%+v, %q", g, problems)
	testkit.Check(t, !b.there("sprung"), "it was run")
}

// The transcript is searched where the session's own environment says.
func TestInspectTranscript(t *testing.T) {
	b := newBench(t)
	t.Setenv("CLAUDE_CONFIG_DIR", b.t.TempDir())
	line := func(id, parent, kind, rest string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%s,"sessionId":%q,"timestamp":"2026-01-01T00:00:00Z","isSidechain":false,"message":%s}`+"\n",
			kind, id, parent, session, rest)
	}
	b.write("config/projects/-w/"+session+".jsonl",
		line("u1", "null", "user", `{"role":"user","content":"go"}`)+
			line("a1", `"u1"`, "assistant", `{"id":"m1","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"I test."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"go test"}}]}`)+
			line("u2", `"a1"`, "user", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"FAIL","is_error":true}]}`))
	r, err := b.Inspect(t.Context(),
		bridge.InspectParams{SessionID: session, CWD: b.cwd, Env: map[string]string{"CLAUDE_CONFIG_DIR": "config"}})
	want := bridge.InspectResult{Texts: []string{"I test."}, Files: []string{},
		Commands: []bridge.RanCommand{{Command: "go test", Outcome: "failed"}}}
	diff := cmp.Diff(want, r)
	testkit.Check(t, err == nil && diff == "", "%v, -want +got:\n%s", err, diff)
}

// TestInspectRunsNoPlantedProgram: neither a work tree that poses as a bare repository nor, where
// agents are in a sandbox, a configuration that an agent wrote makes git run a program outside of the
// sandbox.
func TestInspectRunsNoPlantedProgram(t *testing.T) {
	out := t.TempDir()
	ran := func(name string) bool {
		_, err := os.Stat(filepath.Join(out, name))
		return err == nil
	}
	plant := func(b *bench, config, name string) {
		b.write(".gitattributes", "* filter=x\n")
		b.write(config, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+b.cwd+
			"\n[filter \"x\"]\n\tclean = touch "+filepath.Join(out, name)+"; cat\n")
	}
	look := func(b *bench, p bridge.InspectParams) (problems []string) {
		p.SessionID, p.CWD = session, b.cwd
		for _, mark := range []bool{false, true} {
			p.Mark = mark
			r := testkit.Must(b.Inspect(t.Context(), p))(t)
			problems = append(problems, r.Problems...)
		}
		return problems
	}
	b := newBench(t)
	b.repo()
	for _, name := range []string{"HEAD", "config", "index", "objects", "refs"} {
		testkit.OK(t, os.Rename(filepath.Join(b.cwd, ".git", name), filepath.Join(b.cwd, name)))
	}
	plant(b, "config", "bare")
	b.write("a.txt", "two\n")
	look(b, bridge.InspectParams{})
	testkit.Check(t, !ran("bare"), "a work tree that poses as a bare repository had its filter run")
	b.git("status") // the trap works
	testkit.Check(t, ran("bare"), "nothing was planted")

	b = newBench(t)
	b.repo()
	b.write("a.txt", "two\n")
	plant(b, ".git/config", "filter")
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	problems := look(b, bridge.InspectParams{Sandbox: &bridge.SandboxConfig{Program: program},
		Env: map[string]string{"HOME": t.TempDir()}})
	testkit.Check(t, !slices.ContainsFunc(problems, func(s string) bool { return strings.HasPrefix(s, "git ") }),
		"inside, git did not work: %q", problems)
	testkit.Check(t, !ran("filter"), "a filter was run outside of the sandbox")
	b.git("status")
	testkit.Check(t, ran("filter"), "nothing was planted")
}
