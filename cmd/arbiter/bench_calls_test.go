package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// BenchmarkToolCall measures a tool call of an agent, from one result to the next, and the processor time of the host
// and the bridge for it, its messages included, with deny rules about commands and files. The baseline, measured in the
// same run and in turns, is the bare CLI with the same calls; its commands do not count as its processor time. It plays
// the pinned CLI.
func BenchmarkToolCall(b *testing.B) {
	claude := testkit.Must(pinnedClaude())(b)
	if claude == "" {
		b.Skip("no claude: run scripts/setup")
	}
	const warm, calls = 20, 100
	var ours, cli time.Duration
	var through, bare []time.Duration
	rounds := max(1, b.N/calls)
	for range rounds {
		t := callsThroughArbiter(b, claude, warm, calls)
		ours, cli, through = ours+t.ours, cli+t.cli, append(through, t.took)
		bare = append(bare, callsOfTheBareCLI(b, claude, warm, calls))
	}
	each := func(d time.Duration, of int) float64 { return d.Seconds() * 1000 / float64(of) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each(ours, rounds*calls), "ms-ours")
	b.ReportMetric(each(cli, rounds*calls), "ms-cli")
	b.ReportMetric(each(quantile(through, 0.5), calls), "through-ms")
	b.ReportMetric(each(quantile(bare, 0.5), calls), "bare-ms")
}

// timedCalls is what calls took, in all, and the processor time for them.
type timedCalls struct{ took, ours, cli time.Duration }

// callsThroughArbiter plays an Orchestrator that calls a tool again and again.
func callsThroughArbiter(b *testing.B, claude string, warm, calls int) (t timedCalls) {
	b.Helper()
	model := modelThatCalls(b, object{"name": "arbiter", "match": object{"role": "arbiter"}, "steps": []object{
		{"use": []object{{"tool": "mcp__arbiter__spawn_orchestrator", "input": object{"prompt": "Look."}}}},
		{"verdict": object{"decision": "CONTINUE", "message": "Patience.", "reason": "r"}},
	}, "otherwise": object{"verdict": object{"decision": "COMPLETE", "message": "It is done.", "summary": "s",
		"reason": "r"}}}, "orchestrator", warm+calls, object{"verdict": object{"expects_response": true, "kind": "done",
		"message": "Looked.", "handoff": object{"accomplished": []any{}, "remaining": []any{}, "key_context": "none",
			"checks": []any{}}}})
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", claude, "--cwd", b.TempDir(), "--task", "look",
		"--state-dir", b.TempDir(), "--sandbox", "off", "--allow", "Bash(true)", "--deny", "Bash(git push *)", "--deny",
		"Bash(rm -rf *)", "--deny", "Read(.env)", "--ask", "Bash(sudo *)")
	cmd.Env = modelEnv(b, model)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	used := func() timedCalls {
		bridgePID, ok := childNamed(cmd.Process.Pid, "bridge")
		if !ok {
			b.Skip("no /proc here")
		}
		now := timedCalls{ours: processorTime(b, cmd.Process.Pid) + processorTime(b, bridgePID)}
		for _, pid := range childrenOf(bridgePID) {
			now.cli += processorTime(b, pid)
		}
		return now
	}
	var at timedCalls
	t.took = timeResults(b, out, warm, calls, func(text []byte) bool {
		line, err := contract.DecodeLine(text)
		_, ok := line.Body.(contract.ToolResult)
		return err == nil && ok
	}, func() { at, t = t, used() })
	t.ours, t.cli = t.ours-at.ours, t.cli-at.cli
	_, _ = io.Copy(io.Discard, out)
	return t
}

// callsOfTheBareCLI plays the same calls, with the same rules, without Arbiter.
func callsOfTheBareCLI(b *testing.B, claude string, warm, calls int) time.Duration {
	b.Helper()
	model := modelThatCalls(b, nil, "any", warm+calls, object{"say": "Looked."})
	cmd := exec.Command(claude, "-p", "look", "--output-format", "stream-json", "--verbose", "--setting-sources", "",
		"--settings", `{"permissions":{"allow":["Bash(true)"],"ask":["Bash(sudo *)"],"deny":["Bash(git push *)",`+
			`"Bash(rm -rf *)","Read(.env)"]}}`)
	cmd.Env, cmd.Dir = modelEnv(b, model), b.TempDir()
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	defer func() { _ = cmd.Wait() }()
	took := timeResults(b, out, warm, calls, func(text []byte) bool {
		return bytes.HasPrefix(text, []byte(`{"type":"user"`))
	}, func() {})
	_, _ = io.Copy(io.Discard, out)
	return took
}

// modelThatCalls starts a model that plays an actor, and one that runs a command some times before its last step.
func modelThatCalls(b *testing.B, other object, role string, calls int, last object) *rehearsal.Server {
	b.Helper()
	call := object{"repeat": calls, "use": []object{{"tool": "Bash", "input": object{"command": "true",
		"description": "Look"}}}}
	actors := []object{{"name": "caller", "match": object{"role": role}, "steps": []object{call, last}}}
	if other != nil {
		actors = append([]object{other}, actors...)
	}
	raw := testkit.Must(json.Marshal(object{"name": "calls", "actors": actors}))(b)
	scenario := testkit.Must(rehearsal.Parse("calls.yaml", raw))(b)
	model := testkit.Must(rehearsal.Start(scenario, rehearsal.Options{}))(b)
	b.Cleanup(func() { _ = model.Close() })
	return model
}

// timeResults returns the time between two results among the lines of out, and calls at at both.
func timeResults(b *testing.B, out io.Reader, warm, calls int, result func(line []byte) bool, at func()) time.Duration {
	b.Helper()
	var began time.Time
	lines, seen := bufio.NewReaderSize(out, 1<<20), 0
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			b.Fatalf("%d of %d calls were seen: %v", seen, warm+calls, err)
		}
		if !result(text) {
			continue
		}
		switch seen++; seen {
		case warm:
			at()
			began = time.Now()
		case warm + calls:
			took := time.Since(began)
			at()
			return took
		}
	}
}
