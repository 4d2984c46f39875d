package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// oneJob is a play in which one Orchestrator runs the script WORK.
func oneJob(work string) string {
	return playOf(
		arbiter(append(summons("Weave"), on("is woven", complete("It is woven."))), patience),
		orchestrator("weaver", "", []object{bash("sh " + work + " && echo woven > woven.txt")},
			done("It is woven.", check("cat woven.txt", "woven"))))
}

// job is a run of [oneJob] in a repository.
type job struct {
	*testing.T
	dir gittest.Dir
	run *script
}

func playJob(t *testing.T, p player, d gittest.Dir, work string, args ...string) job {
	t.Helper()
	path := filepath.Join(t.TempDir(), "work.sh")
	d.Must(os.WriteFile(path, []byte(work), 0o600))
	s, _ := hiredIn(t, p, oneJob(path), d.Path,
		append([]string{"--no-input", "--allow", "Bash", "--task", "Weave"}, args...)...)
	return job{t, d, s}
}

// prints runs an arbiter command in the repository, checks its exit code, and returns its output.
func (j job) prints(want contract.Exit, args ...string) string {
	j.Helper()
	c := j.run.besideIn(j.dir.Path, "", args...).ended(j, args, want)
	return c.out + c.errs
}

func (j job) same(what string, want, got map[string]string) {
	j.Helper()
	testkit.Same(j, what, want, got)
}

// hostile is a repository that names a program wherever git knows a place for one.
func hostile(t *testing.T) (d gittest.Dir, ran func() bool) {
	t.Helper()
	d = gittest.New(t, map[string]string{"a.bin": "1\n", "b.bin": "1\n", "mine": "1\n"})
	outside := gittest.Temp(t)
	marker, program := filepath.Join(outside, "ran"), filepath.Join(outside, "program")
	d.Must(os.WriteFile(program, []byte("#!/bin/sh\necho \"$0 $*\" >> '"+marker+"'\n$1\n"), 0o755))
	d.Write("settings", "[filter \"included\"]\n\tclean = "+program+" cat\n")
	for _, name := range []string{"post-index-change", "reference-transaction", "pre-commit", "post-checkout"} {
		d.Write("hooks/"+name, "#!/bin/sh\n"+program+"\n")
		d.Chmod("hooks/"+name, 0o755)
	}
	d.Write(".gitattributes", "*.bin filter=own diff=own merge=own\nsettings filter=included\n")
	d.Commit("second")
	for _, key := range []string{"filter.own.clean", "filter.own.smudge", "core.fsmonitor", "core.sshCommand",
		"core.pager",
		"core.editor", "diff.own.textconv", "diff.own.command", "diff.external", "merge.own.driver", "gpg.program",
		"credential.helper", "core.alternateRefsCommand", "core.askPass", "sequence.editor", "pager.diff", "pager.log"} {
		d.Git("config", key, program+" cat")
	}
	for _, name := range []string{"status", "diff", "add", "update-ref", "rev-parse", "log"} {
		d.Git("config", "alias."+name, "!"+program)
	}
	d.Git("config", "submodule.x.update", "!"+program)
	d.Git("config", "commit.gpgSign", "true")
	d.Git("config", "core.hooksPath", "hooks")
	d.Git("config", "includeIf.gitdir:/.path", filepath.Join(d.Path, "settings"))
	return d, func() bool { return !errors.Is(os.Remove(marker), fs.ErrNotExist) }
}

// notices returns the notices of a run.
func notices(s *script) (text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.lines {
		raw, _ := json.Marshal(l.Body)
		var n struct{ Text string }
		if l.Body.EventName() == (contract.Notice{}).EventName() && json.Unmarshal(raw, &n) == nil {
			text += n.Text + "\n"
		}
	}
	return text
}

// TestHostileRepository: nothing of a repository that nobody has trusted yet runs, neither in a run nor by a command
// about it. Its filter does not make files look changed, and a notice says that it does not run.
func TestHostileRepository(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		if p.real {
			continue // the CLI has no part in this
		}
		for _, isolation := range []string{"shared", "worktree", "clone"} {
			t.Run(p.name+" "+isolation, func(t *testing.T) {
				if isolation == "clone" { // TestHostileClone of the workspace resembles it
					testkit.Long(t)
				}
				t.Parallel()
				d, ran := hostile(t)
				d.Must(os.Chtimes(filepath.Join(d.Path, "b.bin"), time.Unix(1, 0), time.Unix(1, 0)))
				_ = d.Command("add", "-A").Run()
				testkit.Need(t, ran(), "nothing is planted")
				before := d.Files()
				j := playJob(t, p, d, "echo 2 > other; echo changed > a.bin\n", "--isolation", isolation)
				j.run.finish(contract.ExitComplete)
				said := notices(j.run)
				testkit.Includes(t, "nothing is said of the filter", said, `filter "own"`)
				if isolation != "shared" && !strings.Contains(said+j.run.stderr.String(), `"a.bin", because its filter "own"`) {
					t.Errorf("nothing is said of the file that is left out: %s\n%s", said, j.run.stderr.String())
				}
				names := j.prints(contract.ExitComplete, "diff", "--name-only")
				testkit.Includes(t, "diff says", names, `filter "own"`)
				testkit.Excludes(t, "diff says", names, "git would run")
				changed := slices.DeleteFunc(strings.Fields(names), func(s string) bool {
					return !slices.Contains([]string{"a.bin", "b.bin", "mine", "other", "woven.txt", "settings"}, s)
				})
				want := []string{"a.bin", "other", "woven.txt"}
				if isolation != "shared" {
					want = want[1:] // it is left out: see the notice
				}
				testkit.Same(t, "diff names", want, changed)
				j.prints(contract.ExitComplete, "diff")
				if isolation != "shared" {
					j.prints(contract.ExitComplete, "land", "--include", ".") // its agents write with commands
				}
				j.prints(contract.ExitComplete, "undo")
				j.prints(contract.ExitComplete, "report")
				testkit.Check(t, !ran(), "a program of the repository ran")
				if isolation == "shared" {
					j.same("files after undo", before, d.Files())
				}
			})
		}
	}
}

// TestPlantedByAnAgent: what an agent leaves that git would run is named before the commands of a person work on the
// repository, and a repository that leads elsewhere is refused.
func TestPlantedByAnAgent(t *testing.T) {
	w := newWorked(t)
	o := gittest.Options(w.Path, nil)
	o.Began = filepath.Join(w.state, "runs", gittest.Run, workspace.BeganName)
	repo, err := workspace.Open(t.Context(), o)
	w.Must(err)
	w.Must(repo.Begin(t.Context()))
	w.snapshot(workspace.Base)
	w.Write("a", "2\n")
	w.snapshot(workspace.End)
	testkit.Same(t, "nothing is planted, and it says", "", stderrOf(w.arbiter(contract.ExitComplete, "diff")))
	program := filepath.Join(gittest.Temp(t), "program")
	marker := program + "-ran"
	w.Must(os.WriteFile(program, []byte("#!/bin/sh\ntouch '"+marker+"'\n"), 0o755))
	w.Git("init", "-q", "--bare", "node_modules/x/evil")
	w.Git("-C", "node_modules/x/evil", "config", "core.fsmonitor", program)
	w.Write(".gitignore", "node_modules\n")
	w.Git("config", "filter.e.clean", program)
	w.Write(".gitattributes", "* filter=e\n", ".git/hooks/post-checkout", "#!/bin/sh\n")
	w.Chmod(".git/hooks/post-checkout", 0o755)
	_, said := w.arbiter(contract.ExitComplete, "diff")
	testkit.Includes(t, "", said, "node_modules/x/evil (a bare repository)", ".git/config (filter.e.clean)",
		".git/hooks/post-checkout", "Look at it before you run git there", `filter "e"`)
	elsewhere := gittest.New(t, map[string]string{"a": "3\n"})
	for name, swap := range map[string]func(){
		".git/commondir": func() { w.Write(".git/commondir", elsewhere.Path+"/.git\n") },
		"its own .git": func() {
			w.Must(os.Rename(filepath.Join(w.Path, ".git"), filepath.Join(w.Path, "old")),
				os.Symlink(filepath.Join(elsewhere.Path, ".git"), filepath.Join(w.Path, ".git")))
		},
		"core.worktree": func() { w.Git("config", "core.worktree", elsewhere.Path) },
	} {
		for _, command := range []string{"diff", "land", "undo"} {
			swap()
			_, said := w.arbiter(contract.ExitEnvironment, command)
			testkit.Includes(t, fmt.Sprintf("%s: %s says", name, command), said, "look at it, and put it back")
			switch {
			case strings.HasPrefix(name, "core"):
				w.Git("config", "--file", ".git/config", "--unset", "core.worktree")
			case strings.HasPrefix(name, "its"):
				w.Must(os.Remove(filepath.Join(w.Path, ".git")),
					os.Rename(filepath.Join(w.Path, "old"), filepath.Join(w.Path, ".git")))
			default:
				w.Remove(".git/commondir")
			}
		}
	}
	absent(t, "a planted program ran", marker)
	w.arbiter(contract.ExitComplete, "undo")
	testkit.Same(t, "after undo, a", "-rw-r--r-- 1\n", w.Files()["a"])
}

var planting = playOf(
	arbiter(append(summons("Plant"), on("It is planted", complete("It is planted."))), patience),
	orchestrator("planter", "", []object{bash("git init -q --bare evil"), done("It is planted.")},
		reports("report", "Waiting.", false)))

// TestPlantedIsSaidInEveryFace: what an agent left that git would run is an event of the run, which the screen and
// every other face shows, and which stays in its log. Plain text does not say it again with the receipt. The export of
// the run warns of it, too.
func TestPlantedIsSaidInEveryFace(t *testing.T) {
	t.Parallel()
	repo, model := gittest.New(t, map[string]string{"a": "1\n"}), serve(t, planting)
	const planted = "evil (a bare repository)"
	state := []string{"--state-dir", t.TempDir()}
	env := append(asksOf(model), "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
	said := func(args ...string) string {
		c := runIn(t, env, repo.Path, "", append(args, state...)...).ended(t, args, contract.ExitComplete, planted)
		return c.out + c.errs
	}
	out := said("--plain", "--no-input", "--claude", standInProgram(t), "--allow", "Bash(*)", "--task", "Plant")
	testkit.Same(t, "it is said times", 1, strings.Count(out, planted))
	said("logs")
	said("sessions", "export", "--output", filepath.Join(t.TempDir(), "run.tar.gz"))
}
