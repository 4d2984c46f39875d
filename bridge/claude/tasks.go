package claude

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Bounds of an agent's list of tasks.
const (
	maxTasks    = 200
	maxTaskText = 500
	maxTaskFile = 1 << 20
)

// isTaskTool reports whether name is a tool that changes or lists tasks. CLI 2.1.329 has the task tools if
// CLAUDE_CODE_ENABLE_TODO_TOOLS=1 is set or --tools or --allowedTools names one; it has TodoWrite instead
// if CLAUDE_CODE_ENABLE_TASKS=0 is set, too. Otherwise it has none of them.
func isTaskTool(name string) bool {
	switch name {
	case "TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet":
		return true
	}
	return false
}

// taskList is an agent's list of tasks according to its tools' results. The reader owns it. Subagents share
// the list (observed with CLI 2.1.329): their changes appear with the main thread's next TaskList.
type taskList struct{ items []bridge.Task }

// cliTask is a task as the CLI writes it: in results and in its files.
type cliTask struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	Status  string `json:"status"`
}

func (t cliTask) task() bridge.Task {
	return bridge.Task{ID: jsonl.Cut(t.ID, maxTaskText), Text: jsonl.Cut(t.Subject, maxTaskText),
		Status: taskStatus(t.Status)}
}

func taskStatus(s string) string {
	switch s {
	case "in_progress", "completed":
		return s
	}
	return "pending"
}

// apply applies a call that succeeded, and reports whether it has changed the list. result is the CLI's
// tool_use_result, which may be absent.
func (l *taskList) apply(c toolCall, result json.RawMessage) bool {
	before := slices.Clone(l.items)
	switch c.tool {
	case "TodoWrite":
		l.written(c.input)
	case "TaskCreate", "TaskGet":
		var r struct{ Task *cliTask }
		if json.Unmarshal(result, &r) == nil && r.Task != nil && r.Task.ID != "" {
			l.put(r.Task.task())
		}
	case "TaskUpdate":
		l.updated(c.input, result)
	case "TaskList":
		var r struct{ Tasks []cliTask }
		if json.Unmarshal(result, &r) == nil && r.Tasks != nil {
			l.items = nil
			for _, t := range r.Tasks {
				l.put(t.task())
			}
		}
	}
	return !slices.Equal(before, l.items)
}

// written applies a TodoWrite, which contains the whole list.
func (l *taskList) written(input json.RawMessage) {
	var in struct {
		Todos []struct{ Content, Status string }
	}
	if json.Unmarshal(input, &in) != nil || in.Todos == nil {
		return
	}
	l.items = nil
	for _, t := range in.Todos[:min(len(in.Todos), maxTasks)] {
		l.items = append(l.items, bridge.Task{Text: jsonl.Cut(t.Content, maxTaskText), Status: taskStatus(t.Status)})
	}
}

// updated applies a TaskUpdate. If the task does not exist, the call succeeds, and the result says so.
func (l *taskList) updated(input, result json.RawMessage) {
	var in struct{ TaskID, Subject, Status string }
	r := struct{ Success bool }{true}
	if json.Unmarshal(input, &in) != nil || !jsonl.IsNull(result) && json.Unmarshal(result, &r) != nil || !r.Success {
		return
	}
	i := slices.IndexFunc(l.items, func(t bridge.Task) bool { return t.ID == in.TaskID })
	if i < 0 {
		return
	}
	if in.Status == "deleted" {
		l.items = slices.Delete(l.items, i, i+1)
		return
	}
	t := &l.items[i]
	if in.Subject != "" {
		t.Text = jsonl.Cut(in.Subject, maxTaskText)
	}
	if in.Status != "" {
		t.Status = taskStatus(in.Status)
	}
}

func (l *taskList) put(t bridge.Task) {
	i := slices.IndexFunc(l.items, func(have bridge.Task) bool { return have.ID == t.ID })
	switch {
	case i >= 0:
		l.items[i] = t
	case len(l.items) < maxTasks:
		l.items = append(l.items, t)
	}
}

// recall reads the list of a session before it is resumed, so that the next change does not replace a long
// list by a short one. Each task has a file <config>/tasks/<session>/<id>.json (observed with CLI 2.1.329).
// Unreadable files are skipped.
func (l *taskList) recall(config, session string) {
	dir := filepath.Join(config, "tasks", session)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasSuffix(e.Name(), ".json") || !info.Mode().IsRegular() ||
			info.Size() > maxTaskFile {
			continue
		}
		var t cliTask
		if data, err := os.ReadFile(filepath.Join(dir, e.Name())); err == nil && json.Unmarshal(data, &t) == nil &&
			t.ID != "" {
			l.put(t.task())
		}
	}
	slices.SortFunc(l.items, func(a, b bridge.Task) int {
		x, _ := strconv.Atoi(a.ID) // ids are numbers; for others 0 keeps some order, too
		y, _ := strconv.Atoi(b.ID)
		return cmp.Or(x-y, strings.Compare(a.ID, b.ID))
	})
}
