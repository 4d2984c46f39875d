package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// outputLimit is how many bytes of a command's output the model reads.
const outputLimit = 30_000

// cappedBuffer keeps the beginning of what is written, so that a flood costs no memory.
type cappedBuffer struct {
	mu      sync.Mutex
	kept    []byte
	dropped int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(p), outputLimit-len(b.kept))
	b.kept = append(b.kept, p[:n]...)
	b.dropped += len(p) - n
	return len(p), nil
}

// text is the output as the model reads it.
func (b *cappedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.TrimRight(strings.ToValidUTF8(string(b.kept), "\uFFFD"), "\n")
	if b.dropped > 0 {
		text += fmt.Sprintf("\n\n... [%d characters truncated] ...", b.dropped)
	}
	return text
}

// orphanPatience is how long output is waited for that a background job of an ended command
// might still write.
const orphanPatience = 200 * time.Millisecond

// runBash runs a command in its own session: killing the CLI's process group does not reach
// it, just as with the CLI.
func runBash(ctx context.Context, t *thread, c toolCall) *toolResult {
	var in struct{ Command string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	var out cappedBuffer
	cmd := exec.CommandContext(ctx, "bash", "-c", t.s.prefixed(in.Command))
	cmd.Dir, cmd.Env = t.s.cwd, t.s.toolEnv()
	cmd.Stdout, cmd.Stderr = &out, &out
	ownSession(cmd)
	cmd.Cancel = func() error { return killSession(cmd.Process.Pid) }
	cmd.WaitDelay = orphanPatience
	err := cmd.Run()
	text := out.text()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return failed("%s", strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", exitCode(cmd), text)))
	}
	if text == "" {
		return &toolResult{content: "(Bash completed with no output)", said: true}
	}
	return &toolResult{content: text, said: true}
}

// exitCode is 137 for a command that a signal ended, 127 for one that did not start.
func exitCode(cmd *exec.Cmd) int {
	switch {
	case cmd.ProcessState == nil:
		return 127
	case cmd.ProcessState.ExitCode() < 0:
		return 137
	}
	return cmd.ProcessState.ExitCode()
}

// prefixed makes a command the one argument of the program that is to start it.
func (s *session) prefixed(command string) string {
	prefix := s.env["CLAUDE_CODE_SHELL_PREFIX"]
	if prefix == "" {
		return command
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	return quote(prefix) + " " + quote(command)
}

// toolEnv is the environment of commands: the CLI's own and its markers.
func (s *session) toolEnv() []string {
	var env []string
	for name, value := range s.env {
		env = append(env, name+"="+value)
	}
	return append(env, "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+s.id,
		"CLAUDE_PID="+strconv.Itoa(os.Getpid()))
}
