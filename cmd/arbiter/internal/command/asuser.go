package command

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// RunAsUser runs a program as the user would run it in dir, with the user's environment, and returns its output. Errors
// have exit code 5 and quote the end of what it said.
func RunAsUser(ctx context.Context, dir, stdin, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(stdin)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		hint := ""
		if program == "gh" {
			hint = ": install GitHub's program gh (https://cli.github.com), and log in with gh auth login"
		}
		return "", Environmentf("%s is not installed%s", program, hint)
	}
	if err != nil {
		const most = 1000
		text := strings.TrimSpace(said.String())
		return "", Environmentf("%s %s: %v: %s", program, strings.Join(args[:min(len(args), 2)], " "), err,
			sanitize.Line(text[max(len(text)-most, 0):], most))
	}
	return out.String(), nil
}
