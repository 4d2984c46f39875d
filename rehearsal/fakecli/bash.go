package fakecli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// outputLimit is how many bytes of a command's output the model reads.
const outputLimit = 30_000

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
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", t.s.prefixed(in.Command))
	cmd.Dir, cmd.Env = t.s.cwd, t.s.toolEnv()
	cmd.Stdout, cmd.Stderr = &out, &out
	ownSession(cmd)
	cmd.Cancel = func() error { return killSession(cmd.Process.Pid) }
	cmd.WaitDelay = orphanPatience
	err := cmd.Run()
	text := strings.TrimRight(strings.ToValidUTF8(string(out.Next(outputLimit)), "\uFFFD"), "\n")
	switch code := cmd.ProcessState.ExitCode(); { // -1 without a process, and of one that a signal ended
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
	case code < 0:
		return failed("Exit code 137\n%s", text)
	default:
		return failed("%s", strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", code, text)))
	}
	return &toolResult{content: cmp.Or(text, "(Bash completed with no output)")}
}

// prefixed makes a command the one argument of the program that is to start it.
func (s *session) prefixed(command string) string {
	prefix := os.Getenv("CLAUDE_CODE_SHELL_PREFIX")
	if prefix == "" {
		return command
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	return quote(prefix) + " " + quote(command)
}

// toolEnv is the environment of commands: the CLI's own and its markers.
func (s *session) toolEnv() []string {
	return append(os.Environ(), "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+s.id,
		"CLAUDE_PID="+strconv.Itoa(os.Getpid()))
}
