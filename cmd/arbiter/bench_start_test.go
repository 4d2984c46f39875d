package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

func benchClaude(b *testing.B) string {
	b.Helper()
	path := testkit.Must(pinnedClaude())(b)
	if path == "" {
		b.Skip("no claude: run scripts/setup")
	}
	return path
}

// startModel serves a scenario that answers every session at once: only the start is measured.
func startModel(b *testing.B) *rehearsal.Server {
	b.Helper()
	sc, err := rehearsal.Parse("start.yaml", []byte("name: start\ntitle: Start\nactors:\n  - name: anybody\n    match: "+
		"{role: any}\n    steps:\n      - {say: Here., repeat: forever}\n"))
	if err != nil {
		b.Fatal(err)
	}
	s := testkit.Must(rehearsal.Start(sc, rehearsal.Options{}))(b)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func modelEnv(b *testing.B, s *rehearsal.Server) []string {
	return []string{
		"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + host.CacheHome(),
		"ANTHROPIC_BASE_URL=" + s.URL(), "ANTHROPIC_API_KEY=" + s.Key(), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	}
}

func timeArbiter(b *testing.B, claude string, s *rehearsal.Server) time.Duration {
	b.Helper()
	cmd := exec.Command("arbiter", "--json", "--no-input", "--claude", claude, "--task", "begin")
	cmd.Env, cmd.Dir = modelEnv(b, s), b.TempDir()
	began := time.Now()
	timeLines(b, cmd, nil, func(line []byte, _ io.Writer) bool {
		l := testkit.Must(contract.DecodeLine(line))(b)
		_, ok := l.Body.(contract.Delivered)
		return ok
	})
	return time.Since(began)
}

// timeBare drives the CLI in the simplest way: initialize, one message, and the frame with the model's answer.
func timeBare(b *testing.B, claude string, s *rehearsal.Server) time.Duration {
	b.Helper()
	cmd := exec.Command(claude, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--setting-sources", "user", "--session-id", uuid.NewString())
	cmd.Env, cmd.Dir = modelEnv(b, s), b.TempDir()
	began := time.Now()
	timeLines(b, cmd, []byte(`{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}`+"\n"),
		func(line []byte, in io.Writer) bool {
			var m struct {
				Type string `json:"type"`
			}
			testkit.OK(b, json.Unmarshal(line, &m))
			if m.Type == "control_response" {
				fmt.Fprintf(in, `{"type":"user","uuid":%q,"message":{"role":"user","content":"begin"},"parent_tool_use_id":null}`+"\n", uuid.NewString())
			}
			return m.Type == "assistant"
		})
	return time.Since(began)
}

// timeLines runs a command until it prints the awaited line.
func timeLines(b *testing.B, cmd *exec.Cmd, hello []byte, awaited func(line []byte, in io.Writer) bool) {
	b.Helper()
	in := testkit.Must(cmd.StdinPipe())(b)
	out := testkit.Must(cmd.StdoutPipe())(b)
	testkit.OK(b, cmd.Start())
	testkit.Must(in.Write(hello))(b)
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line := testkit.Must(r.ReadBytes('\n'))(b)
		if awaited(line, in) {
			break
		}
	}
	b.StopTimer()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.StartTimer()
}
