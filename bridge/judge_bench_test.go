package bridge

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

// BenchmarkJudge measures a tool call judged through the bridge, against a permission
// asked for through it in the same run.
func BenchmarkJudge(b *testing.B) {
	near, far := filePair(b)
	l := &fakeLauncher{}
	served := make(chan error, 1)
	go func() { served <- NewServer(l, ServerOptions{}).Serve(context.Background(), far) }()
	c := NewClient(near, &recorder{
		permission: func(context.Context, PermissionParams) (PermissionResult, error) {
			return PermissionResult{Behavior: Allow}, nil
		},
		judge: func(context.Context, JudgeParams) (JudgeResult, error) { return JudgeResult{Behavior: Allow}, nil },
	}, nil)
	defer func() { c.Close(); <-served }()
	ctx := b.Context()
	if _, err := c.Initialize(ctx, InitializeParams{Run: "r"}); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Spawn(ctx, spawnParams("orch-1", 1)); err != nil {
		b.Fatal(err)
	}
	host := l.agent(AgentRef{"orch-1", 1}).host
	input := json.RawMessage(`{"command":"go test ./...","description":"Run the tests"}`)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := host.Judge(ctx, JudgeParams{Tool: "Bash", Input: input, ToolUse: "toolu_1"}); err != nil || r.Behavior != Allow {
			b.Fatal(r, err)
		}
	}
	judged := b.Elapsed()
	b.StopTimer()
	begun := time.Now()
	for range b.N {
		if r, err := host.Permission(ctx, PermissionParams{Request: "p", Tool: "Bash", Input: input, ToolUse: "toolu_1"}); err != nil || r.Behavior != Allow {
			b.Fatal(r, err)
		}
	}
	permitted := time.Since(begun)
	b.ReportMetric(float64(permitted.Nanoseconds())/float64(b.N), "permission-ns/op")
	b.ReportMetric(float64(judged)/float64(permitted), "x-permission")
}
