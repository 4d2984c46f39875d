package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// place is a home with secrets and caches, a workspace with a repository, and Arbiter's state.
type place struct {
	*bench
	home, work, state string
	params            bridge.CheckParams
}

func newPlace(t testing.TB) *place {
	t.Helper()
	testkit.Overlays(t)
	program, err := sandbox.Find()
	if err != nil {
		t.Skip(err)
	}
	base := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	p := &place{bench: newBench(t), home: filepath.Join(base, "home"), work: filepath.Join(base, "work: a,b"),
		state: filepath.Join(base, "state")}
	for path, text := range map[string]string{
		"home/.ssh/id": "PRIVATE", "home/.claude/.credentials.json": "PRIVATE", "home/.claude/projects/a/b": "PRIVATE",
		"home/.claude.json": "PRIVATE", "home/.cargo/credentials": "PRIVATE", "home/.cache/x": "cached", "home/notes": "mine",
		"home/.npm/x": "x", "state/journal": "PRIVATE",
		"home/.gitconfig":  "[user]\nname = a\nemail = a@b\n",
		"work: a,b/go.mod": "module example.com/m\n\ngo 1.21\n",
		"work: a,b/a.go":   "package main\n\nfunc main() { println(two()) }\n\nfunc two() int { return 2 }\n",
		"work: a,b/a_test.go": "package main\n\nimport \"testing\"\n\n" +
			"func TestTwo(t *testing.T) { if two() != 2 { t.Error() } }\n",
		"work: a,b/package.json": `{"name":"m","version":"1.0.0","scripts":{"test":"node -e ` +
			`\"require('dep');require('fs').writeFileSync('out','x')\""}}`,
		"work: a,b/node_modules/dep/index.js": "module.exports = 1\n",
		"work: a,b/test_m.py": "import unittest\nclass T(unittest.TestCase):\n" +
			"  def test(self): self.assertEqual(1, 1)\n",
		"work: a,b/Makefile":   "out: a.go\n\tcp a.go out\n.PHONY: bad\nbad:\n\texit 3\n",
		"work: a,b/.gitignore": "node_modules\nout\n", "work: a,b/untracked": "u",
	} {
		path = filepath.Join(base, path)
		testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	p.cwd = p.work
	p.params = bridge.CheckParams{CWD: p.work, Scratch: true, Env: map[string]string{"HOME": p.home, "GOFLAGS": ""},
		Sandbox: &bridge.SandboxConfig{Program: program, Hide: []string{p.state}}}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"rm", "-q", "--cached", "untracked"},
		{"commit", "-qm", "one"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.work, append(os.Environ(), "HOME="+p.home)
		out, err := cmd.CombinedOutput()
		testkit.Need(t, err == nil, "git %v: %v: %s", args, err, out)
	}
	p.check(p.with("true")) // the sandbox itself makes missing directories of the CLI
	return p
}

func (p *place) with(command string) bridge.CheckParams {
	params := p.params
	params.Command = command
	return params
}

// hash returns a hash of all files of the place, with their modes and times.
func (p *place) hash() string {
	p.t.Helper()
	h := sha256.New()
	testkit.OK(p.t, filepath.WalkDir(filepath.Dir(p.work), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintln(h, path, info.Mode(), info.ModTime().UnixNano())
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintln(h, len(text), string(text))
		}
		return nil
	}))
	return hex.EncodeToString(h.Sum(nil))
}
