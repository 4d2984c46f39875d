package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// loom is a workspace whose hook leaves a mark at each start of a session, with a model for its runs.
type loom struct {
	t                         *testing.T
	work, state, mark, script string
	env                       []string
	claude                    string
}

func newLoom(t *testing.T) loom {
	claude := realClaude(t)
	if claude == "" {
		t.Skip("no claude: run scripts/setup")
	}
	script := testkit.Must(rehearsal.Load("testdata/scenarios/full-dialogue.yaml"))(t)
	l := loom{t: t, work: t.TempDir(), state: t.TempDir(), mark: filepath.Join(t.TempDir(), "mark"), claude: claude}
	l.script = filepath.Join(l.work, "scripts", "start.sh")
	l.write(".git/HEAD", "ref: refs/heads/main\n")
	l.write("scripts/start.sh", "echo ran >> "+l.mark+"\n")
	l.write(".claude/settings.json", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"sh \"$CLAUDE_PROJECT_DIR\"/scripts/start.sh"}]}]}}`)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	l.env = []string{"ANTHROPIC_BASE_URL=" + model.URL(), "ANTHROPIC_API_KEY=" + model.Key(),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "ARBITER_STATE_DIR=" + l.state}
	return l
}

func (l loom) write(name, text string) {
	l.t.Helper()
	path := filepath.Join(l.work, name)
	testkit.OK(l.t, os.MkdirAll(filepath.Dir(path), 0o700))
	testkit.OK(l.t, os.WriteFile(path, []byte(text), 0o600))
}

// marks returns how many times the hook has run.
func (l loom) marks() int {
	raw, _ := os.ReadFile(l.mark)
	return strings.Count(string(raw), "ran")
}

// begin starts a run and waits for the Arbiter's question, so that one session has started.
func (l loom) begin(more ...string) *script {
	l.t.Helper()
	args := append([]string{"--json", "--claude", l.claude, "--cwd", l.work, "--allow", "Bash(*)", "--allow", "Edit(**)",
		"--task", "Greet somebody"}, more...)
	s := start(l.t, l.env, args...)
	await[contract.Question](s, "a question", nil)
	return s
}

func (l loom) trust(args ...string) int {
	l.t.Helper()
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + l.t.TempDir()}, l.env...)
	c := runIn(l.t, env, "", "", append([]string{"trust", "--cwd", l.work}, args...)...)
	l.t.Log(c.out + c.errs)
	return int(c.code)
}

// TestTrustOfHooks: a workspace's hook runs only if the workspace is trusted in its present state.
func TestTrustOfHooks(t *testing.T) {
	t.Parallel()
	l := newLoom(t)
	stop := func(s *script) {
		t.Helper()
		s.send(contract.Cancel{})
		s.finish(contract.ExitFailed)
	}
	want := func(when string, marks int) {
		t.Helper()
		if got := l.marks(); got != marks {
			t.Fatalf("%s: the hook ran %d times, want %d", when, got, marks)
		}
	}
	s := l.begin()
	stop(s)
	if !strings.Contains(s.stderr.String(), "This workspace is not trusted") {
		t.Errorf("stderr: %s", s.stderr.String())
	}
	want("never trusted", 0)
	s = l.begin("--trust")
	stop(s)
	if !strings.Contains(s.stderr.String(), "Trusted for this run, as it is now: 1 × hook, 1 × script") {
		t.Errorf("stderr: %s", s.stderr.String())
	}
	want("with --trust", 1)
	testkit.Same(t, "--trust was recorded", int(contract.ExitFailed), l.trust("--show"))
	if code := l.trust("--yes"); code != 0 {
		t.Fatalf("trust --yes: %d", code)
	}
	stop(l.begin())
	want("trusted", 2)
	l.write("scripts/start.sh", "echo ran  >> "+l.mark+"\n")
	s = l.begin()
	stop(s)
	want("changed by a byte", 2)
	errors := collect[contract.Error](s)
	if len(errors) != 1 || errors[0].Category != bridge.CatTrust ||
		!strings.Contains(errors[0].Message, "changed: script scripts/start.sh") {
		t.Errorf("errors %+v", errors)
	}
	if session := collect[contract.Session](s)[0]; session.Trusted {
		t.Error("the session says that it is trusted")
	}
}

// TestTrustInTheRun: if trusted files change during a run, the change is found before the next agent starts.
func TestTrustInTheRun(t *testing.T) {
	for _, choice := range []string{"trust", "without"} {
		t.Run(choice, func(t *testing.T) {
			if choice == "without" {
				testkit.Long(t)
			}
			t.Parallel()
			l := newLoom(t)
			s := l.begin("--trust")
			l.write("scripts/start.sh", "echo ran  >> "+l.mark+"\n")
			s.send(contract.Say{Text: "greet with hail"})
			e := await[contract.Error](s, "the question of trust", func(_ string, e contract.Error) bool {
				return e.Category == bridge.CatTrust
			})
			if !strings.Contains(e.Message, "changed: script scripts/start.sh") || len(e.RecoveryOptions) != 3 {
				t.Errorf("error %+v", e)
			}
			if got := l.marks(); got != 1 {
				t.Errorf("the hook ran %d times before the choice", got)
			}
			s.send(contract.Choose{Option: choice})
			s.completes()
			want, code := 1, int(contract.ExitFailed)
			if choice == "trust" {
				want, code = 2, 0
			}
			if got := l.marks(); got != want {
				t.Errorf("the hook ran %d times, want %d", got, want)
			}
			testkit.Same(t, "trust --show afterwards", code, l.trust("--show"))
		})
	}
}
