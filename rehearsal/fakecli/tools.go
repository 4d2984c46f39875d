package fakecli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const verdictTool = "StructuredOutput"

// tool is something a model can call.
type tool struct {
	toolSpec
	run toolFunc
}

type toolFunc func(ctx context.Context, t *thread, c toolCall) *toolResult

// toolResult is the outcome of a call.
type toolResult struct {
	content any // text, or blocks
	isError bool
	denied  bool
}

func failed(text string) *toolResult { return &toolResult{content: text, isError: true} }

func denied(reason string) *toolResult {
	return &toolResult{content: reason, isError: true, denied: true}
}

// rejected is the result of a call that an interrupt stopped (text of CLI 2.1.329).
func rejected() *toolResult {
	return failed("The user doesn't want to proceed with this tool use. It was rejected and may have been done in part.")
}

// chooseBuiltins returns the tools that scenarios call, in the order in which init lists them,
// without those that --tools or a deny rule of the command line leaves out.
func chooseBuiltins(f flags, fixed []rule) []tool {
	wanted := splitRules(f["--tools"])
	return slices.DeleteFunc([]tool{
		{spec("Agent"), runAgent},
		{spec("Bash"), runBash},
		{spec("Edit"), fileTool(edit)},
		{spec("Grep"), fileTool(grep)},
		{spec("Read"), fileTool(read)},
		{spec("WebFetch"), failing("Unable to verify if this domain is safe to fetch.")}, // without a network
		{spec("Write"), fileTool(write)},
	}, func(t tool) bool {
		return takenAway(fixed, t.Name) || f.has("--tools") && !slices.Contains(wanted, t.Name)
	})
}

// takenAway reports whether a deny rule is about all of a tool.
func takenAway(rules []rule, tool string) bool {
	return slices.ContainsFunc(rules, func(r rule) bool { return r.Behavior == "deny" && r.covers(tool) })
}

func spec(name string) toolSpec { return toolSpec{name, name, json.RawMessage(`{"type":"object"}`)} }

// toolset lists the tools of a thread's model: a subagent gets neither the Agent tool nor the
// verdict.
func (t *thread) toolset() []tool {
	s := t.s
	out := slices.DeleteFunc(slices.Clone(s.builtin), func(b tool) bool { return t.sub != nil && b.Name == "Agent" })
	if t.wantsVerdict() {
		verdict := toolSpec{verdictTool, "Ends the turn with the answer in the required form.",
			json.RawMessage(s.flags.get("--json-schema"))}
		out = append(out, tool{verdict, runVerdict})
	}
	rules := s.rules()
	for _, tl := range guarded(s, &s.mcpTools) {
		if !takenAway(rules, tl.Name) {
			out = append(out, tl)
		}
	}
	return out
}

func failing(text string) toolFunc {
	return func(context.Context, *thread, toolCall) *toolResult { return failed(text) }
}

// wantsVerdict reports whether the conversation ends with a verdict.
func (t *thread) wantsVerdict() bool { return t.sub == nil && t.s.flags.has("--json-schema") }

// runVerdict accepts a verdict; the turn ends with the first.
func runVerdict(_ context.Context, t *thread, c toolCall) *toolResult {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	if t.turn.verdict == nil {
		t.turn.verdict = c.Input
	}
	return &toolResult{content: "Structured output provided successfully"}
}

// runTools runs the calls of one answer: Agent calls concurrently, others in order. (The real CLI begins
// while the answer still streams.)
func (t *thread) runTools(ctx context.Context, calls []toolCall) {
	var agents sync.WaitGroup
	for _, c := range calls {
		if c.Name == "Agent" {
			agents.Go(func() { t.deliver(c, t.execute(ctx, c)) })
			continue
		}
		agents.Wait()
		t.deliver(c, t.execute(ctx, c))
	}
	agents.Wait()
	t.addHookContexts()
	if len(calls) > 0 && t.s.faults.is("quiet") {
		<-ctx.Done()
	}
}

// execute runs one call: hooks, permission, and the tool.
func (t *thread) execute(ctx context.Context, c toolCall) *toolResult {
	set := t.toolset()
	i := slices.IndexFunc(set, func(tl tool) bool { return tl.Name == c.Name })
	if i < 0 {
		return failed("<tool_use_error>Error: No such tool available: " + c.Name + "</tool_use_error>")
	}
	refused := t.permit(ctx, c)
	switch {
	case ctx.Err() != nil:
		return rejected()
	case refused != nil:
		return refused
	}
	res := set[i].run(ctx, t, c)
	if context.Cause(ctx) == errInterrupted {
		return rejected()
	}
	event := "PostToolUse"
	extra := obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID, "tool_response": res.content}
	if res.isError {
		event = "PostToolUseFailure"
		maps.Copy(extra, obj{"error": res.content, "is_interrupt": false})
	}
	t.hook(ctx, event, c.Name, extra)
	return res
}

// deliver passes a result to the host, the model and the transcript.
func (t *thread) deliver(c toolCall, res *toolResult) {
	decision := "accept"
	if res.denied {
		decision = "reject"
	}
	block := obj{"type": "tool_result", "tool_use_id": c.ID, "content": res.content, "is_error": res.isError}
	t.addUserMessage(encode(block),
		obj{"tool_result_meta": []obj{{"id": c.ID, "permission_decision": obj{"decision": decision}}}}, nil)
}

// subagent is a blocking subagent: its own conversation inside a tool call, on the goroutine of
// that call.
type subagent struct {
	id      string
	kind    string // subagent_type
	toolUse string // id of the Agent call
	tokens  int    // of its current context, not of all its calls together (observed with CLI 2.1.329)
}

// emit writes a frame about the subagent.
func (a *subagent) emit(s *session, subtype string, o obj) {
	maps.Copy(o, obj{"type": "system", "subtype": subtype, "task_id": a.id, "tool_use_id": a.toolUse,
		"subagent_type": a.kind, "usage": obj{"total_tokens": a.tokens}})
	s.emit(o)
}

func runAgent(ctx context.Context, t *thread, c toolCall) *toolResult {
	in := inputOf(c)
	a := &subagent{id: "a" + strings.ToLower(rand.Text()), kind: cmp.Or(in.Agent, "general-purpose"), toolUse: c.ID}
	sub := &thread{s: t.s, sub: a, turn: t.turn, tr: newTranscript("", t.s)} // only its report is kept
	a.emit(t.s, "task_started", obj{"description": in.Description, "is_backgrounded": false, "spawn_depth": 1,
		"task_type": "local_agent", "prompt": in.Prompt})
	sub.hook(ctx, "SubagentStart", "", nil)
	sub.addUserMessage(textBlock(in.Prompt), nil, nil)
	sub.addHookContexts()
	end := sub.converse(ctx)
	sub.hook(ctx, "SubagentStop", "", obj{"last_assistant_message": end.text})
	status := "completed"
	if end.isError {
		status = "failed"
	}
	a.emit(t.s, "task_notification", obj{"status": status, "summary": end.text})
	text := "[Subagent hand-back] What the subagent reports, in its own words:\n  " +
		strings.ReplaceAll(end.text, "\n", "\n  ") + "\nagentId: " + a.id + "\n"
	return &toolResult{content: []json.RawMessage{textBlock(text)}, isError: end.isError}
}

// toolInput has the fields of all tools' inputs.
type toolInput struct {
	Command, URL, Description, Prompt, Content, Pattern, Path string

	FilePath string `json:"file_path"`
	Old      string `json:"old_string"`
	New      string `json:"new_string"`
	Agent    string `json:"subagent_type"`
}

// inputOf reads the input of a call. Fields of a wrong type are empty.
func inputOf(c toolCall) (in toolInput) {
	_ = json.Unmarshal(c.Input, &in)
	return in
}

// fileTool makes a tool from a function. The process's directory is the session's.
func fileTool(run func(in toolInput) (string, error)) toolFunc {
	return func(_ context.Context, _ *thread, c toolCall) *toolResult {
		text, err := run(inputOf(c))
		if err != nil {
			return failed(err.Error())
		}
		return &toolResult{content: text}
	}
}

// read returns the lines of a file with their numbers.
func read(in toolInput) (string, error) {
	raw, err := os.ReadFile(in.FilePath)
	lines := strings.Split(string(raw), "\n")
	for i := range lines {
		lines[i] = strconv.Itoa(i+1) + "\t" + lines[i]
	}
	return strings.Join(lines, "\n"), err
}

func write(in toolInput) (string, error) {
	_ = os.MkdirAll(filepath.Dir(in.FilePath), 0o755) // otherwise the file cannot be written either
	return "File created successfully at: " + in.FilePath, os.WriteFile(in.FilePath, []byte(in.Content), 0o644)
}

func edit(in toolInput) (string, error) {
	raw, err := os.ReadFile(in.FilePath)
	if err != nil || !strings.Contains(string(raw), in.Old) {
		return "", errors.New("String to replace not found in file.\nString: " + in.Old)
	}
	text := strings.Replace(string(raw), in.Old, in.New, 1)
	return "The file " + in.FilePath + " has been updated successfully.", os.WriteFile(in.FilePath, []byte(text), 0o644)
}

// grep runs the program of that name; if it fails, it has found nothing.
func grep(in toolInput) (string, error) {
	out, _ := exec.Command("grep", "-rInE", "-e", in.Pattern, "--", cmp.Or(in.Path, ".")).Output()
	return cmp.Or(strings.TrimSpace(string(out)), "No files found"), nil
}

// outputLimit is how many bytes of a command's output the model reads.
const outputLimit = 30_000

// orphanWait is how long to wait for output that a background job of an ended command might still
// write.
const orphanWait = 200 * time.Millisecond

// runBash runs a command in its own session: killing the CLI's process group does not reach it, as with the
// CLI.
func runBash(ctx context.Context, t *thread, c toolCall) *toolResult {
	var out bytes.Buffer
	command := inputOf(c).Command
	if prefix := os.Getenv("CLAUDE_CODE_SHELL_PREFIX"); prefix != "" { // a program that takes it as its one argument
		quote := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
		command = quote(prefix) + " " + quote(command)
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Stdout, cmd.Stderr = &out, &out
	t.s.apart(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = orphanWait
	err := cmd.Run()
	text := strings.TrimRight(strings.ToValidUTF8(string(out.Next(outputLimit)), "\uFFFD"), "\n")
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return &toolResult{content: cmp.Or(text, "(Bash completed with no output)")}
	}
	code := cmd.ProcessState.ExitCode()
	if code < 0 { // no process, or one that a signal ended
		code = 137
	}
	return failed(strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", code, text)))
}

// apart gives a command its own session, the session's directory, and the CLI's environment with the
// markers for children.
func (s *session) apart(cmd *exec.Cmd) {
	cmd.Dir = s.cwd
	cmd.Env = append(os.Environ(), "CLAUDECODE=1", "CLAUDE_CODE_CHILD_SESSION=1", "CLAUDE_CODE_SESSION_ID="+s.id,
		"CLAUDE_PID="+strconv.Itoa(os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
