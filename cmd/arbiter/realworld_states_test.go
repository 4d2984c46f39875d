package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// unsettled is a repository in a state that keeps Git or Arbiter from doing something.
type unsettled struct {
	ci      []string // isolation of agents in CI; other cases need ARBITER_LONG
	setUp   func(d gittest.Dir)
	notice  string // what a shared run reports
	refused string // why an isolated run does not begin; empty if it does
	noDiff  string // why there is no diff after a shared run; empty if there is one
	noLand  string // why the work cannot be landed at first
	goOn    func(d gittest.Dir)
}

var states = map[string]unsettled{
	"detached": {
		ci:     []string{"worktree"},
		setUp:  func(d gittest.Dir) { d.Git("checkout", "-q", "--detach") },
		noLand: "HEAD is detached",
		goOn:   func(d gittest.Dir) { d.Git("switch", "-q", "-c", "topic") },
	},
	"rebase under way": {
		ci: []string{"clone"},
		setUp: func(d gittest.Dir) {
			d.Git("stash", "-q", "-u")
			d.Git("checkout", "-q", "-b", "side")
			d.Write("mine", "side\n")
			d.Commit("side")
			d.Git("checkout", "-q", "trunk")
			d.Write("mine", "trunk\n")
			d.Commit("trunk")
			if d.Command("rebase", "side").Run() == nil {
				d.Fatal("no conflict")
			}
		},
		noLand: "a rebase is under way",
		goOn: func(d gittest.Dir) {
			d.Write("mine", "both\n")
			d.Git("add", "mine")
			d.Git("-c", "core.editor=true", "rebase", "--continue")
		},
	},
	"no commit": {
		ci:     []string{"worktree"},
		setUp:  func(d gittest.Dir) { d.Remove(".git"); d.Git("init", "-q") },
		notice: "no commit yet", refused: "no commit yet", noDiff: "no commit yet",
	},
	"no Git": {
		ci:     []string{"shared", "clone"},
		setUp:  func(d gittest.Dir) { d.Remove(".git") },
		notice: "no Git work tree here", refused: "no Git work tree here", noDiff: "no Git work tree here",
	},
}

// TestRepositoriesInUnsettledStates: what is not possible is refused or left out with its reason, nothing of
// the user's is changed, and the work can be landed once the reason is gone.
func TestRepositoriesInUnsettledStates(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		for name, c := range states {
			for _, isolation := range []string{"shared", "worktree", "clone"} {
				t.Run(p.name+" "+name+" "+isolation, func(t *testing.T) {
					if p.real || !slices.Contains(c.ci, isolation) {
						testkit.Long(t)
					}
					t.Parallel()
					c.play(t, p, isolation)
				})
			}
		}
	}
}

func (c unsettled) play(t *testing.T, p player, isolation string) {
	d := lived(t)
	c.setUp(d)
	private, before := map[string]string{}, d.Files()
	if c.noDiff == "" {
		private = d.Private()
	}
	j := playJob(t, p, d, "echo 2 > other\n", "--isolation", isolation)
	if isolation != "shared" && c.refused != "" {
		c.refuses(j, before)
		return
	}
	j.run.finish(contract.ExitComplete)
	want := maps.Clone(before)
	want["other"], want["woven.txt"] = "-rw-r--r-- 2\n", "-rw-r--r-- woven\n"
	if isolation == "shared" {
		j.same("files after the run", want, d.Files())
		if !strings.Contains(j.run.dump(), strings.ReplaceAll(c.notice, `"`, `\"`)) {
			t.Errorf("nothing is said of it\n%s", j.run.dump())
		}
	} else {
		j.same("files after the run", before, d.Files())
	}
	if c.noDiff != "" {
		for _, command := range []string{"diff", "land", "undo"} {
			j.printsFor(c.noDiff, contract.ExitEnvironment, command)
		}
		return
	}
	j.same("the user's part of the repository after the run", private, d.Private())
	if got := j.prints(contract.ExitComplete, "diff", "--name-only"); got != "other\nwoven.txt\n" {
		t.Errorf("diff names %q", got)
	}
	if isolation != "shared" {
		j.printsFor(c.noLand, contract.ExitFailed, "land")
		j.same("files after a refusal", before, d.Files())
		j.same("the user's part of the repository after a refusal", private, d.Private())
		c.goOn(d)
		before = d.Files()
		j.prints(contract.ExitComplete, "land")
		want = maps.Clone(before)
		want["other"], want["woven.txt"] = "-rw-r--r-- 2\n", "-rw-r--r-- woven\n"
		j.same("files after landing", want, d.Files())
	}
	j.prints(contract.ExitComplete, "undo")
	j.same("files after undo", before, d.Files())
}

// refuses checks that an isolated run does not begin, and says why. The advice must not be about Claude Code.
func (c unsettled) refuses(j job, before map[string]string) {
	j.Helper()
	_ = j.run.stdin.Close()
	<-j.run.ended
	_ = j.run.cmd.Wait()
	output := j.run.stderr.String()
	if code := j.run.cmd.ProcessState.ExitCode(); code != int(contract.ExitEnvironment) ||
		!strings.Contains(output, c.refused) || !strings.Contains(output, "--isolation shared") ||
		strings.Contains(output, "claude -p") {
		j.Errorf("exit code %d, %s", code, output)
	}
	j.same("files after the refusal", before, j.dir.Files())
}

// printsFor runs an arbiter command and checks that its output contains a text.
func (j job) printsFor(text string, want contract.Exit, args ...string) {
	j.Helper()
	if got := j.prints(want, args...); !strings.Contains(got, text) {
		j.Errorf("arbiter %s: %q, want %q", strings.Join(args, " "), got, text)
	}
}
