package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
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

// trait is a feature that users' repositories have.
type trait struct {
	commit func(d gittest.Dir) // makes the committed files
	dirty  func(d gittest.Dir) // makes uncommitted changes
	work   string              // the Orchestrator's work, as a shell script
	// changed are the files that the work changes, in their final state and in the form of [gittest.Dir.Files];
	// an empty text means that the file is gone.
	changed map[string]string
}

// traits can all be combined in one repository.
var traits = map[string]trait{
	"submodule": {
		commit: func(d gittest.Dir) {
			module := gittest.New(d.TB, map[string]string{"m": "1\n"})
			d.Git("submodule", "--quiet", "add", module.Path, "module")
		},
		dirty: func(d gittest.Dir) { d.Write("module/m", "changed before the run\n") },
	},
	"LFS pointers, without git-lfs": {
		commit:  func(d gittest.Dir) { d.Write("lfs/.gitattributes", lfs); d.Write("lfs/x.bin", pointer("1")) },
		work:    "printf '" + strings.ReplaceAll(pointer("2"), "\n", `\n`) + "' > lfs/x.bin",
		changed: map[string]string{"lfs/x.bin": "-rw-r--r-- " + pointer("2")},
	},
	"sparse checkout": {
		commit: func(d gittest.Dir) { d.Write("in/a", "1\n"); d.Write("out/b", "1\n") },
		dirty:  func(d gittest.Dir) { d.Git("sparse-checkout", "set", "in", "lfs") },
		work:   "echo 2 > in/a; mkdir in/new out; echo new > in/new/c; echo new > out/c",
		changed: map[string]string{"in/a": "-rw-r--r-- 2\n", "in/new/c": "-rw-r--r-- new\n",
			"out/c": "-rw-r--r-- new\n"},
	},
	"links and modes": {
		commit: func(d gittest.Dir) {
			d.Write("in/target", "1\n")
			d.Link("link", "in/target")
			d.Link("dangling", "nowhere")
			d.Link("directory", "in")
			d.Write("run", "#!/bin/sh\n")
			d.Write("gone", "gone\n")
		},
		work: "ln -sfn nowhere link; rm dangling directory gone; chmod 755 run; " +
			"mkdir directory; echo 1 > directory/file",
		changed: map[string]string{"link": "-> nowhere", "dangling": "", "directory": "", "gone": "",
			"directory/file": "-rw-r--r-- 1\n", "run": "-rwxr-xr-x #!/bin/sh\n"},
	},
	"line ends": {
		commit: func(d gittest.Dir) {
			d.Git("config", "core.autocrlf", "true")
			d.Write("in/.gitattributes", "*.txt text eol=crlf\n*.sh text eol=lf\n*.md text=auto\n")
			d.Write(".gitattributes", "* -text\n")
			d.Write("in/a.txt", "1\r\n2\r\n")
			d.Write("in/a.sh", "1\n2\n")
			d.Write("in/a.md", "1\r\n2\r\n")
		},
		dirty: func(d gittest.Dir) { d.Write("in/other.txt", "1\r\n2\n") },
		work:  `printf '1\r\n3\r\n' > in/a.txt; printf '1\n3\n' > in/a.sh; printf '1\r\n3\r\n' > in/a.md`,
		changed: map[string]string{"in/a.txt": "-rw-r--r-- 1\r\n3\r\n", "in/a.sh": "-rw-r--r-- 1\n3\n",
			"in/a.md": "-rw-r--r-- 1\r\n3\r\n"},
	},
	"hooks that fail": {
		dirty: func(d gittest.Dir) {
			for _, name := range []string{"pre-commit", "commit-msg", "post-checkout", "pre-merge-commit", "post-merge",
				"reference-transaction", "post-rewrite", "pre-rebase"} {
				hook := ".git/hooks/" + name
				d.Write(hook, "#!/bin/sh\necho "+name+" >> '"+d.Path+"/.git/hooks-that-ran'\nexit 1\n")
				d.Chmod(hook, 0o755)
			}
		},
	},
}

const lfs = "*.bin filter=lfs diff=lfs merge=lfs -text\n"

func pointer(of string) string {
	return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(of, 64) + "\nsize 12\n"
}

// lived is a repository whose user is in the middle of something: files are changed, staged and new, and one
// change is in the stash.
func lived(t testing.TB, names ...string) gittest.Dir {
	d := gittest.New(t, map[string]string{"mine": "1\n", "staged": "1\n", "put-aside": "1\n"})
	for _, name := range names {
		if commit := traits[name].commit; commit != nil {
			commit(d)
		}
	}
	d.Commit("second")
	d.Write("put-aside", "put aside\n")
	d.Git("stash", "-q")
	for _, name := range names {
		if dirty := traits[name].dirty; dirty != nil {
			dirty(d)
		}
	}
	d.Write("staged", "staged\n")
	d.Git("-c", "core.hooksPath=/dev/null", "add", "staged")
	d.Write("mine", "changed before the run\n")
	d.Chmod("mine", 0o755)
	d.Write("untracked", "1\n")
	return d
}

// TestRealWorldRepositories plays a run in each kind of repository, with each kind of isolation, and then
// `diff`, `land` and `undo`. The user's index, branch, stash and uncommitted changes stay unchanged, and files
// are right to the byte.
func TestRealWorldRepositories(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	kinds := map[string][]string{"all at once": nil}
	for name := range traits {
		kinds[name] = []string{name}
		kinds["all at once"] = append(kinds["all at once"], name)
	}
	for _, p := range players(t) {
		for name, has := range kinds {
			for _, isolation := range []string{"shared", "worktree", "clone"} {
				t.Run(p.name+" "+name+" "+isolation, func(t *testing.T) {
					if p.real || len(has) == 1 {
						testkit.Long(t)
					}
					t.Parallel()
					slices.Sort(has)
					realWorld(t, p, has, isolation)
				})
			}
		}
	}
}

func realWorld(t *testing.T, p player, has []string, isolation string) {
	work, changed := "true\n", map[string]string{"woven.txt": "-rw-r--r-- woven\n"}
	for _, name := range has {
		work += traits[name].work + "\n"
		for path, text := range traits[name].changed {
			changed[path] = text
		}
	}
	d := lived(t, has...)
	private, before := d.Private(), d.Files()
	status := d.Git("status", "--porcelain")
	want := map[string]string{}
	for path, text := range before {
		want[path] = text
	}
	for path, text := range changed {
		if want[path] = text; text == "" {
			delete(want, path)
		}
	}
	r := playJob(t, p, d, work, "--isolation", isolation)
	r.run.finish(contract.ExitComplete)
	if isolation == "shared" {
		r.same("files after the run", want, d.Files())
	} else {
		r.same("files after the run", before, d.Files())
	}
	r.same("the user's part of the repository after the run", private, d.Private())
	var names []string
	for path := range changed {
		names = append(names, path)
	}
	slices.Sort(names)
	if got := r.prints(contract.ExitComplete, "diff", "--name-only"); got != strings.Join(names, "\n")+"\n" {
		t.Errorf("diff names\n%s, want %q", got, names)
	}
	if isolation != "shared" { // TestLandHere lands work in the user's files
		r.prints(contract.ExitComplete, "land", "--include", ".") // its agents write with commands
		r.same("files after landing", want, d.Files())
		r.same("the user's part after landing", landedPrivate(private), landedPrivate(d.Private()))
		testkit.Same(t, "status after landing", status, d.Git("status", "--porcelain"))
	}
	r.prints(contract.ExitComplete, "undo")
	r.same("files after undo", before, d.Files())
	if ran, _ := os.ReadFile(filepath.Join(d.Path, ".git/hooks-that-ran")); len(ran) > 0 {
		t.Errorf("hooks ran: %s", ran)
	}
	testkit.Excludes(t, "worktrees are left", d.Git("worktree", "list"), "\n")
}

// landedPrivate leaves out what landing changes: the branch, its log and the index.
func landedPrivate(private map[string]string) map[string]string {
	left := map[string]string{}
	for name, text := range private {
		if !slices.ContainsFunc([]string{"/index", "logs/HEAD", "/trunk", "/notes/arbiter"}, func(end string) bool {
			return strings.HasSuffix(strings.TrimSpace(name), end)
		}) {
			left[name] = text
		}
	}
	return left
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
		testkit.Includes(t, "nothing is said of it", j.run.dump(), strings.ReplaceAll(c.notice, `"`, `\"`))
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
	testkit.Same(t, "diff names", "other\nwoven.txt\n", j.prints(contract.ExitComplete, "diff", "--name-only"))
	if isolation != "shared" {
		j.printsFor(c.noLand, contract.ExitFailed, "land")
		j.same("files after a refusal", before, d.Files())
		j.same("the user's part of the repository after a refusal", private, d.Private())
		c.goOn(d)
		before = d.Files()
		j.prints(contract.ExitComplete, "land", "--include", ".")
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
				t.Parallel()
				d, ran := hostile(t)
				d.Must(os.Chtimes(filepath.Join(d.Path, "b.bin"), time.Unix(1, 0), time.Unix(1, 0)))
				_ = d.Command("add", "-A").Run()
				if !ran() {
					t.Fatal("nothing is planted")
				}
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
				if ran() {
					t.Error("a program of the repository ran")
				}
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
	w.Write(".gitattributes", "* filter=e\n")
	w.Write(".git/hooks/post-checkout", "#!/bin/sh\n")
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
// every other face shows, and which stays in its log. The export of the run warns of it, too.
func TestPlantedIsSaidInEveryFace(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, map[string]string{"a": "1\n"})
	s, _ := hiredIn(t, player{name: "stand-in", args: []string{""}}, planting, repo.Path, "--no-input",
		"--allow", "Bash(*)", "--task", "Plant")
	said := func(l contract.Line) bool {
		n, ok := l.Body.(contract.Notice)
		return ok && strings.Contains(n.Text, "evil (a bare repository)")
	}
	s.see("a notice about the repository", said)
	s.finish(contract.ExitComplete)
	out, _ := s.output(0, "logs", s.run())
	testkit.Includes(t, "the log does not have it", out, "evil (a bare repository)")
	_, warned := s.output(0, "sessions", "export", s.run(), "--output", filepath.Join(t.TempDir(), "run.tar.gz"))
	testkit.Includes(t, "the export does not warn", warned, "evil (a bare repository)")
}

// TestPlantedIsSaidOnceInPlainText: the notice of the run is not said again with the receipt.
func TestPlantedIsSaidOnceInPlainText(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, map[string]string{"a": "1\n"})
	model := serve(t, planting)
	cmd := exec.Command("arbiter", "--plain", "--no-input", "--claude", standInProgram(t), "--cwd", repo.Path,
		"--state-dir", t.TempDir(), "--allow", "Bash(*)", "--task", "Plant")
	cmd.Env = append(asksOf(model), "HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "evil (a bare repository)"); err != nil || n != 1 {
		t.Errorf("it is said %d times, %v:\n%s", n, err, out)
	}
}
