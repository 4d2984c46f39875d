package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
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

// readFileInput reads the input of a call, and the path it names as an absolute one.
func (t *thread) readFileInput(c toolCall) (in fileInput, path string) {
	_ = json.Unmarshal(c.Input, &in) // another shape names no file, and fails there
	if path = in.FilePath + in.Path; !filepath.IsAbs(path) {
		path = filepath.Join(t.s.cwd, path)
	}
	return in, path
}

// runRead numbers the lines of a file.
func runRead(_ context.Context, t *thread, c toolCall) *toolResult {
	_, path := t.readFileInput(c)
	raw, err := os.ReadFile(path)
	if err != nil {
		return failed("File does not exist. Note: your current working directory is %s.", t.s.cwd)
	}
	var b strings.Builder
	for i, line := range strings.Split(string(raw), "\n") {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, line)
	}
	return &toolResult{content: strings.TrimSuffix(b.String(), "\n")}
}

func runWrite(_ context.Context, t *thread, c toolCall) *toolResult {
	in, path := t.readFileInput(c)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return failed("%v", err)
	}
	if err := os.WriteFile(path, []byte(in.Content), 0o644); err != nil {
		return failed("%v", err)
	}
	return &toolResult{content: "File created successfully at: " + in.FilePath}
}

func runEdit(_ context.Context, t *thread, c toolCall) *toolResult {
	in, path := t.readFileInput(c)
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), in.Old) {
		return failed("String to replace not found in file.\nString: %s", in.Old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(raw), in.Old, in.New, 1)), 0o644); err != nil {
		return failed("%v", err)
	}
	return &toolResult{content: "The file " + in.FilePath + " has been updated successfully."}
}

// runSearch leaves Glob and Grep to the shell's tools, where there are any.
func runSearch(ctx context.Context, t *thread, c toolCall) *toolResult {
	in, path := t.readFileInput(c)
	cmd := exec.CommandContext(ctx, "grep", "-rInE", "--include="+cmp.Or(in.Glob, "*"), "-e", in.Pattern, "--", path)
	if c.Name == "Glob" {
		cmd = exec.CommandContext(ctx, "find", path, "-name", in.Pattern)
	}
	out, err := cmd.Output()
	if err != nil || len(out) == 0 {
		return &toolResult{content: "No files found"}
	}
	return &toolResult{content: strings.TrimSpace(string(out))}
}
