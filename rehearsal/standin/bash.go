package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// outputCap is how many characters of a command's output the model reads.
const outputCap = 30_000

// cappedBuffer keeps the beginning of what is written and counts the rest, so
// that a flood costs no memory.
type cappedBuffer struct {
	mu      sync.Mutex
	kept    []byte
	dropped int
}

func (b *cappedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(p), max(0, utf8.UTFMax*outputCap-len(b.kept)))
	b.kept = append(b.kept, p[:n]...)
	b.dropped += len(p) - n
	return len(p), nil
}

// text is the output as the model reads it.
func (b *cappedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	rs := []rune(strings.TrimRight(strings.ToValidUTF8(string(b.kept), "\uFFFD"), "\n"))
	dropped := b.dropped
	if len(rs) > outputCap {
		dropped += len(rs) - outputCap
		rs = rs[:outputCap]
	}
	if dropped == 0 {
		return string(rs)
	}
	return fmt.Sprintf("%s\n\n... [%d characters truncated] ...", string(rs), dropped)
}

// bashReadsOnly: commands that only read run beside each other.
func bashReadsOnly(input json.RawMessage) bool {
	parts, plain := splitCommand(callSubject("Bash", input))
	if !plain {
		return false
	}
	for _, p := range parts {
		if !readsOnly(strings.Fields(p)) {
			return false
		}
	}
	return true
}

// orphanPatience is how long output is waited for that a background job of an
// ended command might still write.
const orphanPatience = 200 * time.Millisecond

var errCommandTimeout = errors.New("command timed out")

// runBash runs a command in a session of its own: killing the CLI's process group
// does not reach it, just as with the CLI.
func runBash(ctx context.Context, t *thread, c toolCall) toolResult {
	var in struct {
		Command string  `json:"command"`
		Timeout float64 `json:"timeout"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	limit := 120 * time.Second
	if in.Timeout > 0 {
		limit = min(time.Duration(in.Timeout)*time.Millisecond, 600*time.Second)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errCommandTimeout)
	defer cancel()
	var out cappedBuffer
	cmd := exec.CommandContext(ctx, "bash", "-c", t.s.prefixed(in.Command))
	cmd.Dir, cmd.Env = t.s.cwd, t.s.toolEnv()
	cmd.Stdout, cmd.Stderr = &out, &out
	ownSession(cmd)
	cmd.Cancel = func() error { return killSession(cmd.Process.Pid) }
	cmd.WaitDelay = orphanPatience
	err := cmd.Run()
	text := out.text()
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errCommandTimeout) && exitCode(err) != 0:
		return exitFailure(143, fmt.Sprintf("Command timed out after %s", limit.Truncate(time.Second)), text)
	case cause != nil && exitCode(err) != 0:
		return exitFailure(137, text)
	case exitCode(err) != 0:
		return exitFailure(exitCode(err), text)
	}
	content := text
	if content == "" {
		content = "(Bash completed with no output)"
	}
	return toolResult{content: content, flag: true, detail: obj{
		"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
	}}
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

func exitFailure(code int, texts ...string) toolResult {
	parts := []string{"Exit code " + strconv.Itoa(code)}
	for _, t := range texts {
		if t != "" {
			parts = append(parts, t)
		}
	}
	return failed("%s", strings.Join(parts, "\n"))
}

// exitCode reads it from what Run returned. Output that a background job keeps
// open (exec.ErrWaitDelay) is no failure of the command.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case errors.As(err, &exit) && exit.ExitCode() >= 0:
		return exit.ExitCode()
	case errors.As(err, &exit):
		return 137
	}
	return 127
}

// toolEnv is the environment of commands: the CLI's own and its markers.
func (s *session) toolEnv() []string {
	return s.env.list(map[string]string{
		"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": s.id, "CLAUDE_PID": strconv.Itoa(s.pid),
		"CLAUDE_CODE_CHILD_SESSION": "1", "AI_AGENT": "claude-code_" + version,
	})
}
