package main

import (
	"encoding/json"
	"errors"
	"io/fs"
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
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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
				if !strings.Contains(said, `filter "own"`) {
					t.Errorf("nothing is said of the filter: %s", said)
				}
				if isolation != "shared" && !strings.Contains(said+j.run.stderr.String(), `"a.bin", because its filter "own"`) {
					t.Errorf("nothing is said of the file that is left out: %s\n%s", said, j.run.stderr.String())
				}
				names := j.prints(contract.ExitComplete, "diff", "--name-only")
				if !strings.Contains(names, `filter "own"`) || strings.Contains(names, "git would run") {
					t.Errorf("diff says %q", names)
				}
				changed := slices.DeleteFunc(strings.Fields(names), func(s string) bool {
					return !slices.Contains([]string{"a.bin", "b.bin", "mine", "other", "woven.txt", "settings"}, s)
				})
				want := []string{"a.bin", "other", "woven.txt"}
				if isolation != "shared" {
					want = want[1:] // it is left out: see the notice
				}
				if !slices.Equal(changed, want) {
					t.Errorf("diff names %q", changed)
				}
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
	if _, said := w.arbiter(contract.ExitComplete, "diff"); said != "" {
		t.Errorf("nothing is planted, and it says %q", said)
	}
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
	for _, what := range []string{"node_modules/x/evil (a bare repository)", ".git/config (filter.e.clean)",
		".git/hooks/post-checkout", "Look at it before you run git there", `filter "e"`} {
		if !strings.Contains(said, what) {
			t.Errorf("%s is not named: %q", what, said)
		}
	}
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
			if !strings.Contains(said, "look at it, and put it back") {
				t.Errorf("%s: %s says %q", name, command, said)
			}
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
	if _, err := os.Lstat(marker); err == nil {
		t.Error("a planted program ran")
	}
	w.arbiter(contract.ExitComplete, "undo")
	if got := w.Files()["a"]; got != "-rw-r--r-- 1\n" {
		t.Errorf("after undo, a is %q", got)
	}
}

const planting = `
name: planting
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Plant}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: It is planted
        verdict: {decision: COMPLETE, message: It is done., summary: It is planted., reason: r}
    otherwise:
      - {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: planter
    match: {role: orchestrator}
    steps:
      - use: [{tool: Bash, input: {command: "git init -q --bare evil", description: Plant}}]
      - verdict:
          expects_response: true
          kind: done
          message: It is planted.
          handoff: {accomplished: [evil], remaining: [], key_context: evil}
    otherwise:
      - {verdict: {expects_response: false, kind: report, message: Waiting.}}
`

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
	if !strings.Contains(out, "evil (a bare repository)") {
		t.Errorf("the log does not have it: %s", out)
	}
	_, warned := s.output(0, "sessions", "export", s.run(), "--output", filepath.Join(t.TempDir(), "run.tar.gz"))
	if !strings.Contains(warned, "evil (a bare repository)") {
		t.Errorf("the export does not warn: %s", warned)
	}
}

// TestPlantedIsSaidOnceInPlainText: the notice of the run is not said again with the receipt.
func TestPlantedIsSaidOnceInPlainText(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t, map[string]string{"a": "1\n"})
	scenario := testkit.Must(rehearsal.Parse("play.yaml", []byte(planting)))(t)
	model := testkit.Must(rehearsal.Start(scenario, rehearsal.Options{}))(t)
	defer model.Close()
	cmd := exec.Command("arbiter", "--plain", "--no-input", "--claude", standInProgram(t), "--cwd", repo.Path,
		"--state-dir", t.TempDir(), "--allow", "Bash(*)", "--task", "Plant")
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + model.URL(),
		"ANTHROPIC_API_KEY=" + model.Key(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	out, err := cmd.CombinedOutput()
	if n := strings.Count(string(out), "evil (a bare repository)"); err != nil || n != 1 {
		t.Errorf("it is said %d times, %v:\n%s", n, err, out)
	}
}
