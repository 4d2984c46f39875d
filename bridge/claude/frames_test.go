package claude

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestSuggestions: an offer is the CLI's rule, whatever a model has written into a command or a path.
func TestSuggestions(t *testing.T) {
	for offer, want := range map[string][]string{
		`"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"f(a, b) *"},{"toolName":"Read"}]`: {
			"Bash(f(a, b) *), Read"},
		`"addRules","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"echo 'x), Bash, Edit(y'"}]`: nil,
		`"addDirectories","directories":["/tmp/x (1)"]`:                                                       {"Edit(//tmp/x (1)/**)"},
		`"addDirectories","directories":["/tmp/x), Bash, Edit(//y"]`:                                          nil,
		`"addDirectories","directories":["/tmp/**"]`:                                                          nil,
	} {
		raw := json.RawMessage(`[{"type":` + offer + `}]`)
		got := suggestions(&fieldReader{obj: object{"permission_suggestions": raw}}, "Write")
		testkit.Same(t, offer, want, got)
	}
}

// The frames were recorded from CLI 2.1.329 and shortened.
func TestDecode(t *testing.T) {
	usage := bridge.Usage{Input: 3, CacheRead: 1000, CacheCreation: 20, Output: 1}
	for _, test := range []struct {
		line string
		want frame
	}{
		{`{"type":"system","subtype":"init","cwd":"/w","session_id":"bf81","tools":["Task","Bash"],"model":"claude-opus-5-5","permissionMode":"default","capabilities":["msg_lifecycle_v1"]}`,
			initFrame{SessionID: "bf81"}},
		{`{"type":"assistant","message":{"id":"msg_1","model":"claude-opus-5-5","content":[{"type":"text","text":"hi"}],"usage":{"input_tokens":3,"cache_read_input_tokens":1000,"cache_creation_input_tokens":20,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}`,
			assistantFrame{MessageID: "msg_1", Model: "claude-opus-5-5", Usage: usage,
				Blocks: []block{{Type: "text", Text: "hi"}}}},
		{`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"API Error: 529"}]},"parent_tool_use_id":null,"error":"server_error","is_api_error_message":true,"api_error_status":529}`,
			assistantFrame{MessageID: "x", Model: synthetic, ErrorKind: "server_error", APIStatus: 529,
				Blocks: []block{{Type: "text", Text: "API Error: 529"}}}},
		{`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_9","type":"tool_result","content":"sub","is_error":false}]},"parent_tool_use_id":"toolu_2","agent_id":"a9","uuid":"u"}`,
			userFrame{UUID: "u", Parent: "toolu_2",
				Blocks: []block{{Type: "tool_result", ToolUseID: "toolu_9", Content: json.RawMessage(`"sub"`)}}}},
		{`{"type":"user","message":{"role":"user","content":"go"},"parent_tool_use_id":null,"uuid":"3a67","isReplay":true}`,
			userFrame{UUID: "3a67", Replay: true}},
		{`{"duration_api_ms":67,"stop_reason":"tool_use","session_id":"s","total_cost_usd":0.0009,"usage":{"input_tokens":6,"cache_creation_input_tokens":40,"cache_read_input_tokens":2000,"output_tokens":14},"modelUsage":{"claude-opus-5-5":{"costUSD":0.0009,"contextWindow":1000000}},"terminal_reason":"completed","is_error":false,"num_turns":3,"subtype":"success","api_error_status":null,"result":"{\"verdict\":\"v\"}","structured_output":{"verdict":"v"},"type":"result","duration_ms":150,"user_message_uuids":["b8ec"]}`,
			resultFrame{Subtype: "success", TerminalReason: "completed", StopReason: "tool_use",
				Text: `{"verdict":"v"}`, Verdict: json.RawMessage(`{"verdict":"v"}`), MessageUUIDs: []string{"b8ec"},
				Usage: bridge.Usage{Input: 6, CacheCreation: 40, CacheRead: 2000, Output: 14}, TotalCost: 0.0009,
				ModelUsage: map[string]modelUsage{"claude-opus-5-5": {CostUSD: 0.0009, ContextWindow: 1_000_000}},
				NumTurns:   3, DurationMS: 150, SessionID: "s"}},
		{`{"type":"command_lifecycle","command_uuid":"b8ec","state":"started","uuid":"4e11"}`,
			lifecycleFrame{UUID: "b8ec", State: "started"}},
		{`{"type":"control_response","response":{"subtype":"error","request_id":"x","error":"Unsupported","error_code":"unsupported_request"}}`,
			controlResponse{ID: "x", Error: "Unsupported", ErrorCode: "unsupported_request"}},
		{`{"type":"control_response","response":{"subtype":"success","request_id":"y"}}`, controlResponse{ID: "y"}},
		{`{"type":"control_cancel_request","request_id":"7"}`, controlCancel{ID: "7"}},
		{`{"type":"control_request","request_id":"7063","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch x"}}}`,
			controlRequest{ID: "7063", Subtype: "can_use_tool", Request: object{"subtype": json.RawMessage(`"can_use_tool"`),
				"tool_name": json.RawMessage(`"Bash"`), "input": json.RawMessage(`{"command":"touch x"}`)}}},
		{`{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":512.5,"error_status":null,"error":"unknown"}`,
			apiRetry{Attempt: 1, Max: 10, DelayMS: 512, Reason: "unknown"}},
		{`{"type":"system","subtype":"task_started","task_id":"a9","tool_use_id":"toolu_2","description":"dig","subagent_type":"Explore","is_backgrounded":false,"task_type":"local_agent"}`,
			taskStarted{TaskType: "local_agent", ToolUse: "toolu_2", Description: "dig", AgentType: "Explore"}},
		{`{"type":"system","subtype":"task_notification","tool_use_id":"toolu_2","status":"completed","summary":"done","usage":{"total_tokens":1030,"tool_uses":1}}`,
			taskEnded{ToolUse: "toolu_2", Status: "completed", Tokens: 1030}},
		{`{"type":"system","subtype":"compact_boundary","compact_metadata":{"trigger":"auto","pre_tokens":92682,"post_tokens":2607}}`,
			compactBoundary{Trigger: "auto", Pre: 92682, Post: 2607}},
		{`{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"exhausted"}`, compactFailed{Reason: "exhausted"}},
		{`{"type":"system","subtype":"status","status":"requesting"}`, quiet{}},
		{`{"type":"tool_progress","tool_use_id":"toolu_X-heartbeat-1","parent_tool_use_id":"toolu_X","heartbeat":true}`, quiet{}},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1795300000}}`,
			rateLimitEvent{Status: "rejected", ResetsAt: 1795300000}},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","unifiedWindows":{` +
			`"seven_day":{"utilization":0.5,"resetsAt":1795576945,"status":"allowed"},` +
			`"overage":{"status":"rejected"},` +
			`"five_hour":{"utilization":0.75,"resetsAt":1795490545000,"status":"allowed_warning"}}}}`,
			rateLimitEvent{Status: "allowed", Windows: []bridge.Quota{
				{Window: "five_hour", UsedPct: 75, ResetsAt: 1795490545},
				{Window: "seven_day", UsedPct: 50, ResetsAt: 1795576945}}}},
		{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1795490545,` +
			`"rateLimitType":"five_hour","utilization":0.875}}`,
			rateLimitEvent{Status: "allowed_warning", ResetsAt: 1795490545, Windows: []bridge.Quota{
				{Window: "five_hour", UsedPct: 87.5, ResetsAt: 1795490545}}}},
		{`{"type":"stream_event","event":{"index":0,"content_block":{"type":"tool_use","id":"t","name":"StructuredOutput","input":{}},"type":"content_block_start"},"parent_tool_use_id":null}`,
			streamFrame{Event: "content_block_start", BlockType: "tool_use", BlockName: "StructuredOutput"}},
		{`{"type":"stream_event","event":{"index":1,"delta":{"type":"text_delta","text":"hi"},"type":"content_block_delta"},"parent_tool_use_id":"toolu_2"}`,
			streamFrame{Parent: "toolu_2", Event: "content_block_delta", Index: 1, Text: "hi"}},
		{`{"type":"novel","subtype":"x","field":1}`, Unknown{Type: "novel", Subtype: "x"}},
		{`{"type":"result","is_error":"yes"}`, Unknown{Type: "result"}},
		{`{"type":"control_request","request_id":"9","request":[]}`, Unknown{Type: "control_request", RequestID: "9"}},
		// The exact spelling of keys counts, although encoding/json ignores case.
		{`{"type":"result","is_error":true,"IS_ERROR":false,"Structured_Output":{"x":1}}`, resultFrame{IsError: true}},
	} {
		line := []byte(test.line)
		got, err := decode(line)
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		clear(line) // the reader uses it again
		testkit.Same(t, test.line, test.want,
			got, cmpopts.IgnoreFields(Unknown{}, "Raw", "Err"), cmpopts.EquateEmpty())
		u, ok := got.(Unknown)
		testkit.Check(t, !ok || string(u.Raw) == test.line, "%s: kept as %s", test.line, u.Raw)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}`)
	f.Add(`{"type":"control_request","request":{"subtype":7}}`)
	f.Add(`{"type":"result","usage":[],"modelUsage":{"a":1}}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, line string) {
		got, err := decode([]byte(line))
		testkit.Same(t, fmt.Sprintf("%q: %v, %v", line, got, err), (got != nil), (err == nil))
		u, ok := got.(Unknown)
		testkit.Check(t, !ok || string(u.Raw) == line, "%q was kept as %q", line, u.Raw)
	})
}

// Names are compared exactly, and of a repeated name the last value counts, as in the CLI.
func TestObjectGet(t *testing.T) {
	obj, err := split([]byte(`{"is_error":true,"a":1,"Is_Error":false,"a":2}`))
	testkit.Check(t, err == nil && string(obj["is_error"]) == "true" && string(obj["a"]) == "2" && obj["A"] == nil,
		"%s, %v", obj, err)
}

// TestCaptures reads every line that the real CLI wrote in recordings (scripts/driftloop): the reader
// understands all of them and knows each kind.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(captures, "*.wire"))
	testkit.Need(t, err == nil && len(files) != 0, "no captures: %v", err)
	kinds := map[string]int{}
	for _, file := range files {
		raw := testkit.Must(os.ReadFile(file))(t)
		n := 0
		for line := range strings.Lines(string(raw)) {
			n++
			text, ok := strings.CutPrefix(line, "< ")
			if !ok {
				continue
			}
			f, err := decode([]byte(strings.TrimSuffix(text, "\n")))
			if err != nil {
				t.Errorf("%s:%d: %v", file, n, err)
				continue
			}
			u, ok := f.(Unknown)
			testkit.Check(t, !ok, "%s:%d: unknown frame %+.200v", file, n, u)
			kinds[kindOf(f)]++
		}
	}
	for _, want := range []string{
		"assistantFrame", "userFrame", "resultFrame", "lifecycleFrame", "controlRequest", "controlResponse",
		"initFrame", "taskStarted", "taskEnded",
	} {
		testkit.Check(t, kinds[want] != 0, "the captures hold no %s: they show too little (%v)", want, kinds)
	}
}

func kindOf(f frame) string {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", f), ".")
	return name
}

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
		got := testkit.Each(l.items,
			func(item bridge.Task) string { return item.ID + " " + item.Text + " " + item.Status })
		text := strings.Join(got, ", ")
		testkit.Check(t, changed == step.changed && text == step.want, "%s %s → %s: %v, %q; want %v, %q", step.tool,
			step.input, step.result, changed, text, step.changed, step.want)
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
		testkit.Check(t, len(l.items) == maxTasks && len(l.items[0].Text) == maxTaskText, "%s: %d items", tool,
			len(l.items))
	}
}

func items(list ...bridge.Task) bridge.Tasks { return bridge.Tasks{Items: list} }

// TestLiveTasks: the list of the task tools, also after a resume; of a subagent's tasks only those that the
// main thread reads.
func TestLiveTasks(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := against(t, spec,
			reply{tools: []call{{"TaskCreate", map[string]any{"subject": "a", "description": "x"}},
				{"TaskCreate", map[string]any{"subject": "b", "description": "y"}}}},
			taskCall("TaskUpdate", map[string]any{"taskId": "1", "status": "in_progress"}),
			taskCall("TaskUpdate", map[string]any{"taskId": "7", "status": "completed"}),
			delegates,
			taskCall("TaskCreate", map[string]any{"subject": "sub's", "description": "z"}), reply{text: "created"},
			taskCall("TaskList", map[string]any{}),
			taskCall("TaskUpdate", map[string]any{"taskId": "2", "status": "deleted"}), reply{text: "done"})
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
		again := s.again().launch()
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
		s, _ := against(t, spec, taskCall("TodoWrite", todos("in_progress")), taskCall("TodoWrite", todos("nonsense")),
			taskCall("TodoWrite", todos("completed")), reply{text: "done"})
		s.cfg.SessionID = uuid.NewString()
		s.cfg.Env["CLAUDE_CODE_ENABLE_TODO_TOOLS"], s.cfg.Env["CLAUDE_CODE_ENABLE_TASKS"] = "1", "0"
		s.launch()
		s.turn("plan")
		want := []bridge.Tasks{items(bridge.Task{Text: "a", Status: "in_progress"}),
			items(bridge.Task{Text: "a", Status: "completed"})}
		testkit.Same(t, "", want, of[bridge.Tasks](s.host))
	})
}
