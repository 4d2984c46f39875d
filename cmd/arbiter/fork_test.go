package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// twoSteps is a play in which one Orchestrator writes a file and hands off, and another finishes.
var twoSteps = playOf(
	arbiter(slices.Concat(summons("Weave part one"),
		[]object{on("part one is woven", spawns("Weave part two")), patience,
			on("part two is woven", complete("The cloth is woven."))})),
	orchestrator("one", "Weave part one", weaves("one")), orchestrator("two", "Weave part two", weaves("two")))

// weaves are the steps of an Orchestrator that writes a file, lists it, and proves it.
func weaves(part string) []object {
	file := part + ".txt"
	return []object{writes(file, part+"\n"), listing(done("The part "+part+" is woven.",
		check("grep -q "+part+" "+file, "exit 0")), file)}
}

// forkPlays are the runs that are forked. files are those of the run branch just before a decision.
var forkPlays = []struct {
	name  string
	play  func(t *testing.T) string
	args  []string
	kill  bool // arbiter is killed in the middle, and the run is resumed
	files map[int][]string
	long  bool
}{
	{"shared", func(*testing.T) string { return twoSteps }, nil, false, twoStepsFiles, false},
	{"worktree", func(*testing.T) string { return twoSteps }, []string{"--isolation", "worktree"}, false, twoStepsFiles,
		true},
	{"crash", func(*testing.T) string { return twoSteps }, nil, true, twoStepsFiles, true},
	{"four hands", func(t *testing.T) string { return fourHands(t.TempDir()) },
		[]string{"--isolation", "worktree"}, false, nil, true},
	{"clones", func(t *testing.T) string { return fourHands(t.TempDir()) },
		[]string{"--isolation", "clone"}, false, nil, true},
	{"hand-offs and renewals", func(t *testing.T) string {
		return string(testkit.Must(rehearsal.BuiltinSource("generations"))(t))
	}, nil, false, nil, true},
}

var twoStepsFiles = map[int][]string{1: {"old.txt", "shared.txt"}, 2: {"old.txt", "one.txt", "shared.txt"},
	3: {"old.txt", "one.txt", "shared.txt", "two.txt"}}

// TestForkAtEveryDecision forks runs at each of their decisions: each fork has the files and messages of that moment
// and runs to the same end, even if it is killed at once, and nothing of the run that is forked changes.
func TestForkAtEveryDecision(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		for _, c := range forkPlays {
			t.Run(p.name+"/"+c.name, func(t *testing.T) {
				if p.real || c.long {
					testkit.Long(t)
				}
				t.Parallel()
				repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
				s, model := hiredIn(t, p, c.play(t), repo.Path, append(c.args, "--allow", "Bash", "--allow", "Write",
					"--allow", "Edit", "--no-input", "--task", "Weave")...)
				run := s.run0()
				if c.kill {
					await[contract.Handoff](s, "a document", nil)
					s.killed()
					awaitGone(t, run)
					again := s.again("--json", "--no-input", "--resume", "--session", run)
					again.finish(contract.ExitComplete)
				} else {
					s.finish(contract.ExitComplete)
				}
				f := forks{s, repo, model, run}
				last := f.last()
				testkit.Check(t, c.files == nil || last == len(c.files), "%d decisions, want %d", last, len(c.files))
				for n := 1; n <= last; n++ {
					if n != 2 || testkit.AtNight() {
						f.at(n, c.files[n])
					}
				}
				f.wrong(last)
				onScript(t, model)
			})
		}
	}
}

// TestForkKilled kills a fork at each of its steps: the run that is forked is untouched, nothing of the fork is visible
// or it can be resumed to its end, and forking again works.
func TestForkKilled(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	bin := crashingArbiter(t)
	p := players(t)[0]
	repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
	play := fourHands(t.TempDir())
	s, model := hiredIn(t, p, play, repo.Path, "--isolation", "worktree", "--allow", "Bash", "--allow", "Write",
		"--allow", "Edit", "--no-input", "--task", "Weave")
	s.finish(contract.ExitComplete)
	f := forks{s, repo, model, s.run()}
	before, n := f.bytes(), f.last()-2
	for _, at := range []string{"journal.meta.write.before", "journal.meta.rename.before", "journal.segment.write.before",
		"journal.segment.rename.before", "journal.segment.syncdir.after", "journal.meta.syncdir.after", "fork.copied",
		"fork.staged", "fork.committed", "resume.locked", "resume.replayed", "fork.place:1", "fork.place:3", "fork.placed",
		"loop.append"} {
		t.Run(at, func(t *testing.T) { f.killedAt(t, bin, at, n, before) })
	}
	f.again("fork", f.run, "--at", fmt.Sprint(n), "--json", "--no-input").finish(contract.ExitComplete)
	f.wrong(f.last())
}

// killedAt kills a fork at a step, and resumes what is visible of it.
func (f forks) killedAt(t *testing.T, bin, at string, n int, before map[string]string) {
	log := filepath.Join(t.TempDir(), "crashes")
	k := &script{t: t, change: make(chan struct{}, 1), ended: make(chan struct{})}
	k.cmd = exec.Command(bin, "fork", f.run, "--at", fmt.Sprint(n), "--json", "--no-input")
	k.cmd.Env = append(slices.Clone(f.cmd.Env), "ARBITER_CRASH_AT=arbiter/"+at, "ARBITER_CRASH_LOG="+log)
	k.cmd.Dir, k.cmd.WaitDelay, k.cmd.Stderr = f.cmd.Dir, waitTimeout, &k.stderr
	k.launch()
	k.gone()
	raw, _ := os.ReadFile(log)
	testkit.Need(t, strings.Contains(string(raw), "died"), "it was not reached: %s", k.stderr.String())
	testkit.Same(t, "the run was changed", before, f.bytes())
	for _, r := range besideJSON[[]struct {
		Run        string
		ForkedFrom *contract.Fork `json:"forked_from"`
	}](f.script, "sessions") {
		if r.ForkedFrom == nil {
			continue
		}
		awaitGone(t, r.Run)
		f.again("--json", "--no-input", "--resume", "--session", r.Run).finish(contract.ExitComplete)
		f.output(0, "sessions", "rm", r.Run)
	}
	testkit.Same(t, "resumed, the run was changed", before, f.bytes())
}

// run0 waits for the id of the run.
func (s *script) run0() string { return await[contract.Session](s, "the session", nil).Session }

// forks forks a run that is over.
type forks struct {
	*script
	repo  gittest.Dir
	model *rehearsal.Server
	run   string
}

// last is the number of its last decision.
func (f forks) last() int {
	list := besideJSON[[]struct{ Number int }](f.script, "decide", "--explain", f.run)
	return list[len(list)-1].Number
}

// at forks the run, kills the fork as soon as it has begun, and resumes it.
func (f forks) at(n int, files []string) {
	t := f.t
	before, asked := f.bytes(), len(f.model.Requests())
	s := f.again("fork", f.run, "--at", fmt.Sprint(n), "--json", "--no-input")
	fork := s.run0()
	if files != nil {
		s.killed()
		awaitGone(t, fork)
		names := strings.Fields(f.repo.Git("ls-tree", "-r", "--name-only", "arbiter/"+fork[:8]+"/main"))
		testkit.Same(t, fmt.Sprintf("at %d, it began with the files", n), files, names)
		s = f.again("--json", "--no-input", "--resume", "--session", fork)
	}
	s.finish(contract.ExitComplete)
	from := collect[contract.Session](s)[0].ForkedFrom
	testkit.Check(t, from != nil && from.Run == f.run && from.At == n, "at %d, it branched off from %+v", n, from)
	testkit.Same(t, fmt.Sprintf("at %d, the run was changed", n), before, f.bytes())
	f.sameEvents(fork, n)
	f.sameMessages(fork, n, asked)
	ours, _ := f.output(0, "diff", fork, "--name-only")
	testkit.Same(t, fmt.Sprintf("at %d, the fork changed", n), ours, stdoutOf(f.output(0, "diff", f.run, "--name-only")))
}

// bytes are all that belongs to the run: its directory, the transcripts of its sessions, its references, and
// the files, index and HEAD of the workspace.
func (f forks) bytes() map[string]string {
	t, all := f.t, map[string]string{}
	maps.Copy(all, filesBelow(t, filepath.Join(f.stateDir(), "runs", f.run)))
	log, _ := f.output(0, "replay", f.run)
	ids := regexp.MustCompile(`"session_id":"([^"]*)"`).FindAllStringSubmatch(log, -1)
	for path, text := range filesBelow(t, filepath.Join(f.home(), ".claude", "projects")) {
		if slices.ContainsFunc(ids, func(id []string) bool { return strings.Contains(path, id[1]) }) {
			all[path] = text
		}
	}
	testkit.Check(t, len(all) >= 5, "the run has only %v", slices.Collect(maps.Keys(all)))
	for line := range strings.Lines(f.repo.Git("for-each-ref", "--format=%(refname) %(objectname)")) {
		if name, id, _ := strings.Cut(strings.TrimSpace(line), " "); !strings.Contains(name, "arbiter/") ||
			strings.Contains(name, f.run[:8]) {
			all[name] = id
		}
	}
	for name, text := range f.repo.Files() {
		all["workspace "+name] = text
	}
	all["HEAD"] = f.repo.Git("rev-parse", "HEAD") + f.repo.Git("status", "--porcelain")
	return all
}

var idOrTime = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{8}\b|` +
	`"time":"[^"]*"`)

// sameEvents checks that the fork tells the same up to the decision, except for ids and times.
func (f forks) sameEvents(fork string, n int) {
	f.t.Helper()
	want, _ := f.output(0, "replay", f.run)
	got, _ := f.output(0, "replay", fork)
	theirs, ours := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	copied := slices.IndexFunc(ours, func(line string) bool { return strings.Contains(line, `"forked_from":`) })
	testkit.Need(f.t, copied > 0, "at %d, the fork has copied %d events", n, copied)
	decided := 0
	for i, line := range ours[:copied] {
		if a, b := idOrTime.ReplaceAllString(theirs[i], "-"), idOrTime.ReplaceAllString(line, "-"); a != b {
			f.t.Errorf("at %d, event %d is\n%swant\n%s", n, i, b, a)
			return
		}
		if contract.EventNameOf([]byte(line)) == "decision" {
			decided++
		}
	}
	testkit.Same(f.t, fmt.Sprintf("at %d, the fork has copied decisions", n), n-1, decided)
}

// sameMessages checks that the first request of the fork's Arbiter is the one that the run has made, except for ids,
// times and directories.
func (f forks) sameMessages(fork string, n, asked int) {
	plain := func(r rehearsal.Request) string {
		var list []struct{ Content json.RawMessage }
		testkit.OK(f.t, json.Unmarshal(r.Messages, &list))
		var all strings.Builder
		add := func(text string) { // of Arbiter, except for figures: the CLI adds what it says about the directory
			if strings.HasPrefix(text, "⟦") {
				text, _, _ = strings.Cut(text, "| where the task stands |")
				all.WriteString(text)
			}
		}
		for _, m := range list {
			var text string
			var parts []struct {
				Text, Name string
				Input      any
			}
			switch {
			case json.Unmarshal(m.Content, &text) == nil:
				add(text)
			case json.Unmarshal(m.Content, &parts) != nil:
				f.t.Errorf("content %s", m.Content)
			}
			for _, part := range parts {
				add(part.Text)
				if part.Name != "" {
					fmt.Fprintln(&all, part.Name, part.Input)
				}
			}
		}
		text := all.String()
		for _, dir := range []string{filepath.Join(f.stateDir(), "runs", f.run, "work", "arbiter"),
			filepath.Join(f.stateDir(), "runs", fork, "work", "arbiter"), f.repo.Path} {
			text = strings.ReplaceAll(text, dir, "DIR")
		}
		return idOrTime.ReplaceAllString(text, "-")
	}
	var first string
	var theirs []string
	for i, r := range f.model.Requests() {
		switch {
		case r.Role != rehearsal.RoleArbiter || len(r.Messages) == 0:
		case i < asked:
			theirs = append(theirs, plain(r))
		case first == "":
			first = plain(r)
		}
	}
	if slices.Contains(theirs, first) {
		return
	}
	near := slices.MaxFunc(theirs, func(a, b string) int { return common(a, first) - common(b, first) })
	at := common(near, first)
	f.t.Errorf("at %d, the Arbiter of the fork reads something else at byte %d of %d: …%.600s…, want …%.600s…", n, at,
		len(first), first[max(at-100, 0):], near[max(at-100, 0):])
}

// common is the length of the beginning that two texts share.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// wrong checks what is refused.
func (f forks) wrong(last int) {
	for _, n := range []int{0, -1, last + 1} {
		_, errs := f.output(1, "fork", f.run, "--at", fmt.Sprint(n), "--json")
		want := fmt.Sprintf("--at can be 1 to %d", last)
		testkit.Check(f.t, strings.Contains(errs, want), "%q lacks %q", errs, want)
	}
	testkit.Empty(f.t, "left behind", testkit.Must(filepath.Glob(filepath.Join(f.stateDir(), "runs", ".*")))(f.t))
}

// TestIsolationIsKept: an isolated run whose repository cannot be used at one resume does not continue in the user's
// files at the next.
func TestIsolationIsKept(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, model := hiredIn(t, players(t)[0], asksOnce, repo.Path, "--isolation", "worktree", "--task", "Name it")
	await[contract.Question](s, "a question", nil)
	_ = s.cmd.Process.Signal(os.Interrupt)
	s.gone()
	git := filepath.Join(repo.Path, ".git")
	testkit.OK(t, os.Rename(git, git+".away"))
	s.again("--json", "--resume", "--session", s.run()).finish(contract.ExitEnvironment)
	testkit.OK(t, os.Rename(git+".away", git))
	n := s.again("--json", "--resume", "--session", s.run())
	await[contract.Question](n, "the question again", nil)
	n.send(contract.Say{Text: "Ada"})
	n.finish(contract.ExitComplete)
	all := model.Requests()
	last := all[len(all)-1]
	testkit.Check(t, strings.HasSuffix(last.Cwd, filepath.Join("work", "arbiter")), "the Arbiter works in %q", last.Cwd)
}

// asksOnce is a play in which the Arbiter asks the human, and then completes.
var asksOnce = playOf(arbiter([]object{asksHuman("Which name?"),
	on("from. human", complete("It has a name.")), complete("It has a name.")}))

// TestForkOfALiveRun forks a run that waits for its human: the fork asks, too, and both go on. Without Git the fork
// works in the same directory, if that is said.
func TestForkOfALiveRun(t *testing.T) {
	t.Parallel()
	p := players(t)[0]
	s, model := hiredIn(t, p, asksOnce, t.TempDir(), "--task", "Name it")
	await[contract.Question](s, "a question", nil)
	run := s.run()
	testkit.Includes(t, "", stderrOf(s.output(1, "fork", run, "--at", "1", "--json")), "without Git")
	testkit.Includes(t, "", stderrOf(s.output(2, "fork", run, "--at", "1", "--times", "2", "--isolation", "shared")),
		"exclude each other")
	testkit.Includes(t, "", stderrOf(s.output(2, "fork", run, "--at", "1", "--", "--json")), "--json cannot be given here")
	fork := s.again("fork", run, "--at", "1", "--isolation", "shared", "--json", "--", "--share-workspace", "--max-cost",
		"50")
	await[contract.Question](fork, "the question", nil)
	testkit.Includes(t, "", stdoutOf(s.output(0, "status", fork.run())), "before decision 1")
	out, _ := s.output(0, "fork", run, "--at", "1", "--isolation", "shared", "--task", "Quickly", "--detach", "--",
		"--share-workspace")
	detached := strings.TrimSpace(out)
	out, _ = s.output(0, "sessions", "show", detached)
	testkit.Includes(t, "", out, "before decision 1")
	awaitGone(t, detached) // the Arbiter was told something, and completes
	for _, x := range []*script{fork, s} {
		x.send(contract.Say{Text: "Ada"})
		x.completes()
	}
	onScript(t, model)
	out, _ = s.output(0, "compare", run, fork.run())
	testkit.Includes(t, "", out, run[:8], fork.run()[:8], run[:8]+", before decision 1", "complete", "since)")
	s.output(2, "compare", run)
	s.output(2, "fork", run)
	s.output(2, "fork", run, "--at", "1", "--isolation", "shared") // without a terminal for the screen
}

// TestBestOf begins three runs from one decision, and compares them. What the run had cost before is counted once.
func TestBestOf(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	repo := gittest.New(t, map[string]string{"old.txt": "old\n", "shared.txt": "first\nlast\n"})
	s, _ := hiredIn(t, players(t)[0], twoSteps, repo.Path, "--allow", "Bash", "--allow", "Write", "--no-input", "--task",
		"Weave")
	was := s.finish(contract.ExitComplete)
	spent := func() float64 {
		usd := 0.0
		for _, r := range besideJSON[[]report.Row](s, "usage") {
			usd += r.CostUSD
		}
		return usd
	}
	before := spent()
	all := besideJSON[[]report.Compared](s, "fork", s.run(), "--at", "3", "--times", "3", "--no-input")
	testkit.Same(t, "forks", 3, len(all))
	own := 0.0
	for _, c := range all {
		testkit.Check(t, c.Status == contract.StatusComplete && c.Changes.Count == 2 && c.ForkedFrom.At == 3 &&
			c.Checks.Passed == 2 && c.OwnCostUSD > 0 && c.OwnCostUSD < c.CostUSD && c.ForkedFrom.CostUSD < was.CostUSD,
			"%+v", c)
		own += c.OwnCostUSD
	}
	if now := spent(); now-before < own-0.001 || now-before > own+0.001 {
		t.Errorf("all runs have cost $%.4f more, and the forks $%.4f", now-before, own)
	}
	s.output(0, "undo", s.run())
	s.output(0, "land", all[0].Run)
	testkit.Same(t, "landed", twoStepsFiles[3], strings.Fields(repo.Git("ls-tree", "-r", "--name-only", "HEAD")))
}

// TestForkIsTheCLIsOwn: a session that continues on a copy of a transcript, cut at a message, asks the model exactly
// what the CLI's own fork at that message asks. After a compaction the CLI's own finds the message no more; the copy is
// the same as before.
func TestForkIsTheCLIsOwn(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	claude := neededClaude(t)
	model := serve(t, playOf(anybody(says("Yes."))))
	home, work := t.TempDir(), t.TempDir()
	ask := func(fails bool, args ...string) (messages string) {
		t.Helper()
		cmd := exec.Command(claude, append([]string{"-p", "--model", "claude-opus-5-5"}, args...)...)
		cmd.Env, cmd.Dir = host.StageEnviron(home, model), work
		out, err := cmd.CombinedOutput()
		testkit.Need(t, (err != nil) == fails, "claude %v: %v\n%s", args, err, out)
		all := model.Requests()
		return string(all[len(all)-1].Messages)
	}
	session := uuid.NewString()
	ask(false, "One.", "--session-id", session)
	files, _ := filepath.Glob(filepath.Join(home, ".claude", "projects", "*", session+".jsonl"))
	testkit.Need(t, len(files) == 1, "transcripts: %v", files)
	first := testkit.Must(os.ReadFile(files[0]))(t)
	answers := regexp.MustCompile(`"type":"assistant","uuid":"([^"]*)"`).FindAllSubmatch(first, -1)
	testkit.Need(t, len(answers) != 0, "no answer in %s", first)
	at := string(answers[len(answers)-1][1])
	own := func(fails bool) string {
		return ask(fails, "Three.", "--resume", session, "--fork-session", "--session-id", uuid.NewString(),
			"--resume-session-at", at)
	}
	copied := func() string {
		id := uuid.NewString()
		text := strings.ReplaceAll(string(first), session, id)
		testkit.OK(t, os.WriteFile(filepath.Join(filepath.Dir(files[0]), id+".jsonl"), []byte(text), 0o600))
		return ask(false, "Three.", "--resume", id)
	}
	ask(false, "Two.", "--resume", session)
	want := own(false)
	if got := copied(); got != want || !strings.Contains(want, "One.") || strings.Contains(want, "Two.") {
		t.Errorf("the copy asks %s\nthe CLI's own fork asks %s", got, want)
	}
	ask(false, "/compact", "--resume", session)
	ask(false, "Two again.", "--resume", session)
	own(true)
	testkit.Same(t, "after a compaction, the copy asks", want, copied())
}
