package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// BenchmarkToolCall measures the processor time of the host and the bridge for a tool call of an agent, its messages
// included, with deny rules about commands and files. The baseline, measured in the same run, is that of the CLI, whose
// commands do not count. It plays the pinned CLI, or without one the stand-in.
func BenchmarkToolCall(b *testing.B) {
	claude, err := pinnedClaude()
	if err != nil {
		b.Fatal(err)
	}
	if claude == "" {
		b.Skip("no claude: run scripts/setup")
	}
	const warm = 20
	calls := max(b.N, 100)
	var steps []object
	for range warm + calls {
		steps = append(steps, object{"use": []object{{"tool": "Bash", "input": object{
			"command": "echo one && ls src | head -3", "description": "Look"}}}})
	}
	steps = append(steps, object{"verdict": object{"expects_response": true, "kind": "done", "message": "Looked.",
		"handoff": object{"accomplished": []any{}, "remaining": []any{}, "key_context": "none", "checks": []any{}}}})
	raw, err := json.Marshal(object{"name": "calls", "actors": []object{{"name": "arbiter",
		"match": object{"role": "arbiter"}, "steps": []object{
			{"use": []object{{"tool": "mcp__arbiter__spawn_orchestrator", "input": object{"prompt": "Look."}}}},
			{"verdict": object{"decision": "CONTINUE", "message": "Patience.", "reason": "r"}},
		}, "otherwise": object{"verdict": object{"decision": "COMPLETE", "message": "It is done.", "summary": "s",
			"reason": "r"}}}, {"name": "orchestrator", "match": object{"role": "orchestrator"}, "steps": steps}}})
	if err != nil {
		b.Fatal(err)
	}
	scenario, err := rehearsal.Parse("calls.yaml", raw)
	if err != nil {
		b.Fatal(err)
	}
	model, err := rehearsal.Start(scenario, rehearsal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer model.Close()
	work := b.TempDir()
	if err := os.MkdirAll(filepath.Join(work, "src"), 0o700); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", claude, "--cwd", work, "--task", "look",
		"--state-dir", b.TempDir(), "--sandbox", "off", "--deny", "Bash(git push *)", "--deny", "Bash(rm -rf *)", "--deny",
		"Read(.env)", "--ask", "Bash(sudo *)")
	cmd.Env = []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "ANTHROPIC_BASE_URL=" + model.URL(),
		"ANTHROPIC_API_KEY=" + model.Key(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	var host, bridge, cli, hostAt, bridgeAt, cliAt time.Duration
	lines, seen := bufio.NewReaderSize(out, 1<<20), 0
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		line, err := contract.DecodeLine(text)
		if _, ok := line.Body.(contract.ToolResult); err != nil || !ok {
			continue
		}
		if seen++; seen != warm && seen != warm+calls {
			continue
		}
		bridgePID, ok := childNamed(cmd.Process.Pid, "bridge")
		if !ok {
			b.Skip("no /proc here")
		}
		hostAt, bridgeAt, cliAt = host, bridge, cli
		host, bridge, cli = processorTime(b, cmd.Process.Pid), processorTime(b, bridgePID), 0
		for _, pid := range childrenOf(bridgePID) {
			cli += processorTime(b, pid)
		}
	}
	if seen < warm+calls {
		b.Fatalf("%d of %d calls were seen", seen, warm+calls)
	}
	each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(calls) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(each(host-hostAt+bridge-bridgeAt), "ms-ours")
	b.ReportMetric(each(cli-cliAt), "ms-cli")
}
