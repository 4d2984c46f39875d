package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/hosts/hosttest"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestStartsWaitForProcessors: with one processor, one Orchestrator starts at a time, here and on another host. The
// status shows which ones wait, and the run completes.
func TestStartsWaitForProcessors(t *testing.T) {
	for _, where := range []string{"here", "a host"} {
		t.Run(where, func(t *testing.T) {
			if where != "here" {
				testkit.Long(t)
			}
			dir := gittest.Temp(t)
			bin, gate := filepath.Join(dir, "bin"), filepath.Join(dir, "gate")
			for _, d := range []string{"bin", "home"} {
				if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			equip(t, bin, "")
			script := write(t, fmt.Sprintf("#!/bin/sh\ncase \"$%s\" in orch-*)\n\twhile [ ! -e %s ]; do sleep 0.05; done ;;\n"+
				"esac\nexec %s/stand-in \"$@\"\n", proctree.EnvAgent, gate, bin), bin, "claude")
			args := []string{"--max-orchestrators", "4", "--allow", "Write", "--task", "Weave"}
			play := strings.NewReplacer(", host: far", "", ", host: h2", "").Replace(manyHands(4))
			p := player{name: where, args: []string{script}, real: true, env: []string{"GOMAXPROCS=1"}}
			if where == "a host" {
				p.env = nil
				config := write(t, fmt.Sprintf("hosts:\n  box:\n    command: [env, -i, GOMAXPROCS=1, HOME=%[1]s/home, "+
					"'PATH=%[1]s/bin:/usr/local/bin:/usr/bin:/bin']\n    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, "+
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n", dir), dir, "config.yaml")
				args = append(args, "--config", config, "--hosts", "box", "--isolation", "worktree")
			}
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			s, model := hiredIn(t, p, play, repo.Path, args...)
			await(s, "the last Orchestrator", func(id string, _ contract.Spawn) bool { return id == "orch-4" })
			want := []string{"orch-1 starting", "orch-2 queued", "orch-3 queued", "orch-4 queued"}
			hosttest.Await(t, strings.Join(want, ", "), func() bool { return slices.Equal(s.statuses(), want) })
			write(t, "", dir, "gate")
			s.finish(contract.ExitComplete)
			if list := model.Problems(); len(list) > 0 {
				t.Errorf("the play left its script: %v\n%s", list, s.dump())
			}
		})
	}
}

// statuses lists the Orchestrators and their statuses, as the control socket reports them.
func (s *script) statuses() (list []string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTimeout)
	defer cancel()
	client, st, err := control.Dial(ctx, filepath.Join(s.stateDir(), "runs", s.run(), control.SocketName), nil)
	if err != nil {
		s.t.Fatalf("ask for the status: %v\n%s", err, s.dump())
	}
	client.Close()
	for _, a := range st.Agents {
		if a.ID != contract.Arbiter {
			list = append(list, a.ID+" "+a.Status)
		}
	}
	return list
}
