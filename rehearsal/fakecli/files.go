package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fileInput is what the file tools are called with.
type fileInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	Pattern  string `json:"pattern"`
	Path     string `json:"path"`
	Glob     string `json:"glob"`
}

// fileTool makes a tool of a function that is given the path of a call as an absolute one.
func fileTool(run func(ctx context.Context, in fileInput, path string) (string, error)) toolFunc {
	return func(ctx context.Context, t *thread, c toolCall) *toolResult {
		var in fileInput
		_ = json.Unmarshal(c.Input, &in) // another shape names no file, and fails there
		path := in.FilePath + in.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.s.cwd, path)
		}
		text, err := run(ctx, in, path)
		if err != nil {
			return failed("%v", err)
		}
		return &toolResult{content: text}
	}
}

// read numbers the lines of a file.
func read(_ context.Context, _ fileInput, path string) (string, error) {
	raw, err := os.ReadFile(path)
	var b strings.Builder
	for i, line := range strings.Split(string(raw), "\n") {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, line)
	}
	return strings.TrimSuffix(b.String(), "\n"), err
}

func write(_ context.Context, in fileInput, path string) (string, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return "File created successfully at: " + in.FilePath, os.WriteFile(path, []byte(in.Content), 0o644)
}

func edit(_ context.Context, in fileInput, path string) (string, error) {
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), in.Old) {
		return "", errors.New("String to replace not found in file.\nString: " + in.Old)
	}
	text := strings.Replace(string(raw), in.Old, in.New, 1)
	return "The file " + in.FilePath + " has been updated successfully.", os.WriteFile(path, []byte(text), 0o644)
}

func glob(ctx context.Context, in fileInput, path string) (string, error) {
	return search(exec.CommandContext(ctx, "find", path, "-name", in.Pattern))
}

func grep(ctx context.Context, in fileInput, path string) (string, error) {
	return search(exec.CommandContext(ctx, "grep", "-rInE", "--include="+cmp.Or(in.Glob, "*"),
		"-e", in.Pattern, "--", path))
}

// search leaves the work to the shell's tools, where there are any.
func search(cmd *exec.Cmd) (string, error) {
	out, _ := cmd.Output() // an error is the same as nothing
	return cmp.Or(strings.TrimSpace(string(out)), "No files found"), nil
}
