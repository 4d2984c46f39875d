package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// maxLine bounds a line of the CLI's stdout. The longest seen was 3 MB (CLI
// 2.1.329: a text is repeated in assistant and result frames).
const maxLine = 64 << 20

// reader turns stdout into events. It is one goroutine and the sole owner of
// its fields, so nothing here is locked.
type reader struct {
	a           *agent
	subs        *subagents
	costs       costs
	priorErrors priorErrors
	verdict     map[string]bool // tool use ids of verdicts whose results have not come yet
	stream      map[int]bool    // partial stream: content block index → is the verdict
	asked       map[string]bool // requests of the CLI whose answers it may echo
	echoed      map[string]bool // open messages that the CLI has repeated: they are in the conversation
	foreign     bool            // the process speaks for another session
	taken       bool            // the first message was accepted
	asking      consulting
	costAccount costAccount
	spending    spending
	quotas      map[string]bridge.Quota // as last reported
	calls       *toolCalls
	tasks       taskList
	blocked     bool // a hook is preventing a compaction: the CLI will report that it failed
}

func newReader(a *agent) *reader {
	return &reader{a: a, subs: newSubagents(a.Emit), calls: newToolCalls(),
		spending: spending{ring: make(chan struct{}, 1), known: !a.Config.Resume},
		verdict:  map[string]bool{}, stream: map[int]bool{}, asked: map[string]bool{},
		echoed: map[string]bool{}, quotas: map[string]bridge.Quota{}}
}

// run reads until the end of stdout.
func (r *reader) run(stdout io.Reader) {
	defer r.subs.end("lost")
	lines := jsonl.NewLineReader(stdout, maxLine)
	for {
		line, err := lines.Next()
		if err != nil {
			if _, cut := lines.Splitter.Rest(); cut && errors.Is(err, io.EOF) {
				r.a.notice("cut line", "the last line was cut short")
			}
			return
		}
		if line.Oversize {
			r.a.notice("long line", fmt.Sprintf("skipped a line of more than %d bytes", maxLine))
			r.refuseUnread(line.Data)
			continue
		}
		r.line(line.Data)
	}
}

func (r *reader) line(line []byte) {
	if len(line) == 0 {
		return
	}
	f, err := decode(line)
	if err != nil {
		r.a.NoteOutput()
		r.a.notice("garbage", fmt.Sprintf("skipped a line that is not a frame: %q", jsonl.Cut(string(line), 120)))
		r.refuseUnread(line)
		return
	}
	if _, answer := f.(controlResponse); !answer { // a ping's answer is not a sign of work
		r.a.NoteOutput()
	}
	if r.ours(f) {
		r.handle(f)
	}
}

// refuseUnread refuses what begins like a request: the CLI waits for an answer to each.
func (r *reader) refuseUnread(line []byte) {
	id, begins := bytes.CutPrefix(line, []byte(`{"type":"control_request","request_id":"`))
	if id, _, whole := bytes.Cut(id, []byte(`"`)); begins && whole {
		r.a.asks.serve(r.a.Ctx, string(id), refuse(errors.New("the request cannot be read")))
	}
}

// maxAsked bounds the set of requests whose answers may still be echoed; a CLI that does not echo would let
// it grow.
const maxAsked = 1024

// echo reports whether a control response is our own answer coming back: with
// --replay-user-messages the CLI repeats the control responses it was given, too
// (observed with CLI 2.1.329).
func (r *reader) echo(id string) bool {
	if len(r.asked) > maxAsked {
		clear(r.asked)
	}
	known := r.asked[id]
	delete(r.asked, id)
	return known
}

// handle dispatches a frame.
func (r *reader) handle(f frame) {
	a := r.a
	switch f := f.(type) {
	case assistantFrame:
		r.assistant(f)
	case userFrame:
		r.user(f)
	case resultFrame:
		r.result(f)
	case streamFrame:
		r.streamed(f)
	case lifecycleFrame:
		r.lifecycle(f)
	case stateFrame:
		if f.State == "idle" {
			r.idle()
		}
	case controlRequest:
		r.asked[f.ID] = true
		r.answer(f)
	case controlResponse:
		if !r.echo(f.ID) && !a.calls.answered(f) {
			a.notice("stray answer", fmt.Sprintf("an answer to an unknown request %.80q", f.ID))
		}
	case controlCancel:
		a.asks.cancel(f.ID)
	case apiRetry:
		a.Emit(bridge.Retry{Attempt: f.Attempt, MaxRetries: f.Max, DelayMS: f.DelayMS, Status: f.Status,
			Reason: f.Reason})
	case taskStarted:
		r.startSubagent(f)
	case taskProgress:
		r.subs.progress(f)
		r.progressed(f.ToolUse)
	case taskEnded:
		r.stopSubagent(f.ToolUse, f.Status, f.Tokens)
	case compactBoundary:
		a.gauge.compact(f.UUID)
		a.Emit(bridge.Compact{Trigger: f.Trigger, PreTokens: f.Pre, PostTokens: f.Post})
		r.consult()
	case compactFailed:
		r.compactFailed(f)
	case rateLimitEvent:
		r.priorErrors.rejected = f.Status == "rejected"
		r.priorErrors.resetsAt = 0
		if r.priorErrors.rejected {
			r.priorErrors.resetsAt = unixSeconds(f.ResetsAt)
		}
		r.reportQuotas(f.Windows)
	case writesLost:
		if slices.Contains(f.Lost, "transcript") { // lost settings cost no work
			a.Emit(bridge.Error{Category: bridge.CatResume,
				Message: fmt.Sprintf("the CLI could not write all of its transcript (%s): when this session is "+
					"resumed, part of the conversation may be missing", jsonl.Cut(f.Why, 40))})
		}
	case initFrame:
		a.turns.enter()
	case quiet:
	case Unknown:
		r.unknown(f)
	default:
		panic(fmt.Sprintf("frame %T has no handler", f))
	}
}

func (r *reader) unknown(f Unknown) {
	kind := f.Type + "/" + f.Subtype
	n := bridge.Notice{Text: fmt.Sprintf("unknown frame %.80q", kind), Frame: jsonl.Cut(kind, 80)}
	if f.Err != nil {
		n = bridge.Notice{Text: fmt.Sprintf("unreadable frame %.80q: %v", kind, f.Err)}
	}
	r.a.noticeOnce("frame "+kind, n)
	if f.Type == "control_request" && f.RequestID != "" { // the CLI waits for an answer to every request
		r.a.asks.serve(r.a.Ctx, f.RequestID, refuse(errors.New("unreadable control request")))
	}
}

// ours reports whether a frame may be routed. Frames about a message name their session. From the first
// frame of another session on, no frame is routed.
func (r *reader) ours(f frame) bool {
	session := ""
	switch f := f.(type) {
	case initFrame:
		session = f.SessionID
	case lifecycleFrame:
		session = f.SessionID
	case resultFrame:
		session = f.SessionID
	}
	if !r.foreign && session != "" && !strings.EqualFold(session, r.a.Config.SessionID) {
		r.foreign = true
		r.a.quarantine(session)
	}
	return !r.foreign
}

func (r *reader) assistant(f assistantFrame) {
	if f.Model == synthetic { // text of the CLI itself: no usage, no text of the model
		if f.ErrorKind != "" {
			r.priorErrors.kind, r.priorErrors.status = f.ErrorKind, f.APIStatus
		}
		return
	}
	r.read(f)
	for _, b := range f.Blocks {
		switch b.Type {
		case "text":
			if b.Text != "" {
				r.a.Emit(bridge.Assistant{Text: b.Text, ContextPct: r.a.gauge.now().Pct, MessageID: f.MessageID,
					Subagent: f.Parent})
			}
		case "tool_use":
			r.toolUse(b, f.Parent)
		}
	}
}

func (r *reader) toolUse(b block, parent string) {
	if b.Name == bridge.VerdictTool && parent == "" {
		r.verdict[b.ID] = true
		return
	}
	if bridge.StartsSubagent(b.Name) {
		input, _ := split(b.Input) // the description is optional
		r.subs.called[b.ID] = text(input, "description")
	}
	if jsonl.IsNull(b.Input) {
		b.Input = json.RawMessage("{}")
	}
	if r.a.tools != nil && parent != "" && strings.HasPrefix(b.Name, mcpPrefix) {
		r.a.tools.within.note(b.ID, parent)
	}
	r.calls.call(b, parent)
	r.a.Emit(bridge.ToolUse{Tool: b.Name, Input: b.Input, ToolUse: b.ID, Subagent: parent})
}

func (r *reader) user(f userFrame) {
	if f.Replay {
		r.replayed(f.UUID)
		return
	}
	r.spending.worked()
	for _, b := range f.Blocks {
		if b.Type != "tool_result" {
			continue
		}
		if r.verdict[b.ToolUseID] {
			delete(r.verdict, b.ToolUseID)
			continue
		}
		status := "completed"
		if b.IsError {
			status = "failed"
		}
		r.stopSubagent(b.ToolUseID, status, 0)
		content := flatten(b.Content)
		r.a.Emit(bridge.ToolResult{ToolUse: b.ToolUseID, Text: jsonl.Cut(content, bridge.ToolResultCap),
			IsError: b.IsError, Subagent: f.Parent})
		c, known := r.calls.result(b, content, slices.Contains(f.Denied, b.ToolUseID))
		if known && c.main && !b.IsError && isTaskTool(c.tool) && r.tasks.apply(c, f.Result) {
			r.a.Emit(bridge.Tasks{Items: slices.Clone(r.tasks.items)})
		}
	}
}

// flatten turns the content of a tool result, a string or blocks, into text.
func flatten(content json.RawMessage) string {
	if jsonl.IsNull(content) {
		return ""
	}
	text, err := jsonl.String(content)
	if err == nil {
		return text
	}
	var blocks []block
	if set(content, reflect.ValueOf(&blocks).Elem()) != nil {
		return string(content)
	}
	for i, b := range blocks {
		if i > 0 {
			text += "\n"
		}
		if b.Type == "text" {
			text += b.Text
		} else {
			text += "[" + b.Type + "]"
		}
	}
	return text
}

// streamed passes on pieces of the main thread's text and of its verdict.
func (r *reader) streamed(f streamFrame) {
	if f.Parent != "" {
		return
	}
	switch f.Event {
	case "message_start":
		clear(r.stream)
	case "content_block_start":
		r.stream[f.Index] = f.BlockType == "tool_use" && f.BlockName == bridge.VerdictTool
	case "content_block_delta":
		if f.Text != "" {
			r.a.Emit(bridge.Delta{Text: f.Text})
		} else if f.JSON != "" && r.stream[f.Index] {
			r.a.Emit(bridge.Delta{Text: f.JSON, Verdict: true})
		}
	}
}
