package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/hooks"
)

// releaseProgram builds the program as it is released. The test binary, which acts as arbiter in tests, also
// contains the tests and their imports, and takes longer to start.
func releaseProgram(b *testing.B) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "arbiter")
	if out, err := exec.Command("../../scripts/build", path).CombinedOutput(); err != nil {
		b.Fatalf("scripts/build: %v: %s", err, out)
	}
	return path
}

// BenchmarkHook measures the median time that a hook costs a session, from start to exit. It alternates
// between a run that answers, no run, and a program that does nothing.
func BenchmarkHook(b *testing.B) {
	arbiter := releaseProgram(b)
	dir, err := os.MkdirTemp("/tmp", "hook")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	const session, token = "33e2ace1-d4bc-47dd-9200-fa457d13e61f", "a token"
	b.Setenv(hookclient.TokenEnv, token) // hook processes are our descendants, like an agent's
	var generation atomic.Int64
	server, err := host.ServeHookSocket(dir, host.HookSocketService{
		Agent: func(string) (host.HookSocketAgent, bool) { // a new generation each time, so that it is reported
			return host.HookSocketAgent{
				AgentRef: bridge.AgentRef{ID: "orch-1", Generation: int(generation.Add(1))}, Session: session,
				Window: 200_000, Policy: hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85,
					KeepContext: true},
			}, true
		},
		Token:   func(_, secret string) bool { return secret == token },
		Tokens:  func(string) (int, error) { return 190_000, nil },
		Written: func(string, string) bool { return true },
		Report:  func(bridge.AgentRef, host.HookSocketOutcome) {},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	event := string(hooks.Input{Event: hooks.PostToolUse, SessionID: session, Tool: "Bash",
		TranscriptPath: "/h/.claude/projects/-w/" + session + ".jsonl"}.JSON())
	nobody := filepath.Join(dir, "nobody")
	kinds := []struct {
		name string
		args []string
		says bool
		took []time.Duration
	}{
		{name: "true", args: []string{"true"}},
		{name: "silent", args: []string{arbiter, "hook", "--socket", nobody}},
		{name: "told", args: []string{arbiter, "hook", "--socket", server.Path()}, says: true},
	}
	for b.Loop() {
		for i := range kinds {
			k := &kinds[i]
			cmd := exec.Command(k.args[0], k.args[1:]...)
			cmd.Stdin = strings.NewReader(event)
			began := time.Now()
			out, err := cmd.Output()
			k.took = append(k.took, time.Since(began))
			if err != nil || (len(out) > 0) != k.says {
				b.Fatalf("%s: %v, %q", k.name, err, out)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	for _, k := range kinds {
		slices.Sort(k.took)
		b.ReportMetric(float64(k.took[len(k.took)/2].Microseconds())/1000, k.name+"-ms")
	}
}
