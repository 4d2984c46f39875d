package proctree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// TestLiveTurnInANamespace: the real CLI works as the child of process 1, with and without a user
// namespace.
func TestLiveTurnInANamespace(t *testing.T) {
	cli := realCLI(t)
	for name, user := range map[string]bool{"privileged": false, "unprivileged": true} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			cmd, want := proctree.Again(os.Args[0], "arbiter"), proctree.PIDNamespace
			if user {
				cmd, want = proctree.Unprivileged(t, "arbiter"), proctree.UserNamespace
				if os.Getuid() == 0 {
					dir = ownedByNobody(t)
				}
			} else if os.Getuid() != 0 {
				t.Skip("not privileged")
			}
			path := cli
			if user && os.Getuid() == 0 {
				path = proctree.Publicly(t, cli)
			}
			p := plot{Run: testkit.Run(t), Mode: proctree.ModeAlways, Agents: 1, Claude: bridge.ClaudeSpec{Path: path},
				Message: "go", Config: played(t, dir)}
			c, s := curtain(t, home(t, p.command(cmd), dir))
			t.Cleanup(func() { proctree.Sweep(testkit.Run(t), "") })
			if s.Isolation == proctree.NoNamespace {
				t.Skip("no namespace is to be had here")
			}
			if err := c.Wait(); err != nil || s.Isolation != want {
				t.Errorf("isolation %s, want %s; the arbiter: %v", s.Isolation, want, err)
			}
			if s.Turn.Outcome != bridge.TurnDone || s.Turn.Text != "It is done." {
				t.Errorf("turn: %+v", s.Turn)
			}
			if got := strings.Join(s.Results, "\n"); !strings.Contains(got, "first=1 seen=few") {
				t.Errorf("the tool said %q", got)
			}
			if left := proctree.Survivors(testkit.Run(t)); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// played is an agent whose model runs a command that inspects its surroundings and leaves a daemon behind.
func played(t *testing.T, dir string) bridge.AgentConfig {
	t.Helper()
	sc := testkit.Must(rehearsal.Parse("look.yaml", []byte(`
actors:
  - name: worker
    match: {role: main}
    steps:
      - use:
          - tool: Bash
            input:
              description: look around
              command: >-
                (setsid env -i sleep 1000 >/dev/null 2>&1 &);
                n=$(ls /proc | grep -c '^[0-9]');
                echo "first=$(cut -d' ' -f1 /proc/1/stat) seen=$(test $n -lt 20 && echo few || echo $n)"
      - say: It is done.
`)))(t)
	srv := testkit.Must(rehearsal.Start(sc, rehearsal.Options{}))(t)
	t.Cleanup(func() {
		if p := srv.Problems(); len(p) > 0 {
			t.Errorf("problems: %q", p)
		}
		srv.Close()
	})
	return bridge.AgentConfig{CWD: dir, AllowedTools: []string{"Bash(*)"}, StrictMCP: true, Env: map[string]string{
		"ANTHROPIC_BASE_URL": srv.URL(), "ANTHROPIC_API_KEY": srv.Key(), "CLAUDE_CODE_MAX_RETRIES": "0"}}
}

func ownedByNobody(t *testing.T) string {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("", "proctree-nobody-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	testkit.OK(t, os.Chown(dir, proctree.Nobody, proctree.Nobody))
	return dir
}

// realCLI returns the file of the CLI itself, because another user must run it from another directory.
func realCLI(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(corpus.Claude(t, filepath.Join("..", "..")).Path)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
