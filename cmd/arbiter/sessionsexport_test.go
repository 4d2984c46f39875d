package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// carried is a play with work before the question, and after the answer by the same Orchestrator.
var carried = playOf(
	arbiter(append(summons("Keep the names"), on("The first name is kept", asksHuman("What shall the second be called?")),
		on("No human is present", asksHuman("What shall the second be called?")),
		on(`Call it (?P<name>\w+)`, rules("CONTINUE", "Keep {{.name}}.", "to", "orch-1")),
		on("The second name is kept", complete("Both names are kept."))), patience),
	orchestrator("keeper", "", []object{bash("echo dusk >> names.txt"), done("The first name is kept."),
		on(`Keep (?P<name>\w+)`, bash("echo {{.name}} >> names.txt")), done("The second name is kept.")},
		reports("report", "Waiting.", false)))

// elsewhere is a user with another home and another directory, and with nothing of an earlier run but its
// environment.
func (s *script) elsewhere(work string) *script {
	s.t.Helper()
	there := &script{t: s.t, cmd: exec.Command("arbiter")}
	private := func(v string) bool { return strings.HasPrefix(v, "HOME=") }
	there.cmd.Env = append(slices.DeleteFunc(slices.Clone(s.cmd.Env), private), "HOME="+s.t.TempDir())
	there.cmd.Dir = work
	return there
}

// TestARunContinuesElsewhere stops a run at a question, and answers it with another home and another directory:
// the same sessions continue, each message is delivered once, and the models' requests begin as before.
func TestARunContinuesElsewhere(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hiredIn(t, p, carried, t.TempDir(), "--no-input", "--allow", "Bash(*)", "--task", "Keep names")
		r := s.finish(contract.ExitNeedsInput)
		testkit.Check(t, r.Status == contract.StatusNeedsInput, "%+v", r)
		run := s.run()
		archive := filepath.Join(t.TempDir(), "run.tar.gz")
		s.output(0, "sessions", "export", run, "--output", archive)
		info, err := os.Stat(archive)
		testkit.Need(t, err == nil && info.Mode().Perm() == 0o600, "%v, %v", info, err)
		before := len(model.Requests())
		work := t.TempDir()
		write(t, "dusk\n", work, "names.txt")
		there := s.elsewhere(work)
		testkit.Same(t, "imported", run+"\n", stdoutOf(there.output(0, "sessions", "import", archive)))
		testkit.Includes(t, "imported twice", stderrOf(there.output(1, "sessions", "import", archive)), "exists already")
		n := there.again("--json", "--resume", "--no-input", "--task", "Call it dawn.")
		r = n.finish(contract.ExitComplete)
		testkit.Check(t, r.Session == run, "%+v", r)
		testkit.Same(t, "names.txt", "dusk\ndawn\n", textOf(t, filepath.Join(work, "names.txt")))
		for _, agent := range []string{"arbiter", "orch-1"} {
			first, second := s.spawns(agent), n.spawns(agent)
			testkit.Check(t, len(first) == 1 && len(second) == 1 && first[0].SessionID == second[0].SessionID &&
				second[0].Resumed, "%s: %+v, and then %+v", agent, first, second)
		}
		shown := besideJSON[subcommands.SessionReport](there, "sessions", "show", run)
		for _, m := range shown.Messages {
			testkit.Check(t, m.To == contract.Human || m.Status == "delivered" && m.Sent == 1, "message %+v", m)
		}
		l := shown.Ledger
		testkit.Check(t, l.Posted >= 6 && l.Seen == l.Posted && l.Resent+l.Swallowed+l.Returned == 0 &&
			len(shown.Damage) == 0, "%+v", shown)
		requests := model.Requests()
		for _, actor := range []string{"arbiter", "keeper"} {
			paths := strings.NewReplacer(append(s.places(), there.places()...)...)
			sameBeginning(t, actor, requests[:before], requests[before:], paths)
		}
		onScript(t, model)
		// The imported run can be exported again.
		again := filepath.Join(t.TempDir(), "again.tar.gz")
		there.output(0, "sessions", "export", "--output", again)
		testkit.Includes(t, "imported where it began", stderrOf(s.output(1, "sessions", "import", again)), "exists already")
		s.output(0, "sessions", "rm", run)
		s.output(0, "sessions", "import", again, "--cwd", work)
	})
}

// places returns the paths that are specific to a user's home and workspace, each followed by its placeholder.
func (s *script) places() []string {
	work := s.cmd.Dir
	if i := slices.Index(s.cmd.Args, "--cwd"); i >= 0 {
		work = s.cmd.Args[i+1]
	}
	project := func(dir string) string { return regexp.MustCompile(`[^A-Za-z0-9]`).ReplaceAllString(dir, "-") }
	return []string{work, "WORK", s.home(), "HOME", project(work), "PROJECT"}
}

// sameBeginning fails unless the first request of an actor after a move begins with the messages of its last
// request before. Differences in the places' paths are ignored.
func sameBeginning(t *testing.T, actor string, before, after []rehearsal.Request, paths *strings.Replacer) {
	t.Helper()
	by := func(r rehearsal.Request) bool { return r.Actor == actor }
	last, first := len(before)-1, slices.IndexFunc(after, by)
	for last >= 0 && !by(before[last]) {
		last--
	}
	testkit.Need(t, last >= 0 && first >= 0, "%s: no request before or after", actor)
	was, is := messagesOf(t, before[last]), messagesOf(t, after[first])
	testkit.Need(t, len(is) > len(was), "%s: %d messages, and %d before", actor, len(is), len(was))
	for i := range was {
		testkit.Check(t, was[i] == is[i], "%s: message %d was\n%.2000s\nand is\n%.2000s", actor, i, was[i], is[i])
	}
	testkit.Check(t, paths.Replace(before[last].System) == paths.Replace(after[first].System),
		"%s: the system prompt was\n%s\nand is\n%s", actor, before[last].System, after[first].System)
}

// messagesOf returns the messages of a request, with their texts in one form and without cache marks, which
// move.
func messagesOf(t *testing.T, r rehearsal.Request) []string {
	t.Helper()
	var list []any
	testkit.OK(t, json.Unmarshal(r.Messages, &list))
	var strip func(v any) any
	strip = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "cache_control")
			for name, x := range v {
				if text, ok := x.(string); ok && name == "content" {
					x = []any{map[string]any{"type": "text", "text": text}}
				}
				v[name] = strip(x)
			}
		case []any:
			for i, x := range v {
				v[i] = strip(x)
			}
		}
		return v
	}
	var messages []string
	for _, m := range list {
		b := testkit.Must(json.Marshal(strip(m)))(t)
		messages = append(messages, string(b))
	}
	return messages
}

// home returns the user's home directory.
func (s *script) home() string { return filepath.Dir(filepath.Dir(filepath.Dir(s.stateDir()))) }

// asked is a run of the stand-in that ended with a question, and its archive.
func asked(t *testing.T) (s *script, run, archive string) {
	t.Helper()
	return askedIn(t, t.TempDir())
}

// askedIn does the same in an existing workspace.
func askedIn(t *testing.T, work string) (s *script, run, archive string) {
	t.Helper()
	s, _ = hiredIn(t, player{name: "stand-in", args: []string{""}}, carried, work, "--no-input", "--allow", "Bash(*)",
		"--task", "Keep names")
	s.finish(contract.ExitNeedsInput)
	archive = filepath.Join(t.TempDir(), "run.tar.gz")
	s.output(0, "sessions", "export", s.run(), "--output", archive)
	return s, s.run(), archive
}

// noRuns checks that it sees no runs.
func (s *script) noRuns(when string) {
	s.t.Helper()
	testkit.Same(s.t, "runs "+when, "[]\n", stdoutOf(s.output(0, "sessions", "--json")))
}

// TestExportIsRefused: a run that another machine could not continue, or that is live, is not exported.
func TestExportIsRefused(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	refused := func(s *script, want int, why string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "run.tar.gz")
		testkit.Includes(t, "", stderrOf(s.output(want, "sessions", "export", s.run(), "--output", file)), why)
		testkit.Fails(t, "there is an archive", testkit.Err(os.Lstat(file)))
	}
	s := start(t, nil, "--json", "--stand-in", "--scenario", "dialogue", "--task", "Name it")
	await[contract.Question](s, "a question", nil)
	refused(s, 2, "still running")
	s.send(contract.Cancel{})
	s.gone()
	refused(s, 1, "rehearsal")
	repository := gittest.New(t, map[string]string{"kept.txt": "1\n"})
	clone := repository.Copy()
	s, _ = hiredIn(t, player{name: "stand-in", args: []string{""}}, carried, repository.Path, "--no-input",
		"--allow", "Bash(*)", "--task", "Keep names", "--isolation", "worktree")
	s.finish(contract.ExitNeedsInput)
	refused(s, 1, "arbiter land")
	n := s.again("--json", "--session", s.run(), "--no-input", "--task", "Call it dawn.")
	n.finish(contract.ExitComplete) // its directories are removed, and its work is on the run branch
	archive := filepath.Join(t.TempDir(), "run.tar.gz")
	s.output(0, "sessions", "export", s.run(), "--output", archive)
	there := s.elsewhere(clone.Path)
	there.output(0, "sessions", "import", archive)
	there.output(0, "land", "--include", "names.txt", s.run()) // only a command created it
	testkit.Same(t, "names.txt", "dusk\ndawn\n", textOf(t, filepath.Join(clone.Path, "names.txt")))
}

// TestImportOfFiles: another clone gets the run's changed files, diffs work there, and no file of the user is
// overwritten.
func TestImportOfFiles(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repository := gittest.New(t, map[string]string{"kept.txt": "1\n"})
	clone, mine, other := repository.Copy(), repository.Copy(), gittest.New(t, map[string]string{"x": "1\n"})
	_, run, archive := askedIn(t, repository.Path)
	s, _, _ := asked(t) // for its environment
	refused := func(dir, why string) *script {
		t.Helper()
		there := s.elsewhere(dir)
		testkit.Includes(t, "", stderrOf(there.output(1, "sessions", "import", archive)), why)
		there.noRuns("after a refusal")
		return there
	}
	mine.Write("names.txt", "mine\n")
	refused(mine.Path, "names.txt (it was modified since)").output(0, "sessions", "import", archive, "--no-files")
	testkit.Includes(t, "names.txt", mine.Files()["names.txt"], "mine")
	refused(other.Path, "has no commit")
	refused(t.TempDir(), "no Git work tree")
	there := s.elsewhere(clone.Path)
	there.output(0, "sessions", "import", archive)
	out, _ := there.output(0, "diff", run, "--name-only")
	testkit.Check(t, strings.TrimSpace(out) == "names.txt", "the run changed %q", out)
	testkit.Includes(t, "status", clone.Git("status", "--porcelain"), "?? names.txt")
}

// TestImportIsRefused: a refused import changes nothing and says why.
func TestImportIsRefused(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s, run, archive := asked(t)
	there := s.elsewhere(t.TempDir())
	whole := testkit.Must(os.ReadFile(archive))(t)
	damaged := filepath.Join(t.TempDir(), "damaged.tar.gz")
	refused := func(want int, why string, args ...string) {
		t.Helper()
		_, errs := there.output(want, append([]string{"sessions", "import"}, args...)...)
		testkit.Includes(t, "", errs, why)
		there.noRuns("after a refusal")
	}
	for _, n := range []int{0, 5, len(whole) / 2, len(whole) - 1} {
		testkit.OK(t, os.WriteFile(damaged, whole[:n], 0o600))
		refused(1, "it is cut off; nothing was imported", damaged)
	}
	refused(2, "cannot read missing.tar.gz", "missing.tar.gz")
	refused(2, "give one FILE", archive, archive)
	refused(2, "--cwd", archive, "--cwd", "missing")
	// A session that has continued elsewhere is not overwritten.
	from := filepath.Join(s.home(), ".claude", "projects")
	found, err := filepath.Glob(filepath.Join(from, "*", "*.jsonl"))
	testkit.Need(t, err == nil && len(found) == 2, "%v, %v", found, err)
	at := filepath.Join(there.home(), ".claude", "projects", "-other")
	write(t, "another\n", at, filepath.Base(found[0]))
	refused(1, "continued there", archive)
	got, err := os.ReadFile(filepath.Join(at, filepath.Base(found[0])))
	testkit.Check(t, err == nil && string(got) == "another\n", "%q, %v", got, err)
	testkit.OK(t, os.RemoveAll(at))
	testkit.Same(t, "on stdout it is another archive", string(whole),
		stdoutOf(s.output(0, "sessions", "export", run, "--output", "-")))
	there.output(0, "sessions", "import", archive)
	testkit.Includes(t, "exported without its transcripts", stderrOf(there.output(1, "sessions", "export", run)),
		"use the archive")
}
