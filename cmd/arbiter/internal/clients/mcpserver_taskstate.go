package clients

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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

// declined has the stopped runs that the human does not want to resume, each with its cursor when it stopped. It is
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

// task returns a run as a task. A run that stopped without a result waits for the human, who may resume it.
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
	case stopped:
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

// obeyResume carries out the human's answer to the form of a stopped run.
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
	if !ok || v.Status != stopped {
		return nil
	}
	if choice, _ := res.Content[fieldDecision].(string); res.Action == "accept" && choice == doResume {
		return s.o.Runs.Resume(context.WithoutCancel(ctx), run, nil)
	}
	s.left.add(run, v.Cursor)
	return nil
}
