package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	structuredOutput = "StructuredOutput"
	askUser          = "AskUserQuestion"
)

// tool is something a model can call.
type tool struct {
	toolSpec
	shared func(input json.RawMessage) bool        // may run beside other shared calls
	check  func(t *thread, c toolCall) *toolResult // refuses a call before anybody is asked; may be nil
	run    func(ctx context.Context, t *thread, c toolCall) toolResult
	server string // MCP server it belongs to, or ""
}

// toolCall is a tool_use block.
type toolCall struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// toolResult is what a call came to.
type toolResult struct {
	content any  // text, or blocks
	isError bool // content is then text
	flag    bool // say "is_error":false explicitly, as Bash does
	detail  any  // tool_use_result of the frame; nil derives it from content
	kind    string
	ruling  *ruling
}

func failed(format string, args ...any) toolResult {
	return toolResult{content: fmt.Sprintf(format, args...), isError: true}
}

// misused is a failure before the tool was reached.
func misused(format string, args ...any) toolResult {
	text := fmt.Sprintf(format, args...)
	return toolResult{content: "<tool_use_error>" + text + "</tool_use_error>", isError: true, detail: "Error: " + strings.TrimPrefix(text, "Error: ")}
}

func (r toolResult) text() string {
	s, _ := r.content.(string)
	return s
}

// block is the tool_result block the model reads.
func (r toolResult) block(id string) obj {
	b := obj{"type": "tool_result", "tool_use_id": id, "content": r.content}
	if r.isError || r.flag {
		b["is_error"] = r.isError
	}
	return b
}

// use is the frame's tool_use_result.
func (r toolResult) use() any {
	switch {
	case r.detail != nil:
		return r.detail
	case r.isError:
		return "Error: " + r.text()
	}
	return r.content
}

// meta is the frame's tool_result_meta entry; nil for calls no rule judged.
func (r toolResult) meta(id string) []obj {
	if r.ruling == nil && r.kind == "" {
		return nil
	}
	m := obj{"id": id}
	if r.kind != "" {
		m["non_execution_kind"] = r.kind
	}
	if r.ruling != nil {
		d := obj{"decision": "accept", "source": r.ruling.source}
		if r.ruling.behavior == "deny" {
			d["decision"] = "reject"
		}
		if r.ruling.reasonType != "" {
			d["reason_type"] = r.ruling.reasonType
		}
		m["permission_decision"] = d
	}
	return []obj{m}
}

// runAskUser reads the answers, which whoever allowed the call put into its input.
func runAskUser(_ context.Context, _ *thread, c toolCall) toolResult {
	var in struct {
		Answers map[string]string `json:"answers"`
	}
	if err := json.Unmarshal(c.Input, &in); err != nil || len(in.Answers) == 0 {
		return failed("The user did not answer the questions.")
	}
	return toolResult{content: "User has answered your questions: " + string(encode(in.Answers))}
}

func always(json.RawMessage) bool { return true }
func never(json.RawMessage) bool  { return false }

// builtins in the order init.tools lists them.
func builtins() []*tool {
	return []*tool{
		{toolSpec: spec("Agent", "Launch a new agent to handle a task and report back.",
			req("description", "string"), req("prompt", "string"), opt("subagent_type", "string"), opt("model", "string")),
			shared: always, run: runAgent},
		{toolSpec: spec(askUser, "Asks the user questions with options.", req("questions", "array"), opt("answers", "object")),
			shared: never, run: runAskUser},
		{toolSpec: spec("Bash", "Executes a bash command and returns its output.",
			req("command", "string"), opt("timeout", "number"), opt("description", "string")),
			shared: bashReadsOnly, run: runBash},
		{toolSpec: spec("Edit", "Replaces text in a file.",
			req("file_path", "string"), req("old_string", "string"), req("new_string", "string"), opt("replace_all", "boolean")),
			shared: never, check: checkEdit, run: runEdit},
		{toolSpec: spec("Glob", "Finds files by pattern.", req("pattern", "string"), opt("path", "string")),
			shared: always, run: runGlob},
		{toolSpec: spec("Grep", "Searches files for a regular expression.",
			req("pattern", "string"), opt("path", "string"), opt("glob", "string"), opt("output_mode", "string")),
			shared: always, run: runGrep},
		{toolSpec: spec("Read", "Reads a file.", req("file_path", "string"), opt("offset", "integer"), opt("limit", "integer")),
			shared: always, run: runRead},
		{toolSpec: spec("Write", "Writes a file.", req("file_path", "string"), req("content", "string")),
			shared: never, run: runWrite},
	}
}

type param struct {
	name, kind string
	required   bool
}

func req(name, kind string) param { return param{name, kind, true} }
func opt(name, kind string) param { return param{name, kind, false} }

func spec(name, description string, params ...param) toolSpec {
	props, required := obj{}, []string{}
	for _, p := range params {
		props[p.name] = obj{"type": p.kind}
		if p.required {
			required = append(required, p.name)
		}
	}
	return toolSpec{name, description, encode(obj{
		"type": "object", "properties": props, "required": required, "additionalProperties": false,
	})}
}

// chooseBuiltins applies --tools and deny rules. Without --tools Glob and Grep
// exist only where Bash does not (observed with CLI 2.1.329).
func chooseBuiltins(f flags, p *permissions, env environ) []*tool {
	wanted := splitRules(f.all("--tools"))
	exact := f.has("--tools") && !slices.Contains(wanted, "default")
	var out []*tool
	for _, t := range append(builtins(), taskTools(f, env)...) {
		switch {
		case p.removed(t.Name):
		case exact && !slices.ContainsFunc(wanted, func(w string) bool { return parseRule(w).tool == t.Name }):
		case !exact && (t.Name == "Glob" || t.Name == "Grep") && !p.removed("Bash"):
		default:
			out = append(out, t)
		}
	}
	return out
}

// leftOut reports whether a tool of the CLI's own is not among those of the session.
func (s *session) leftOut(name string) bool {
	known := func(t *tool) bool { return t.Name == name }
	return slices.ContainsFunc(builtins(), known) && !slices.ContainsFunc(s.builtin, known)
}

// toolset is what a thread's model may call: a subagent gets neither the Agent
// tool nor the verdict.
func (t *thread) toolset() []*tool {
	s := t.s
	var out []*tool
	for _, b := range s.builtin {
		if t.sub == nil || b.Name != "Agent" {
			out = append(out, b)
		}
	}
	if v := s.verdictSchema(); v != nil && t.sub == nil {
		out = append(out, &tool{toolSpec: toolSpec{structuredOutput,
			"Ends the turn with the answer in the form that was asked for.", v.raw},
			shared: never, run: runStructuredOutput})
	}
	for _, m := range s.mcp.tools() {
		if !s.perms.removed(m.Name) {
			out = append(out, m)
		}
	}
	return out
}

func findTool(ts []*tool, name string) *tool {
	for _, t := range ts {
		if t.Name == canonicalTool(name) {
			return t
		}
	}
	return nil
}

func specs(ts []*tool) []toolSpec {
	out := make([]toolSpec, len(ts))
	for i, t := range ts {
		out[i] = t.toolSpec
	}
	return out
}

// initNames are the names of init.tools, where the Agent tool is called Task.
func initNames(ts []*tool) []string {
	out := make([]string, 0, len(ts))
	for _, t := range ts {
		if t.Name == "Agent" {
			out = append(out, "Task")
		} else {
			out = append(out, t.Name)
		}
	}
	return out
}

// invalidInput checks a built-in tool's parameters.
func (t *tool) invalidInput(input json.RawMessage) (toolResult, bool) {
	if t.server != "" || t.Name == structuredOutput {
		return toolResult{}, false // the host and the verdict have checks of their own
	}
	s, err := parseSchema(t.InputSchema)
	var members map[string]json.RawMessage
	if err != nil || json.Unmarshal(input, &members) != nil {
		return misused("InputValidationError: %s failed: the input is not valid", t.Name), true
	}
	for _, name := range s.required {
		if _, ok := members[name]; !ok {
			return misused("InputValidationError: %s failed due to the following issue:\nThe required parameter `%s` is missing", t.Name, name), true
		}
	}
	if err := s.validate(input); err != nil {
		return misused("InputValidationError: %s failed due to the following issue:\n%v", t.Name, err), true
	}
	return toolResult{}, false
}

// runStructuredOutput takes a verdict; the turn ends with the first valid one.
func runStructuredOutput(_ context.Context, t *thread, c toolCall) toolResult {
	if err := t.s.verdictSchema().check.validate(c.Input); err != nil {
		r := failed("Output does not match required schema: %v", err)
		t.turn.refuseVerdict(r.text())
		return r
	}
	t.turn.acceptVerdict(c.Input)
	return toolResult{content: "Structured output provided successfully"}
}
