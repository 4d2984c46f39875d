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
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// fileInput is the input of the file tools.
type fileInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	Pattern  string `json:"pattern"`
	Path     string `json:"path"`
}

// fileTool makes a tool from a function. The process's directory is the session's.
func fileTool(run func(in fileInput) (string, error)) toolFunc {
	return func(_ context.Context, _ *thread, c toolCall) *toolResult {
		var in fileInput
		_ = json.Unmarshal(c.Input, &in) // other input has no file name, and fails there
		text, err := run(in)
		if err != nil {
			return failed(err.Error())
		}
		return &toolResult{content: text}
	}
}

// read returns the lines of a file with their numbers.
func read(in fileInput) (string, error) {
	raw, err := os.ReadFile(in.FilePath)
	lines := strings.Split(string(raw), "\n")
	for i := range lines {
		lines[i] = strconv.Itoa(i+1) + "\t" + lines[i]
	}
	return strings.Join(lines, "\n"), err
}

func write(in fileInput) (string, error) {
	_ = os.MkdirAll(filepath.Dir(in.FilePath), 0o755) // otherwise the file cannot be written either
	return "File created successfully at: " + in.FilePath, os.WriteFile(in.FilePath, []byte(in.Content), 0o644)
}

func edit(in fileInput) (string, error) {
	raw, err := os.ReadFile(in.FilePath)
	if err != nil || !strings.Contains(string(raw), in.Old) {
		return "", errors.New("String to replace not found in file.\nString: " + in.Old)
	}
	text := strings.Replace(string(raw), in.Old, in.New, 1)
	return "The file " + in.FilePath + " has been updated successfully.", os.WriteFile(in.FilePath, []byte(text), 0o644)
}

// grep runs the program of that name; if it fails, it has found nothing.
func grep(in fileInput) (string, error) {
	out, _ := exec.Command("grep", "-rInE", "-e", in.Pattern, "--", cmp.Or(in.Path, ".")).Output()
	return cmp.Or(strings.TrimSpace(string(out)), "No files found"), nil
}

// outputLimit is how many bytes of a command's output the model reads.
const outputLimit = 30_000

// orphanWait is how long to wait for output that a background job of an ended command might still
// write.
const orphanWait = 200 * time.Millisecond

// runBash runs a command in its own session: killing the CLI's process group does not reach it, as with the
// CLI.
func runBash(ctx context.Context, t *thread, c toolCall) *toolResult {
	var in struct{ Command string }
	_ = json.Unmarshal(c.Input, &in) // other input has no command
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "bash", "-c", prefixed(in.Command))
	cmd.Stdout, cmd.Stderr = &out, &out
	t.s.apart(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = orphanWait
	err := cmd.Run()
	text := strings.TrimRight(strings.ToValidUTF8(string(out.Next(outputLimit)), "\uFFFD"), "\n")
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return &toolResult{content: cmp.Or(text, "(Bash completed with no output)")}
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 { // no process, or one that a signal ended
		code = 137
	}
	return failed(strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", code, text)))
}

// apart gives a command its own session, the session's directory, and the CLI's environment with the
// markers for children.
func (s *session) apart(cmd *exec.Cmd) {
	cmd.Dir = s.cwd
	cmd.Env = append(os.Environ(), "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+s.id,
		"CLAUDE_PID="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// prefixed makes a command the one argument of the program that must start it, if there is one.
func prefixed(command string) string {
	prefix := os.Getenv("CLAUDE_CODE_SHELL_PREFIX")
	if prefix == "" {
		return command
	}
	quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	return quote(prefix) + " " + quote(command)
}
