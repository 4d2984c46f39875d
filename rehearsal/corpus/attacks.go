package corpus

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Attack is an action that an agent may try although no rule allows it, or although one denies it. It is a
// Line for Bash, a Tool with its Input, or a Check of a hand-off. Paths are below the workspace.
type Attack struct {
	Line  string         `yaml:"line"`
	Check string         `yaml:"check"`
	Tool  string         `yaml:"tool"`
	Input map[string]any `yaml:"input"`
	CWD   string         `yaml:"cwd"` // directory of the shell after an earlier cd; empty: the workspace

	Made  string `yaml:"made"`  // a file that must not be created
	Kept  string `yaml:"kept"`  // a file that must stay unchanged
	Shown string `yaml:"shown"` // a text that the model must not see

	Harmless bool     `yaml:"harmless"` // it looks like an attack, but has no effect in bash
	Unasked  bool     `yaml:"unasked"`  // the CLI lets it pass in its default mode
	Only     []string `yaml:"only"`     // what it requires: linux, root, or programs
}

// Text returns the command, or the tool's name.
func (a Attack) Text() string {
	for _, s := range []string{a.Line, a.Check} {
		if s != "" {
			return s
		}
	}
	return a.Tool
}

// Possible reports whether this machine has what an attack requires.
func (a Attack) Possible() bool {
	return !slices.ContainsFunc(a.Only, func(need string) bool {
		switch need {
		case "linux":
			return runtime.GOOS != "linux"
		case "root":
			return os.Getuid() != 0
		}
		_, err := exec.LookPath(need)
		return err != nil
	})
}

// AttackGroup is a group of attacks that are tried under the same rules.
type AttackGroup struct {
	Row     int               `yaml:"row"` // groups of one fault have the same number
	About   string            `yaml:"about"`
	Allow   []string          `yaml:"allow"`
	Deny    []string          `yaml:"deny"`
	Ask     []string          `yaml:"ask"`
	Modes   []string          `yaml:"modes"` // of --permissions
	Files   map[string]string `yaml:"files"` // of the workspace
	Attacks []Attack          `yaml:"attacks"`
}

const fewestAttacks = 400

// Attacks reads the attacks of testdata/commands/attacks.yaml. root is the path of the repository.
func Attacks(t testing.TB, root string) []AttackGroup {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "testdata", "commands", "attacks.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var groups []AttackGroup
	if err := yaml.UnmarshalWithOptions(raw, &groups, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range groups {
		g := &groups[i]
		if g.Modes == nil {
			g.Modes = []string{"ask", "accept-edits", "rules"}
			if len(g.Deny)+len(g.Ask) > 0 {
				g.Modes = append(g.Modes, "allow-all")
			}
		}
		n += len(g.Attacks)
	}
	if n < fewestAttacks {
		t.Fatalf("%d attacks, want at least %d", n, fewestAttacks)
	}
	return groups
}

// Texts in the files of an [AttackPlace].
const (
	KeptText   = "kept\n"
	keyText    = "KEY-TEXT\n"
	secretText = "ID-RSA-TEXT\n"
)

// AttackPlace is the place where attacks are tried: a workspace with a remote repository beside it, and a
// home directory with a secret.
type AttackPlace struct{ Work, Home string }

// NewAttackPlace creates a place in an empty directory, for one group of attacks.
func NewAttackPlace(t testing.TB, dir string, g AttackGroup) AttackPlace {
	t.Helper()
	p := AttackPlace{Work: filepath.Join(dir, "work"), Home: filepath.Join(dir, "home")}
	files := map[string]string{"top": "one\n", "secrets/key": keyText, "../home/.ssh/id_rsa": secretText, "v": KeptText}
	for path, text := range g.Files {
		files[path] = text
	}
	for _, a := range g.Attacks {
		if a.Kept != "" {
			files[a.Kept] = KeptText
		}
	}
	for path, text := range files {
		path = filepath.Join(p.Work, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("secrets", filepath.Join(p.Work, "linked")); err != nil {
		t.Fatal(err)
	}
	p.git(t, "init", "-q", "--template=", "--bare", "-b", "main", "../remote.git")
	p.git(t, "init", "-q", "--template=", "-b", "main")
	for _, entry := range [][2]string{{"user.name", "a"}, {"user.email", "a@example.org"},
		{"push.default", "current"}} {
		p.git(t, "config", entry[0], entry[1])
	}
	p.git(t, "remote", "add", "origin", "../remote.git")
	p.git(t, "add", "top")
	p.git(t, "commit", "-q", "-m", "one")
	p.git(t, "commit", "-q", "--allow-empty", "-m", "two")
	if err := os.WriteFile(filepath.Join(p.Work, "top"), []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p AttackPlace) git(t testing.TB, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = p.Work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.Home, "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// Harm describes the harm that an attack did, or "". shown is all that the model was shown, without the
// attack itself.
func (p AttackPlace) Harm(a Attack, shown string) string {
	if a.Made != "" {
		if _, err := os.Lstat(filepath.Join(p.Work, a.Made)); err == nil {
			return "made " + a.Made
		}
	}
	if a.Kept != "" {
		if text, err := os.ReadFile(filepath.Join(p.Work, a.Kept)); err != nil || string(text) != KeptText {
			return "changed " + a.Kept
		}
	}
	if a.Shown != "" && strings.Contains(shown, a.Shown) {
		return "showed " + a.Shown
	}
	return ""
}
