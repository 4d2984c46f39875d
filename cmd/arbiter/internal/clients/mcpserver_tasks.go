package clients

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// tasksExtension is the MCP extension with which a call returns a task. The SDK does not implement it; a middleware
// and custom methods do.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskTools are the tools that return a task to a client that knows tasks.
var taskTools = []string{"start_run", "resume_run"}

// taskParams has the parameters of all task methods.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// acknowledged is the empty result of a method.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

const complete = "complete"

// addTasks adds the task methods, and makes the tools return tasks.
func (s *MCPServer) addTasks() error {
	s.mcp.AddReceivingMiddleware(s.asTask)
	return errors.Join(
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/get", s.taskGet),
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/update", s.taskUpdate),
		mcp.AddReceivingCustomMethod(s.mcp, "tasks/cancel", s.taskCancel))
}

func knowsTasks(c *mcp.ClientCapabilities) bool {
	if c == nil {
		return false
	}
	_, ok := c.Extensions[tasksExtension]
	return ok
}

// asTask turns the result of a tool that has started or resumed a run into a task. The id of the task is the id of
// the run, so any server can return the task as soon as the client knows its id.
func (s *MCPServer) asTask(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, req)
		call, ok := req.(*mcp.CallToolRequest)
		if err != nil || !ok || !slices.Contains(taskTools, call.Params.Name) ||
			!knowsTasks(call.ClientCapabilities()) {
			return result, err
		}
		done, ok := result.(*mcp.CallToolResult)
		if !ok || done.IsError {
			return result, nil
		}
		raw, _ := done.StructuredContent.(json.RawMessage)
		var v MCPView
		if err := json.Unmarshal(raw, &v); err != nil {
			return nil, err
		}
		t, err := s.task(ctx, v.Run)
		if err != nil {
			return result, nil // the run has started nevertheless
		}
		t.ResultType = "task"
		return t, nil
	}
}

// asked checks that a client knows tasks, and returns the run of a task.
func (s *MCPServer) asked(ss *mcp.ServerSession, p *taskParams) (run string, err error) {
	if p == nil {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there are no params: give taskId"}
	}
	if req := (&mcp.ServerRequest[*taskParams]{Session: ss, Params: p}); !knowsTasks(req.ClientCapabilities()) {
		return "", &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities,
			Message: "tasks need the client's capability " + tasksExtension,
			Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`)}
	}
	info, err := s.find(p.TaskID)
	if err == nil && info.Run != p.TaskID {
		err = errors.New("a task has the whole id of its run")
	}
	if err != nil {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "no such task: " + err.Error()}
	}
	return info.Run, nil
}

func (s *MCPServer) taskGet(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*task, error) {
	run, err := s.asked(ss, p)
	if err != nil {
		return nil, err
	}
	return s.task(ctx, run)
}

// taskUpdate is the method tasks/update. It ignores answers to items that are not open any more.
func (s *MCPServer) taskUpdate(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	run, err := s.asked(ss, p)
	if err != nil {
		return nil, err
	}
	if err := s.obeyResume(ctx, run, p.InputResponses); err != nil {
		return nil, err
	}
	if info, err := s.find(run); err != nil || !info.Live {
		return &acknowledged{ResultType: complete}, err
	}
	l, err := s.dial(ctx, run)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	st, err := l.Status(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range st.Inbox {
		if res, ok := p.InputResponses[inputKey(st, i)].(*mcp.ElicitResult); ok {
			if _, _, err := s.sendAnswer(ctx, l, i, res); err != nil {
				return nil, err
			}
		}
	}
	return &acknowledged{ResultType: complete}, nil
}

// taskCancel is the method tasks/cancel. It does not wait for the end of the run.
func (s *MCPServer) taskCancel(ctx context.Context, ss *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	run, err := s.asked(ss, p)
	if err != nil {
		return nil, err
	}
	info, err := s.find(run)
	if err == nil && info.Live {
		err = s.cancelLive(ctx, run, 0)
	}
	return &acknowledged{ResultType: complete}, err
}

// inputKey returns the key of an item among the input requests of a task. A client never shows a form with the same
// key again. So the key changes when the run is resumed, because an answer may have been lost with the previous
// process. For items with choices, which can occur more than once in a process, the key contains the time of the
// item.
func inputKey(st control.Status, i control.InboxItem) string {
	key := i.ID + "." + strconv.FormatUint(st.LogLines, 10)
	if len(i.Choices) > 0 {
		key += "." + strconv.FormatInt(i.Since.UnixMilli(), 10)
	}
	return key
}

// pollMS is the polling interval for clients, in milliseconds.
const pollMS = 1000

// task is a run in MCP's form of a task.
type task struct {
	mcp.ResultBase
	ResultType string              `json:"resultType"`
	TaskID     string              `json:"taskId"`
	Status     string              `json:"status"`
	Message    string              `json:"statusMessage,omitempty"`
	CreatedAt  time.Time           `json:"createdAt"`
	UpdatedAt  time.Time           `json:"lastUpdatedAt"`
	TTL        *int64              `json:"ttlMs"` // null: unlimited
	Poll       int                 `json:"pollIntervalMs"`
	Inputs     mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result     *mcp.CallToolResult `json:"result,omitempty"`
}

// declined has the interrupted runs that the human does not want to resume, each with its cursor when it stopped. It is
// not stored: another server asks again.
type declined struct {
	mu   sync.Mutex
	runs map[string]uint64
}

func (d *declined) add(run string, cursor uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs == nil {
		d.runs = map[string]uint64{}
	}
	d.runs[run] = cursor
}

func (d *declined) has(run string, cursor uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, ok := d.runs[run]
	return ok && at == cursor
}

// task returns a run as a task. A run that was interrupted waits for the human, who may resume it.
func (s *MCPServer) task(ctx context.Context, run string) (*task, error) {
	v, err := s.view(ctx, run)
	if err != nil {
		return nil, err
	}
	info, err := s.find(run)
	if err != nil {
		return nil, err
	}
	t := &task{ResultType: complete, TaskID: run, Status: v.Status, CreatedAt: info.Began.UTC(),
		UpdatedAt: info.LastActive.UTC(), Poll: pollMS}
	if len(v.News) > 0 {
		t.Message = v.News[len(v.News)-1]
	}
	switch v.Status {
	case working:
	case inputRequired:
		t.Inputs, err = s.inputs(ctx, run)
		if len(t.Inputs) == 0 { // answered in the meantime
			t.Status = working
		}
		return t, err
	case contract.StatusInterrupted:
		if info.Unfinished && info.Problem == "" && !s.left.has(run, v.Cursor) {
			t.Status, t.Message = inputRequired, v.Summary
			t.Inputs = mcp.InputRequestMap{resumeKey(v.Cursor): resumeForm(v).params()}
			return t, nil
		}
		fallthrough
	default:
		t.Message = v.Summary
		t.end(v)
	}
	return t, nil
}

// end sets the result of a task. A failed run has a result, too: only a protocol error makes a failed task.
func (t *task) end(v MCPView) {
	if v.Status == contract.StatusCancelled {
		t.Status = "cancelled"
		return
	}
	t.Status = "completed"
	text, err := json.Marshal(v)
	if err != nil { // cannot happen with our own types
		text = []byte(v.Status)
	}
	t.Result = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: v,
		IsError: v.Status != contract.StatusComplete}
}

// inputs returns the forms for all items that wait for the human in a live run.
func (s *MCPServer) inputs(ctx context.Context, run string) (mcp.InputRequestMap, error) {
	c, st, err := s.o.Runs.Dial(ctx, run)
	if err != nil {
		return nil, nil // it has just ended: the next call reports how
	}
	c.Close()
	all := mcp.InputRequestMap{}
	for _, i := range st.Inbox {
		if i.Optional {
			continue
		}
		f, err := s.formOf(run, i)
		if err != nil {
			return nil, err
		}
		all[inputKey(st, i)] = f.params()
	}
	return all, nil
}

const (
	doResume = "Resume"
	doLeave  = "Leave it"
)

func resumeKey(cursor uint64) string { return "resume-" + strconv.FormatUint(cursor, 10) }

func resumeForm(v MCPView) form {
	return form{message: "Run " + shortID(v.Run) + ": " + v.Summary + " Resume it from where it stopped?",
		options: []option{{label: doResume}, {label: doLeave}}}
}

// obeyResume carries out the human's answer to the form of an interrupted run.
func (s *MCPServer) obeyResume(ctx context.Context, run string, responses mcp.InputResponseMap) error {
	info, err := s.find(run)
	if err != nil || info.Live {
		return err
	}
	v, err := s.view(ctx, run)
	if err != nil {
		return err
	}
	res, ok := responses[resumeKey(v.Cursor)].(*mcp.ElicitResult)
	if !ok || v.Status != contract.StatusInterrupted {
		return nil
	}
	if choice, _ := res.Content[fieldDecision].(string); res.Action == "accept" && choice == doResume {
		return s.o.Runs.Resume(context.WithoutCancel(ctx), run, nil)
	}
	s.left.add(run, v.Cursor)
	return nil
}
