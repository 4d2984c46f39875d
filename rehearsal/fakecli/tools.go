package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	verdictTool = "StructuredOutput"
	askUser     = "AskUserQuestion"
)

// tool is something a model can call.
type tool struct {
	toolSpec
	server string // MCP server it belongs to, or ""
	run    func(ctx context.Context, t *thread, c toolCall) *toolResult
}

// toolCall is a tool_use block.
type toolCall struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// toolResult is the outcome of a call.
type toolResult struct {
	content any // text, or blocks
	isError bool
	said    bool // is_error is given also where it is false, as Bash does
	denied  bool
}

func failed(format string, args ...any) *toolResult {
	return &toolResult{content: fmt.Sprintf(format, args...), isError: true}
}

// rejected is the result of a call that an interrupt stopped (text of CLI 2.1.329).
func rejected() *toolResult {
	return failed("The user doesn't want to proceed with this tool use. It was rejected and may have been done in part.")
}

// builtins are the tools that scripts call, in the order in which init lists them. Files are
// handled as simply as their results allow.
var builtins = []tool{
	{toolSpec: spec("Agent", "Starts an agent that does a task and reports back."), run: nil}, // set in init
	{toolSpec: spec(askUser, "Asks the user questions with options."), run: runAskUser},
	{toolSpec: spec("Bash", "Executes a bash command and returns its output."), run: runBash},
	{toolSpec: spec("Edit", "Replaces text in a file."), run: runEdit},
	{toolSpec: spec("Glob", "Finds files by pattern."), run: runSearch},
	{toolSpec: spec("Grep", "Searches files for a regular expression."), run: runSearch},
	{toolSpec: spec("Read", "Reads a file."), run: runRead},
	{toolSpec: spec("Write", "Writes a file."), run: runWrite},
}

func init() { builtins[0].run = runAgent } // which looks at the list itself

func spec(name, description string) toolSpec {
	return toolSpec{name, description, json.RawMessage(`{"type":"object"}`)}
}

// chooseBuiltins applies --tools and deny rules. Without --tools, Glob and Grep exist only
// where Bash does not (observed with CLI 2.1.329).
func chooseBuiltins(wanted []string, exact bool, deny []rule) []tool {
	return slices.DeleteFunc(slices.Clone(builtins), func(t tool) bool {
		switch {
		case removed(deny, t.Name):
			return true
		case exact:
			return !slices.Contains(wanted, t.Name)
		}
		return (t.Name == "Glob" || t.Name == "Grep") && !removed(deny, "Bash")
	})
}

// toolset is what a thread's model may call: a subagent gets neither the Agent tool nor the
// verdict.
func (t *thread) toolset() []tool {
	s := t.s
	out := slices.DeleteFunc(slices.Clone(s.builtin), func(b tool) bool { return t.sub != nil && b.Name == "Agent" })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.schema != nil && t.sub == nil {
		verdict := toolSpec{verdictTool, "Ends the turn with the answer in the required form.", s.schema.raw}
		out = append(out, tool{toolSpec: verdict, run: runVerdict})
	}
	own := len(out)
	for _, sv := range s.servers {
		for _, tl := range sv.tools {
			if !removed(s.deny, tl.Name) {
				out = append(out, tl)
			}
		}
	}
	slices.SortFunc(out[own:], func(a, b tool) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// find returns the tool of a call, or the result of a call that cannot be made.
func (t *thread) find(c toolCall) (tool, *toolResult) {
	set := t.toolset()
	i := slices.IndexFunc(set, func(tl tool) bool { return tl.Name == c.Name })
	if i < 0 {
		text := "No such tool available: " + c.Name
		if removed(t.s.deny, c.Name) || slices.ContainsFunc(builtins, func(b tool) bool { return b.Name == c.Name }) {
			text += ". " + c.Name + " is disabled for this session, in subagents as well as here."
		}
		return tool{}, failed("<tool_use_error>Error: %s</tool_use_error>", text)
	}
	return set[i], nil
}

// runAskUser is reached if the host allows the call without an answer in it.
func runAskUser(context.Context, *thread, toolCall) *toolResult {
	return failed("The user did not answer the questions.")
}

// verdictSchema is the schema of the session's verdicts.
type verdictSchema struct {
	raw      json.RawMessage
	resolved *jsonschema.Resolved
}

func newVerdictSchema(raw json.RawMessage) (*verdictSchema, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	// The library takes any word for a type.
	kinds := []string{"", "array", "boolean", "integer", "null", "number", "object", "string"}
	if !slices.Contains(kinds, s.Type) {
		return nil, fmt.Errorf("unknown type %q", s.Type)
	}
	resolved, err := s.Resolve(nil)
	return &verdictSchema{raw, resolved}, err
}

func (v *verdictSchema) validate(raw json.RawMessage) error {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return errors.New("root: no JSON")
	}
	return v.resolved.Validate(value)
}

// runVerdict takes a verdict; the turn ends with the first valid one.
func runVerdict(_ context.Context, t *thread, c toolCall) *toolResult {
	err := t.s.verdictSchema().validate(c.Input)
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if err != nil {
		t.turn.refusals++
		return failed("Output does not match required schema: %v", err)
	}
	if t.turn.verdict == nil {
		t.turn.verdict = c.Input
	}
	return &toolResult{content: "Structured output provided successfully"}
}
