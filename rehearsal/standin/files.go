package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// readCap is the size from which a file must be read in parts.
const readCap = 256 << 10

// abs resolves a path as the model gave it.
func (s *session) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.cwd, path)
}

func runRead(_ context.Context, t *thread, c toolCall) toolResult {
	var in struct {
		FilePath string `json:"file_path"`
		Offset   int    `json:"offset"`
		Limit    int    `json:"limit"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	path := t.s.abs(in.FilePath)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failed("File does not exist. Note: your current working directory is %s.", t.s.cwd)
	case err != nil:
		return failed("%v", err)
	case st.IsDir():
		return failed("EISDIR: illegal operation on a directory, read '%s'", path)
	case st.Size() > readCap && in.Limit == 0:
		return failed("File content (%d bytes) exceeds maximum allowed size (%d bytes). Use offset and limit to read parts of it.", st.Size(), readCap)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return failed("%v", err)
	}
	all := strings.Split(string(raw), "\n")
	start := max(in.Offset, 1)
	lines := all[min(start-1, len(all)):]
	if in.Limit > 0 && in.Limit < len(lines) {
		lines = lines[:in.Limit]
	}
	detail := obj{"type": "text", "file": obj{"filePath": path, "content": strings.Join(lines, "\n"),
		"numLines": len(lines), "startLine": start, "totalLines": len(all)}}
	if len(raw) == 0 {
		return toolResult{content: "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>", detail: detail}
	}
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d\t%s", start+i, l)
	}
	return toolResult{content: b.String(), detail: detail}
}

const stillCurrent = "(file state is current in your context — no need to Read it back)"

type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

func runWrite(_ context.Context, t *thread, c toolCall) toolResult {
	var in writeInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	path := t.s.abs(in.FilePath)
	kind, said := "create", "File created successfully at: %s %s"
	var before any
	if old, err := os.ReadFile(path); err == nil {
		kind, said, before = "update", "The file %s has been updated successfully. %s", string(old)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return failed("%v", err)
	}
	if err := os.WriteFile(path, []byte(in.Content), 0o644); err != nil {
		return failed("%v", err)
	}
	return toolResult{content: fmt.Sprintf(said, in.FilePath, stillCurrent), detail: obj{
		"type": kind, "filePath": in.FilePath, "content": in.Content, "structuredPatch": []obj{}, "originalFile": before, "userModified": false,
	}}
}

type editInput struct {
	FilePath   string `json:"file_path"`
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

func checkEdit(t *thread, c toolCall) *toolResult {
	var in editInput
	_ = json.Unmarshal(c.Input, &in) // its shape was checked before
	path := t.s.abs(in.FilePath)
	raw, err := os.ReadFile(path)
	var bad toolResult
	switch n := strings.Count(string(raw), in.Old); {
	case in.Old == in.New:
		bad = misused("No changes to make: old_string and new_string are exactly the same.")
	case errors.Is(err, fs.ErrNotExist) && in.Old != "":
		bad = misused("File does not exist. Note: your current working directory is %s.", t.s.cwd)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		bad = misused("%v", err)
	case n == 0:
		bad = misused("String to replace not found in file.\nString: %s", in.Old)
	case n > 1 && in.Old != "" && !in.ReplaceAll:
		bad = misused("Found %d matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. "+
			"To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: %s", n, in.Old)
	default:
		return nil
	}
	return &bad
}

func runEdit(_ context.Context, t *thread, c toolCall) toolResult {
	var in editInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return failed("%v", err)
	}
	path := t.s.abs(in.FilePath)
	raw, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("%v", err)
	}
	text, times := string(raw), 1
	if in.ReplaceAll {
		times = -1
	}
	if err := os.WriteFile(path, []byte(strings.Replace(text, in.Old, in.New, times)), 0o644); err != nil {
		return failed("%v", err)
	}
	return toolResult{content: fmt.Sprintf("The file %s has been updated successfully. %s", in.FilePath, stillCurrent), detail: obj{
		"filePath": in.FilePath, "oldString": in.Old, "newString": in.New, "originalFile": text,
		"structuredPatch": []obj{}, "userModified": false, "replaceAll": in.ReplaceAll,
	}}
}
