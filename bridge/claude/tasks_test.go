package claude

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestTaskList(t *testing.T) {
	var l taskList
	for _, step := range []struct {
		tool, input, result string
		changed             bool
		want                string
	}{
		{"TaskCreate", `{"subject":"a","description":"x"}`, `{"task":{"id":"1","subject":"a"}}`, true, "1 a pending"},
		{"TaskCreate", `{"subject":"b"}`, `{"task":{"id":"2","subject":"b"}}`, true, "1 a pending, 2 b pending"},
		{"TaskCreate", `{"subject":"lost"}`, ``, false, "1 a pending, 2 b pending"},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress"}`, `{"success":true}`, true,
			"1 a in_progress, 2 b pending"},
		{"TaskUpdate", `{"taskId":"1","status":"in_progress"}`, `{"success":true}`, false,
			"1 a in_progress, 2 b pending"},
		{"TaskUpdate", `{"taskId":"2","subject":"B","addBlockedBy":["1"]}`, ``, true, "1 a in_progress, 2 B pending"},
		{"TaskUpdate", `{"taskId":"2","status":"completed"}`, `{"success":false,"error":"no"}`, false,
			"1 a in_progress, 2 B pending"},
		{"TaskUpdate", `{"taskId":"9","status":"completed"}`, `{"success":true}`, false,
			"1 a in_progress, 2 B pending"},
		{"TaskUpdate", `{"taskId":"2","status":"deleted"}`, `{"success":true}`, true, "1 a in_progress"},
		{"TaskUpdate", `[]`, `[]`, false, "1 a in_progress"},
		{"TaskGet", `{"taskId":"5"}`, `{"task":{"id":"5","subject":"e","status":"completed"}}`, true,
			"1 a in_progress, 5 e completed"},
		{"TaskList", `{}`,
			`{"tasks":[{"id":"3","subject":"c","status":"new"},{"id":"1","subject":"a","status":"completed"}]}`, true,
			"3 c pending, 1 a completed"},
		{"TaskList", `{}`, `{}`, false, "3 c pending, 1 a completed"},
		{"TaskList", `{}`, `{"tasks":[]}`, true, ""},
		{"TodoWrite",
			`{"todos":[{"content":"x","status":"in_progress","activeForm":"X"},{"content":"y","status":"pending"}]}`, ``, true, " x in_progress,  y pending"},
		{"TodoWrite", `{}`, ``, false, " x in_progress,  y pending"},
		{"TodoWrite", `{"todos":[]}`, ``, true, ""},
	} {
		changed := l.apply(toolCall{tool: step.tool, input: json.RawMessage(step.input)}, json.RawMessage(step.result))
		var got []string
		for _, item := range l.items {
			got = append(got, item.ID+" "+item.Text+" "+item.Status)
		}
		if text := strings.Join(got, ", "); changed != step.changed || text != step.want {
			t.Errorf("%s %s → %s: %v, %q; want %v, %q", step.tool, step.input, step.result, changed, text, step.changed,
				step.want)
		}
	}
}

func TestTaskListIsBounded(t *testing.T) {
	var todos, tasks []map[string]string
	for i := range 2 * maxTasks {
		text := strings.Repeat("ü", maxTaskText)
		todos = append(todos, map[string]string{"content": text})
		tasks = append(tasks, map[string]string{"id": fmt.Sprint(i), "subject": text})
	}
	input, _ := json.Marshal(map[string]any{"todos": todos})
	result, _ := json.Marshal(map[string]any{"tasks": tasks})
	for _, tool := range []string{"TodoWrite", "TaskList"} {
		var l taskList
		l.apply(toolCall{tool: tool, input: input}, result)
		if len(l.items) != maxTasks || len(l.items[0].Text) != maxTaskText {
			t.Errorf("%s: %d items", tool, len(l.items))
		}
	}
}

func taskCall(tool string, input map[string]any) reply { return reply{tools: []call{{tool, input}}} }

func items(list ...bridge.Task) bridge.Tasks { return bridge.Tasks{Items: list} }

// TestLiveTasks: the list of the task tools, also after a resume; of a subagent's tasks only those that the
// main thread reads.
func TestLiveTasks(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t,
			reply{tools: []call{{"TaskCreate", map[string]any{"subject": "a", "description": "x"}},
				{"TaskCreate", map[string]any{"subject": "b", "description": "y"}}}},
			taskCall("TaskUpdate", map[string]any{"taskId": "1", "status": "in_progress"}),
			taskCall("TaskUpdate", map[string]any{"taskId": "7", "status": "completed"}),
			taskCall("Agent", map[string]any{"description": "sub", "prompt": "go", "subagent_type": "general-purpose"}),
			taskCall("TaskCreate", map[string]any{"subject": "sub's", "description": "z"}), reply{text: "created"},
			taskCall("TaskList", map[string]any{}),
			taskCall("TaskUpdate", map[string]any{"taskId": "2", "status": "deleted"}), reply{text: "done"})
		s := prepare(t, spec, model.env())
		s.cfg.Env["CLAUDE_CODE_ENABLE_TODO_TOOLS"] = "1"
		s.launch()
		s.turn("plan")
		a, b, sub := bridge.Task{ID: "1", Text: "a", Status: "pending"},
			bridge.Task{ID: "2", Text: "b", Status: "pending"}, bridge.Task{ID: "3", Text: "sub's", Status: "pending"}
		begun := a
		begun.Status = "in_progress"
		want := []bridge.Tasks{items(a), items(a, b), items(begun, b), items(begun, b, sub), items(begun, sub)}
		testkit.Same(t, "", want, of[bridge.Tasks](s.host))
		s.stopNow()

		model.reset(taskCall("TaskUpdate", map[string]any{"taskId": "1", "status": "completed"}),
			taskCall("TaskCreate", map[string]any{"subject": "d", "description": "x"}), reply{text: "done"})
		again := prepare(t, spec, s.cfg.Env)
		again.cfg = s.cfg
		again.cfg.Resume = true
		again.launch()
		again.turn("go on")
		done := a
		done.Status = "completed"
		want = []bridge.Tasks{items(done, sub), items(done, sub, bridge.Task{ID: "4", Text: "d", Status: "pending"})}
		testkit.Same(t, "after the resume", want, of[bridge.Tasks](again.host))
	})
}

func TestLiveTodos(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		todos := func(status string) map[string]any {
			return map[string]any{"todos": []any{map[string]any{"content": "a", "status": status,
				"activeForm": "doing a"}}}
		}
		model := startAPI(t, taskCall("TodoWrite", todos("in_progress")), taskCall("TodoWrite", todos("nonsense")),
			taskCall("TodoWrite", todos("completed")), reply{text: "done"})
		s := prepare(t, spec, model.env())
		s.cfg.SessionID = uuid.NewString()
		s.cfg.Env["CLAUDE_CODE_ENABLE_TODO_TOOLS"], s.cfg.Env["CLAUDE_CODE_ENABLE_TASKS"] = "1", "0"
		s.launch()
		s.turn("plan")
		want := []bridge.Tasks{items(bridge.Task{Text: "a", Status: "in_progress"}),
			items(bridge.Task{Text: "a", Status: "completed"})}
		testkit.Same(t, "", want, of[bridge.Tasks](s.host))
	})
}
