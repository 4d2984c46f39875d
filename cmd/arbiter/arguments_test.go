package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestBadArguments: bad arguments, as a shell or a broken script may pass them, are refused at once. The error
// line names the argument and is safe for a terminal; no run is begun.
func TestBadArguments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_STATE_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	pipe := filepath.Join(dir, "pipe")
	testkit.OK(t, syscall.Mkfifo(pipe, 0o600))
	large := filepath.Join(dir, "large.md")
	testkit.OK(t, os.WriteFile(large, []byte(strings.Repeat("x", 64<<20)), 0o600))
	base := []string{"arbiter", "--json", "--state-dir", filepath.Join(dir, "state"), "--cwd", dir, "--claude",
		"/nonexistent/claude"}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"directory":        {[]string{dir}, dir},
		"FIFO":             {[]string{pipe}, pipe},
		"device":           {[]string{"/dev/zero"}, "/dev/zero"},
		"no file":          {[]string{"/nonexistent/\x1b[2Jx\u202e.md"}, "/nonexistent/"},
		"too large":        {[]string{large}, "at most"},
		"NUL":              {[]string{"--cwd", "a\x00b", "--task", "x"}, "cwd"},
		"invalid UTF-8":    {[]string{"--cwd", "\xff\xfe", "--task", "x"}, "cwd"},
		"unknown flag":     {[]string{"--\x1b]0;owned\a"}, ""},
		"task like a flag": {[]string{"--task", "x", "-rf"}, "r"},
		"session, bad":     {[]string{"--session", "no such \x1b[2J"}, "no such"},
		"session, beyond":  {[]string{"--session", "../../../etc/passwd"}, "passwd"},
		"session, foreign": {[]string{"--session", "01234567-89ab-4cde-8f01-23456789abcd"}, "01234567"},
		"session, empty":   {[]string{"--session", ""}, ""},
		"after --":         {[]string{"--", "--task"}, "--task"},
	} {
		var out, errs strings.Builder
		code := run(append(append([]string{}, base...), c.args...), strings.NewReader(""), &out, &errs)
		text := errs.String()
		if code != int(contract.ExitUsage) || !strings.Contains(text, c.want) || sanitize.Text(text) != text ||
			strings.Contains(out.String(), `"event":"spawn"`) {
			t.Errorf("%s: exit code %d, said %q, told %.300s", name, code, text, out.String())
		}
	}
}
