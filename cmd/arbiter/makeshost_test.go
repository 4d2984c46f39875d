package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// madeThere are the makes that are played on another host: the fake one, also in another account, behind ssh, and in
// long tests real ones, which are installed in this account.
var madeThere = []string{"fake", "fake by ssh", "opencode", "claude-acp", "codex", "gemini", "copilot"}

// startThere starts a run whose only host has the make `other`.
func startThere(t *testing.T, name, play string, args ...string) (s *script, repo gittest.Dir) {
	t.Helper()
	spec, env := bridge.MakeSpec{Name: "opencode", Command: []string{"fake-acp"}}, []string{}
	there := hostKinds()[0]
	fake, _, ssh := strings.Cut(name, " by ")
	if ssh {
		there = hostKinds()[1]
	}
	if fake != "fake" {
		testkit.Long(t)
		home := t.TempDir()
		spec = acptest.StartModel(t).Real(t, name, home)
		env = append(spec.Env, "HOME="+home)
	}
	command := there.commands(t, "")["box"]
	for i, entry := range env {
		env[i] = strings.TrimSuffix(entry, "=dummy") // the host passes the key
	}
	words, _ := json.Marshal(spec.Command)
	environment, _ := json.Marshal(env)
	makes := fmt.Sprintf("makes:\n  third: {command: [not-there], accept_unasked: true}\n  other:\n    like: %s\n"+
		"    command: %s\n    env: %s\n    accept_unasked: %t\n", spec.Name, words, environment,
		slices.Contains(unasked, name))
	config := write(t, fmt.Sprintf("hosts:\n  box:\n    command: [%s]\n    pass_env: [ANTHROPIC_BASE_URL, "+
		"ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n%s", command, makes), t.TempDir(), "config.yaml")
	repo = gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, _ = hiredIn(t, players(t)[0], play, repo.Path, append([]string{"--config", config, "--hosts", "box", "--isolation",
		"worktree", "--start-timeout", "90s", "--task", "Weave"}, args...)...)
	return s, repo
}

// TestAnotherMakeOnAHost: an Orchestrator of another make works on another host as it does here, and its work comes
// back.
func TestAnotherMakeOnAHost(t *testing.T) {
	for _, name := range madeThere {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := strings.Replace(othersPlay, "[[write {{.cwd}}/made.txt|by another]]",
				`[[shell printf "by another" >made.txt]]`, 1)
			if slices.Contains(endTurns, name) {
				play = strings.Replace(play, "[[shell touch forbidden]]", "", 1)
			}
			s, repo := startThere(t, name, play, "--deny", "Bash(touch forbidden*)", "--permissions", "ask")
			if r := s.permits("orch-1", bridge.Allow); r.Tool != "Bash" || !strings.Contains(string(r.Input), "made.txt") {
				t.Errorf("request %+v", r)
			}
			if r := s.finish(contract.ExitComplete); !sums(r, "all of it") {
				t.Errorf("result %+v", r)
			}
			makes := map[string]string{}
			for _, l := range s.lines {
				if b, ok := l.Body.(contract.Spawn); ok && b.Host == "box" {
					makes[l.ID] = b.Make
				}
			}
			if len(makes) != 3 || makes["orch-1"] != "other" || makes["orch-2"] != "" || makes["orch-3"] != "other" {
				t.Errorf("on the host: %v", makes)
			}
			branch := fmt.Sprintf("arbiter/%.8s/main", s.run())
			testkit.Same(t, "merged here", "by another", repo.Git("show", branch+":made.txt"))
			if files := repo.Git("ls-tree", "--name-only", branch); strings.Contains(files, "forbidden") {
				t.Error("a denied call ran")
			}
		})
	}
}

// TestAnotherMakeOfALostHost: when its host was lost, an agent of another make continues its session there.
func TestAnotherMakeOfALostHost(t *testing.T) {
	onlyLinux(t)
	for _, name := range madeThere {
		t.Run(name, func(t *testing.T) {
			if name != "fake" {
				testkit.Long(t)
			}
			t.Parallel()
			s, _ := startThere(t, name, resumePlay, "--lease", "5s")
			there := await[contract.Workspace](s, "its directory", nil).Dir
			s.permits("orch-1", bridge.Allow)
			awaitFile(t, filepath.Join(there, "begun"))
			for pid, cmd := range survivors(s.run()) {
				if strings.Contains(cmd, "bridge --remote") {
					_ = syscall.Kill(pid, syscall.SIGKILL) // the second may have ended with the first
				}
			}
			await[contract.Spawn](s, "its next process", func(id string, b contract.Spawn) bool {
				return id == "orch-1" && b.Make == "other" && b.Host == "box" &&
					b.Resumed == slices.Contains(resumes, strings.TrimSuffix(name, " by ssh"))
			})
			if r := s.finish(contract.ExitComplete); !sums(r, "all of it") {
				t.Errorf("result %+v", r)
			}
		})
	}
}

// TestAMakeThatAHostLacks: the Arbiter hears on which host the program of a make is missing, that host stays in use,
// and hosts check says what is missing.
func TestAMakeThatAHostLacks(t *testing.T) {
	t.Parallel()
	play := strings.NewReplacer("make: none", "make: third", "[[fail 401]]", handOver,
		`'There is no make "none". Makes: claude, other'`, "'could not start: host box: the make third: .*not-there'",
		"expect: orch-1", "expect: Half is done").Replace(failPlay)
	s, _ := startThere(t, "fake", play)
	if r := s.finish(contract.ExitComplete); !sums(r, "by Claude") {
		t.Errorf("result %+v", r)
	}
	config := s.cmd.Args[slices.Index(s.cmd.Args, "--config")+1]
	_, found := s.checked(0, "--config", config, "--wait=1m", "box")
	if f := found["make third"]; f.State != host.DoctorWarn || f.Found != "not-there is not there" {
		t.Errorf("hosts check: %+v", found)
	}
	if f := found["make other"]; f.State != host.DoctorOK {
		t.Errorf("hosts check: %+v", found)
	}
}
