package acptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Model is a scripted model on loopback. It speaks Chat Completions, the Messages API, Responses and generateContent.
type Model struct {
	// Base is its address, without a path.
	Base string

	mu       sync.Mutex
	requests []string
}

// StartModel starts a model that ends with the test.
func StartModel(t testing.TB) *Model {
	t.Helper()
	m := &Model{}
	srv := httptest.NewServer(m)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	m.Base = srv.URL
	return m
}

// Requests are the bodies of the requests so far.
func (m *Model) Requests() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// message is one of a conversation, in each dialect: Responses has calls beside the messages, and generateContent has
// parts of other names.
type message struct {
	Role    string
	Content json.RawMessage
	Type    string
	Parts   []struct {
		Text         string
		FunctionCall json.RawMessage
	}
}

type asked struct {
	Model    string
	Stream   bool
	Messages []message
	Input    []message // Responses
	Contents []message // generateContent
	Tools    []tool
}

// tool is one that is offered, or several in a namespace.
type tool struct {
	Name                 string
	Function             struct{ Name string }
	Tools                []tool
	FunctionDeclarations []tool
}

// conversation is what was said so far. Each message of the assistant in it is one answer.
func (r asked) conversation() (list []message) {
	for _, x := range r.Input {
		if x.Type == "function_call" {
			x.Role = "assistant"
		} else if x.Role == "assistant" {
			continue // it came with a call
		}
		list = append(list, x)
	}
	for _, x := range r.Contents {
		if x.Role == "model" {
			x.Role = "assistant"
		}
		list = append(list, x)
	}
	return append(list, r.Messages...)
}

// text is what a message says, without results of tools.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(m.Content, &parts)
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" || p.Type == "input_text" {
			b.WriteString(p.Text + "\n")
		}
	}
	for _, p := range m.Parts {
		b.WriteString(p.Text + "\n")
	}
	return b.String()
}

// next is what the model does now: the script of the last prompt of Arbiter, by how often it was asked since. ok is
// false for requests beside the conversation.
func (r asked) next() (say string, o op, ok bool) {
	steps := 0
	for _, x := range slices.Backward(r.conversation()) {
		if x.Role == "assistant" {
			steps++
		}
		if x.Role == "user" && strings.Contains(x.text(), "[arbiter message ") {
			// Claude Code joins messages between which no model has answered: the last prompt counts.
			parts := strings.Split(x.text(), "[arbiter message ")
			for _, o := range opsOf(parts[len(parts)-2], r.offers(op{"tool", summons})) {
				switch {
				case o.verb == "say":
					say = o.arg
				case o.verb != "fail" && !r.offers(o): // it was taken from the model
				case steps == 0:
					return say, o, true
				default:
					say = ""
					steps--
				}
			}
			return "That is all.", op{}, true
		}
	}
	return "A title", op{}, false
}

// summons is a tool that only the Arbiter has.
const summons = "spawn_orchestrator"

func (r asked) offers(o op) bool {
	name, _, _ := r.tool(o)
	return name != ""
}

// tool returns the name under which a tool is offered, its namespace, and its input.
func (r asked) tool(o op) (name, space string, input json.RawMessage) {
	first, second := o.two()
	want, args := []string{first}, map[string]any{}
	switch line := o.arg; o.verb {
	case "verdict":
		want, input = []string{"StructuredOutput"}, json.RawMessage(o.arg)
	case "tool":
		input = json.RawMessage(second)
	case "shell":
		want = []string{"bash", "run_shell_command", codexShell}
		args = map[string]any{"command": line, "description": "what the test says", "cmd": line,
			"sandbox_permissions": "require_escalated", "justification": "the test says so"}
	case "write":
		want = []string{"write", "write_file", "create", codexShell}
		args = map[string]any{"filePath": first, "file_path": first, "path": first, "content": second,
			"file_text": second,
			"cmd":       fmt.Sprintf("printf %%s '%s' >'%s'", second, first)}
	case "read":
		want = []string{"read", "read_file", "view", codexShell}
		args = map[string]any{"filePath": first, "file_path": first, "path": first, "cmd": "cat '" + first + "'"}
	}
	look := func(t tool, in string) {
		offered := cmp.Or(t.Name, t.Function.Name)
		for _, w := range want {
			exact := strings.EqualFold(offered, w)
			if exact || name == "" && (strings.HasSuffix(offered, "_"+w) || strings.HasSuffix(offered, "-"+w)) {
				name, space = offered, in
			}
		}
	}
	for _, t := range r.Tools {
		look(t, "")
		for _, inner := range slices.Concat(t.Tools, t.FunctionDeclarations) {
			look(inner, t.Name)
		}
	}
	if input == nil {
		// Each refuses the names of others.
		takes := map[string][]string{"bash": {"command", "description"}, "read": {"filePath"},
			"write": {"filePath", "content"}, "view": {"path"}, "create": {"path", "file_text"},
			codexShell: {"cmd", "sandbox_permissions", "justification"}}[name]
		if takes == nil {
			takes = []string{"command", "description", "file_path", "content"}
		}
		maps.DeleteFunc(args, func(arg string, _ any) bool { return !slices.Contains(takes, arg) })
		input, _ = json.Marshal(args)
	}
	return name, space, input
}

// codexShell is Codex's only tool for files: what asks first is run outside of its sandbox.
const codexShell = "exec_command"

func (m *Model) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var r asked
	var raw json.RawMessage
	_ = json.NewDecoder(req.Body).Decode(&raw)
	_ = json.Unmarshal(raw, &r)
	m.mu.Lock()
	m.requests = append(m.requests, string(raw))
	id := "x" + strconv.Itoa(len(m.requests))
	m.mu.Unlock()
	text, o, ok := r.next()
	if ok && len(r.Tools) == 0 {
		text, o = "A title", op{}
	}
	if o.verb == "fail" {
		status, _ := strconv.Atoi(o.arg)
		w.WriteHeader(cmp.Or(status, 500))
		fmt.Fprintf(w, `{"type":"error","error":{"type":"error","message":"scripted failure %s"}}`, o.arg)
		return
	}
	name, space, input := "", "", json.RawMessage(nil)
	if o.verb != "" {
		name, space, input = r.tool(o)
	}
	path := req.URL.Path
	stream := r.Stream || strings.HasSuffix(path, "/responses") || strings.Contains(path, ":stream")
	w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		chat(w, stream, id, text, name, input)
	case strings.HasSuffix(path, "/messages"):
		messages(w, stream, r.Model, id, text, name, input)
	case strings.HasSuffix(path, "/responses"):
		responses(w, id, text, name, space, input)
	case strings.Contains(path, "enerateContent"):
		generate(w, stream, text, name, input)
	default:
		fmt.Fprint(w, `{"input_tokens":10}`)
	}
}

type object = map[string]any

// send writes one event of a stream.
func send(w http.ResponseWriter, kind string, v any) {
	raw, _ := json.Marshal(v)
	if kind != "" {
		fmt.Fprintf(w, "event: %s\n", kind)
	}
	fmt.Fprintf(w, "data: %s\n\n", raw)
}

func chat(w http.ResponseWriter, stream bool, id, text, name string, input json.RawMessage) {
	delta, reason := object{"role": "assistant", "content": text}, "stop"
	if name != "" {
		reason = "tool_calls"
		delta["tool_calls"] = []object{{"index": 0, "id": "call_" + id, "type": "function",
			"function": object{"name": name, "arguments": string(input)}}}
	}
	usage := object{"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
	head := object{"id": id, "created": 1, "model": "scripted"}
	if !stream {
		head["object"], head["usage"] = "chat.completion", usage
		head["choices"] = []object{{"index": 0, "message": delta, "finish_reason": reason}}
		_ = json.NewEncoder(w).Encode(head)
		return
	}
	head["object"] = "chat.completion.chunk"
	head["choices"] = []object{{"index": 0, "delta": delta, "finish_reason": nil}}
	send(w, "", head)
	head["usage"] = usage
	head["choices"] = []object{{"index": 0, "delta": object{}, "finish_reason": reason}}
	send(w, "", head)
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func messages(w http.ResponseWriter, stream bool, model, id, text, name string, input json.RawMessage) {
	usage := object{"input_tokens": 1000, "output_tokens": 10}
	m := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": model, "content": []object{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usage}
	reason := "end_turn"
	if name != "" {
		reason = "tool_use"
	}
	if !stream {
		m["content"], m["stop_reason"] = []object{{"type": "text", "text": text}}, reason
		_ = json.NewEncoder(w).Encode(m)
		return
	}
	send(w, "message_start", object{"type": "message_start", "message": m})
	index := 0
	block := func(block, delta object) {
		send(w, "content_block_start", object{"type": "content_block_start", "index": index, "content_block": block})
		send(w, "content_block_delta", object{"type": "content_block_delta", "index": index, "delta": delta})
		send(w, "content_block_stop", object{"type": "content_block_stop", "index": index})
		index++
	}
	if text != "" {
		block(object{"type": "text", "text": ""}, object{"type": "text_delta", "text": text})
	}
	if name != "" {
		block(object{"type": "tool_use", "id": "toolu_" + id, "name": name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(input)})
	}
	send(w, "message_delta", object{"type": "message_delta",
		"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"output_tokens": 10}})
	send(w, "message_stop", object{"type": "message_stop"})
}

func responses(w http.ResponseWriter, id, text, name, space string, input json.RawMessage) {
	event := func(kind string, v object) {
		v["type"] = kind
		send(w, kind, v)
	}
	event("response.created", object{"response": object{"id": id}})
	if text != "" {
		event("response.output_item.done", object{"item": object{"type": "message", "id": "msg_" + id, "role": "assistant",
			"content": []object{{"type": "output_text", "text": text}}}})
	}
	if name != "" {
		call := object{"type": "function_call", "id": "fc_" + id, "call_id": "call_" + id, "name": name,
			"arguments": string(input)}
		if space != "" {
			call["namespace"] = space
		}
		event("response.output_item.done", object{"item": call})
	}
	event("response.completed", object{"response": object{"id": id, "usage": object{"input_tokens": 1000,
		"output_tokens": 10, "total_tokens": 1010}}})
}

func generate(w http.ResponseWriter, stream bool, text, name string, input json.RawMessage) {
	parts := []object{}
	if !stream { // it asks which model is to answer, and repeats that until it has an answer
		text, name = `{"reasoning":"scripted","model_choice":"flash"}`, ""
	}
	if text != "" {
		parts = append(parts, object{"text": text})
	}
	if name != "" {
		parts = append(parts, object{"functionCall": object{"name": name, "args": input}})
	}
	answer := object{"candidates": []object{{"index": 0, "content": object{"role": "model", "parts": parts},
		"finishReason": "STOP"}}, "usageMetadata": object{"promptTokenCount": 1000, "candidatesTokenCount": 10,
		"totalTokenCount": 1010}}
	if !stream {
		_ = json.NewEncoder(w).Encode(answer)
		return
	}
	send(w, "", answer)
}
