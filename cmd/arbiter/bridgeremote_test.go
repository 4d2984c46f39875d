package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// turnsOf is a handler that waits for the end of a turn.
type turnsOf struct {
	host.NoHandler
	turns chan bridge.Turn
}

func (h turnsOf) Event(ev bridge.Event) {
	if turn, ok := ev.Body.(bridge.Turn); ok {
		h.turns <- turn
	}
}

// TestRemoteBridge drives `arbiter bridge --remote` with real CLIs: the agent gets the variables that are
// passed to it and none that lead back to the user's machine, checks get neither, and no secret is an argument
// of a process.
func TestRemoteBridge(t *testing.T) {
	testkit.Long(t)
	script := testkit.Must(rehearsal.Parse("remote.yaml", []byte(`name: remote
title: Remote
actors:
  - name: anybody
    match: {role: any}
    steps: [{expect: hello, verdict: {word: hail}}]
`)))(t)
	model := testkit.Must(rehearsal.Start(script, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	for _, p := range players(t) {
		t.Run(p.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			claude := bridge.ClaudeSpec{Path: p.args[len(p.args)-1]}
			if !p.real {
				self := testkit.Must(exec.LookPath("arbiter"))(t)
				claude = bridge.ClaudeSpec{Path: self, Args: []string{host.StandInCommand}}
			}
			work, run, secret := t.TempDir(), uuid.NewString(), "npm_"+uuid.NewString()
			cmd := exec.Command("arbiter", "bridge", "--remote")
			cmd.Env = append(host.StageEnviron(t.TempDir(), model), "SSH_AUTH_SOCK=/tmp/no-agent.sock")
			h := turnsOf{turns: make(chan bridge.Turn, 1)}
			c := testkit.Must(bridge.StartProcess(ctx, cmd, h, nil, proctree.Keep))(t)
			defer c.Close()
			hello := testkit.Must(c.Initialize(ctx, bridge.InitializeParams{Client: "a test", Run: run, Bridge: "box",
				Claude: claude, Remote: &bridge.RemoteParams{Version: command.Version(), LeaseMS: 60_000,
					Dir: filepath.Join(work, "agents"), PassEnv: map[string]string{"NPM_TOKEN": secret}}}))(t)
			ref := bridge.AgentRef{ID: "orch-1", Generation: 1}
			spawned := testkit.Must(c.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: bridge.AgentConfig{
				SessionID: uuid.NewString(), CWD: work, SettingSources: []string{},
				JSONSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`)}}))(t)
			if !slices.Contains(spawned.Env, "NPM_TOKEN") || slices.Contains(spawned.Env, "SSH_AUTH_SOCK") ||
				!slices.Contains(spawned.Env, proctree.EnvBridge) {
				t.Errorf("the agent's variables: %v", spawned.Env)
			}
			testkit.OK(t, c.Message(ctx, bridge.MessageParams{AgentRef: ref, MessageID: uuid.NewString(), Content: "hello"}))
			if turn := <-h.turns; !strings.Contains(string(turn.Verdict), "hail") {
				t.Errorf("the turn: %+v", turn)
			}
			checked, err := c.Check(ctx, bridge.CheckParams{Command: "env", CWD: work})
			if err != nil || strings.Contains(checked.Output, secret) || strings.Contains(checked.Output, "SSH_AUTH_SOCK") {
				t.Errorf("a check's environment: %v, %v", checked.Output, err)
			}
			for _, line := range commandLines(t) {
				if strings.Contains(line, secret) {
					t.Errorf("a secret is an argument: %s", line)
				}
			}
			if hello.Remote.Dir != filepath.Join(work, "agents") || hello.Remote.LeaseMS != 60_000 {
				t.Errorf("it told %+v", hello.Remote)
			}
			var hops []time.Duration
			for range 200 {
				began := time.Now()
				testkit.Must(c.Resolve(ctx, bridge.ResolveParams{Paths: []string{work, "/nowhere"}}))(t)
				hops = append(hops, time.Since(began))
			}
			slices.Sort(hops)
			t.Logf("resolve of two paths: p50 %v, p99 %v", hops[len(hops)/2], hops[len(hops)*99/100])
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			awaitGone(t, run)
		})
	}
}

// commandLines are the arguments of all processes.
func commandLines(t *testing.T) (lines []string) {
	t.Helper()
	files := testkit.Must(filepath.Glob("/proc/[0-9]*/cmdline"))(t)
	for _, file := range files {
		if raw, err := os.ReadFile(file); err == nil { // otherwise the process has ended
			lines = append(lines, fmt.Sprintf("%q", raw))
		}
	}
	return lines
}
