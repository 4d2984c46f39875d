package standin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// task is one of a session's tasks: a file of it, and, without what is written for
// others, an item of a list.
type task struct {
	ID          string   `json:"id"`
	Subject     string   `json:"subject"`
	Description string   `json:"description,omitempty"`
	ActiveForm  string   `json:"activeForm,omitempty"`
	Status      string   `json:"status"`
	Blocks      []string `json:"blocks"`
	BlockedBy   []string `json:"blockedBy"`
}

// taskBoard keeps a session's tasks, which its subagents share: in memory those of
// TodoWrite, in files those of the task tools, so that they are there after a resume.
type taskBoard struct {
	mu    sync.Mutex // also over the files: calls of subagents run side by side
	todos json.RawMessage
}

// taskTools are what the CLI has for lists, if it is told to: by the variable, or by a
// tool's name on the command line (observed with CLI 2.1.329).
func taskTools(f flags, env environ) []*tool {
	list := []*tool{
		{toolSpec: spec("TaskCreate", "Adds a task to the list.",
			req("subject", "string"), req("description", "string"), opt("activeForm", "string"), opt("metadata", "object")),
			shared: never, run: runTaskCreate},
		{toolSpec: spec("TaskGet", "Reads a task.", req("taskId", "string")), shared: never, run: runTaskGet},
		{toolSpec: spec("TaskList", "Lists the tasks."), shared: never, run: runTaskList},
		{toolSpec: spec("TaskUpdate", "Changes a task.", req("taskId", "string"), opt("subject", "string"), opt("description", "string"),
			opt("activeForm", "string"), opt("status", "string"), opt("owner", "string"), opt("addBlocks", "array"), opt("addBlockedBy", "array"),
			opt("metadata", "object")), shared: never, check: checkTaskUpdate, run: runTaskUpdate},
	}
	if v := env["CLAUDE_CODE_ENABLE_TASKS"]; v == "0" || v == "false" {
		list = []*tool{{toolSpec: spec("TodoWrite", "Writes the list of things to do.", req("todos", "array")),
			shared: never, check: checkTodos, run: runTodoWrite}}
	}
	named := slices.Concat(splitRules(f.all("--tools")), splitRules(f.all("--allowedTools")))
	if env.on("CLAUDE_CODE_ENABLE_TODO_TOOLS") || slices.ContainsFunc(list, func(t *tool) bool { return slices.Contains(named, t.Name) }) {
		return list
	}
	return nil
}

func isTaskTool(name string) bool {
	switch name {
	case "TaskCreate", "TaskGet", "TaskList", "TaskUpdate", "TodoWrite":
		return true
	}
	return false
}

func (s *session) taskDir() string {
	return filepath.Join(s.env.configDir(), "tasks", s.id)
}

// tasks reads the list, in the order of the ids.
func (s *session) tasks() []task {
	names, _ := filepath.Glob(filepath.Join(s.taskDir(), "*.json")) // the pattern is well-formed
	var list []task
	for _, name := range names {
		var t task
		if raw, err := os.ReadFile(name); err == nil && json.Unmarshal(raw, &t) == nil {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b task) int { return cmp.Compare(number(a.ID), number(b.ID)) })
	return list
}

func number(id string) int {
	n, _ := strconv.Atoi(id)
	return n
}

func (s *session) saveTask(t task) error {
	if err := os.MkdirAll(s.taskDir(), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.taskDir(), t.ID+".json"), encode(t), 0o600)
}

// nextTaskID: an id is not used again.
func (s *session) nextTaskID() string {
	mark := filepath.Join(s.taskDir(), ".highwatermark")
	raw, _ := os.ReadFile(mark)
	id := strconv.Itoa(number(strings.TrimSpace(string(raw))) + 1)
	if os.MkdirAll(s.taskDir(), 0o700) == nil {
		_ = os.WriteFile(mark, []byte(id), 0o600) // the task's own file fails, too, and says so
	}
	return id
}

func runTaskCreate(_ context.Context, t *thread, c toolCall) toolResult {
	made := task{Status: "pending", Blocks: []string{}, BlockedBy: []string{}}
	if err := json.Unmarshal(c.Input, &made); err != nil {
		return failed("%v", err)
	}
	t.s.board.mu.Lock()
	defer t.s.board.mu.Unlock()
	made.ID, made.Status = t.s.nextTaskID(), "pending"
	if err := t.s.saveTask(made); err != nil {
		return failed("%v", err)
	}
	return toolResult{content: fmt.Sprintf("Task #%s created successfully: %s", made.ID, made.Subject),
		detail: obj{"task": obj{"id": made.ID, "subject": made.Subject, "description": made.Description}}}
}

func runTaskGet(_ context.Context, t *thread, c toolCall) toolResult {
	var in struct{ TaskID string }
	_ = json.Unmarshal(c.Input, &in) // its shape was checked before
	t.s.board.mu.Lock()
	defer t.s.board.mu.Unlock()
	for _, have := range t.s.tasks() {
		if have.ID == in.TaskID {
			return toolResult{content: fmt.Sprintf("Task #%s: %s\nStatus: %s\nDescription: %s", have.ID, have.Subject, have.Status, have.Description),
				detail: obj{"task": have}}
		}
	}
	return toolResult{content: "Task not found", detail: obj{"task": nil}}
}

func runTaskList(_ context.Context, t *thread, _ toolCall) toolResult {
	t.s.board.mu.Lock()
	defer t.s.board.mu.Unlock()
	list, lines := []obj{}, []string{}
	for _, have := range t.s.tasks() {
		line := fmt.Sprintf("#%s [%s] %s", have.ID, have.Status, have.Subject)
		if len(have.BlockedBy) > 0 {
			line += " [blocked by #" + strings.Join(have.BlockedBy, ", #") + "]"
		}
		lines = append(lines, line)
		list = append(list, obj{"id": have.ID, "subject": have.Subject, "status": have.Status, "blockedBy": have.BlockedBy})
	}
	if len(lines) == 0 {
		lines = []string{"No tasks found"}
	}
	return toolResult{content: strings.Join(lines, "\n"), detail: obj{"tasks": list}}
}

type taskUpdate struct {
	TaskID, Status          string
	Subject, Description    *string
	AddBlocks, AddBlockedBy []string
}

func checkTaskUpdate(_ *thread, c toolCall) *toolResult {
	var in taskUpdate
	if json.Unmarshal(c.Input, &in) != nil || !slices.Contains([]string{"", "pending", "in_progress", "completed", "deleted"}, in.Status) {
		bad := misused("InputValidationError: Invalid option: expected one of \"pending\"|\"in_progress\"|\"completed\"")
		return &bad
	}
	return nil
}

func runTaskUpdate(_ context.Context, t *thread, c toolCall) toolResult {
	var in taskUpdate
	_ = json.Unmarshal(c.Input, &in) // its shape was checked before
	t.s.board.mu.Lock()
	defer t.s.board.mu.Unlock()
	list := t.s.tasks()
	i := slices.IndexFunc(list, func(have task) bool { return have.ID == in.TaskID })
	if i < 0 {
		return toolResult{content: "Task not found", detail: obj{"success": false, "taskId": in.TaskID, "updatedFields": []string{}, "error": "Task not found"}}
	}
	fields, err := t.s.change(list[i], in)
	if err != nil {
		return failed("%v", err)
	}
	detail := obj{"success": true, "taskId": in.TaskID, "updatedFields": fields}
	if in.Status != "" && in.Status != list[i].Status {
		detail["statusChange"] = obj{"from": list[i].Status, "to": in.Status}
	}
	return toolResult{content: fmt.Sprintf("Updated task #%s %s", in.TaskID, strings.Join(fields, ", ")), detail: detail}
}

// change writes a task anew, or deletes it, and names what was changed.
func (s *session) change(have task, in taskUpdate) (fields []string, err error) {
	if in.Status == "deleted" {
		return []string{"deleted"}, os.Remove(filepath.Join(s.taskDir(), have.ID+".json"))
	}
	if in.Subject != nil {
		have.Subject, fields = *in.Subject, append(fields, "subject")
	}
	if in.Description != nil {
		have.Description, fields = *in.Description, append(fields, "description")
	}
	if in.Status != "" && in.Status != have.Status {
		have.Status, fields = in.Status, append(fields, "status")
	}
	if len(in.AddBlocks) > 0 {
		have.Blocks, fields = append(have.Blocks, in.AddBlocks...), append(fields, "blocks")
	}
	if len(in.AddBlockedBy) > 0 {
		have.BlockedBy, fields = append(have.BlockedBy, in.AddBlockedBy...), append(fields, "blockedBy")
	}
	return fields, s.saveTask(have)
}

type todo struct{ Content, Status, ActiveForm string }

func checkTodos(_ *thread, c toolCall) *toolResult {
	var in struct{ Todos []todo }
	err := json.Unmarshal(c.Input, &in)
	for _, t := range in.Todos {
		if t.Content == "" || t.ActiveForm == "" || !slices.Contains([]string{"pending", "in_progress", "completed"}, t.Status) {
			err = fmt.Errorf("an item is not valid")
		}
	}
	if err != nil {
		bad := misused("InputValidationError: TodoWrite failed due to the following issues:\n%v", err)
		return &bad
	}
	return nil
}

func runTodoWrite(_ context.Context, t *thread, c toolCall) toolResult {
	var in struct{ Todos json.RawMessage }
	_ = json.Unmarshal(c.Input, &in) // its shape was checked before
	b := &t.s.board
	b.mu.Lock()
	defer b.mu.Unlock()
	old := b.todos
	if old == nil {
		old = json.RawMessage("[]")
	}
	b.todos = in.Todos
	return toolResult{content: "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. " +
		"Please proceed with the current tasks if applicable", detail: obj{"oldTodos": old, "newTodos": in.Todos}}
}
