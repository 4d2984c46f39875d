package clients

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// wire is a client that knows tasks; the SDK's client does not.
type wire struct {
	t     *testing.T
	in    io.Writer
	out   *bufio.Reader
	n     int
	tasks bool // whether it announces the capability
}

func (w *world) wire(tasks bool) *wire {
	w.t.Helper()
	s, err := NewMCP(w.options())
	if err != nil {
		w.t.Fatal(err)
	}
	theirs, in := io.Pipe()
	out, ours := io.Pipe()
	var served sync.WaitGroup
	served.Go(func() {
		_ = s.Serve(w.t.Context(), &mcp.IOTransport{Reader: theirs, Writer: ours}) // ends with the client
	})
	w.t.Cleanup(func() {
		_ = in.Close()
		_ = out.Close()
		served.Wait()
	})
	return &wire{t: w.t, in: in, out: bufio.NewReader(out), tasks: tasks}
}

// answerOf is the result or error that a client reads.
type answerOf struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		InputRequests                             map[string]struct{ Params mcp.ElicitParams }
		TTL                                       *int64 `json:"ttlMs"`
		Result                                    *struct {
			IsError           bool
			StructuredContent MCPView
		}
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (c *wire) call(method string, params map[string]any) (a answerOf) {
	c.t.Helper()
	c.n++
	capabilities := map[string]any{}
	if c.tasks {
		capabilities["extensions"] = map[string]any{tasksExtension: map[string]any{}}
	}
	params["_meta"] = map[string]any{mcp.MetaKeyProtocolVersion: newest, mcp.MetaKeyClientCapabilities: capabilities}
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.n, "method": method, "params": params})
	if err == nil {
		_, err = c.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = c.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil {
		c.t.Fatalf("%s: %v: %s", method, err, line)
	}
	return a
}

func (c *wire) get() answerOf { return c.call("tasks/get", map[string]any{"taskId": theRun}) }

func (c *wire) update(responses map[string]any) answerOf {
	return c.call("tasks/update", map[string]any{"taskId": theRun, "inputResponses": responses})
}

func keys(a answerOf) (list []string) {
	for key := range a.Result.InputRequests {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}

// TestTask: a run is a task from its start to its end, on any server. Items for the human come as forms, and the
// answers become commands; answers to other keys are ignored.
func TestTask(t *testing.T) {
	w := newWorld(t)
	task := map[string]any{"task": "x"}
	begun := w.wire(true).call("tools/call", map[string]any{"name": "start_run", "arguments": task})
	if r := begun.Result; r.ResultType != "task" || r.TaskID != theRun || r.Status != working || r.TTL != nil {
		t.Fatalf("begun: %+v", begun)
	}
	c := w.wire(true) // another server
	w.message("at work")
	if r := c.get().Result; r.ResultType != complete || r.Status != working || r.StatusMessage != "at work" {
		t.Errorf("at work: %+v", r)
	}
	w.waits(control.InboxItem{ID: "question-1", Kind: "question", Text: "Which?"})
	w.waits(control.InboxItem{ID: "recovery-orch-1", Kind: "recovery", Choices: []string{"retry"}, Optional: true})
	w.waits(control.InboxItem{ID: "trust", Kind: "trust", Text: "?", Choices: []string{"trust", "cancel"}})
	w.asks("perm-1", "make all")
	a := c.get()
	list := keys(a)
	if len(list) != 3 || list[0] != "perm-1.7" || list[1] != "question-1.7" ||
		!strings.HasPrefix(list[2], "trust.7.") || a.Result.Status != inputRequired {
		t.Fatalf("what waits: %v, %+v", list, a)
	}
	accept := func(field, value string) any {
		return map[string]any{"action": "accept", "content": map[string]any{field: value}}
	}
	for _, responses := range []map[string]any{
		{"question-1.7": map[string]any{"action": "cancel"}, "perm-2.7": accept(fieldDecision, "Allow once")},
		{"trust": accept(fieldDecision, "trust"), "resume-1": accept(fieldDecision, doResume),
			"perm-1.6": accept(fieldDecision, "Deny")},
		{"question-1.7": accept(fieldAnswer, "This."), list[2]: accept(fieldDecision, "cancel"),
			"perm-1.7": accept(fieldDecision, "Deny")},
		{"perm-1.7": accept(fieldDecision, "Allow once")},
	} {
		if a := c.update(responses); a.Error != nil || a.Result.ResultType != complete {
			t.Errorf("%v: %+v", responses, a)
		}
	}
	want := []contract.CommandBody{
		contract.Say{Text: "x", To: w.dir + " --max-cost 5"}, // how the run was started
		contract.Say{Text: "This.", Strength: contract.Note}, contract.Choose{Option: "cancel"},
		contract.Permit{Request: "perm-1", Behavior: "deny", Action: "hash-perm-1", Scope: "once"},
	}
	if diff := cmp.Diff(want, w.given()); diff != "" {
		t.Errorf("commands, -want +got:\n%s", diff)
	}
	w.do(func() { w.info.Unfinished = false })
	w.happens(contract.Result{Status: contract.StatusFailed, Summary: "It broke."})
	w.ends()
	a = c.get()
	if r := a.Result; r.Status != "completed" || !r.Result.IsError ||
		r.Result.StructuredContent.Summary != "It broke." {
		t.Errorf("the end: %+v", a)
	}
}

// TestTaskOfAStoppedRun: after each time that the run was killed, the human is asked once whether it should be
// resumed.
func TestTaskOfAStoppedRun(t *testing.T) {
	w := newWorld(t)
	c := w.wire(true)
	w.ends()
	choose := func(key, what string) answerOf {
		return c.update(map[string]any{key: map[string]any{"action": "accept",
			"content": map[string]any{fieldDecision: what}}})
	}
	list := keys(c.get())
	if len(list) != 1 || !strings.HasPrefix(list[0], "resume-") {
		t.Fatalf("it waits for %v", list)
	}
	choose("resume-0", doResume)
	if len(w.given()) > 0 {
		t.Errorf("an answer to another form: %v", w.given())
	}
	choose(list[0], doResume)
	if diff := cmp.Diff([]contract.CommandBody{contract.Continue{}}, w.given()); diff != "" {
		t.Errorf("resuming: %s", diff)
	}
	w.happens(contract.Session{Session: theRun, Resumed: true})
	again := keys(c.get())
	if len(again) != 1 || again[0] == list[0] {
		t.Fatalf("killed again, it waits for %v, and before for %v", again, list)
	}
	choose(again[0], doLeave)
	if r := c.get().Result; r.Status != "completed" || r.Result == nil || !r.Result.IsError {
		t.Errorf("left as it is: %+v", r)
	}
}

// TestTaskCancelled: tasks/cancel ends the run in an orderly way, and the task of a cancelled run is cancelled.
func TestTaskCancelled(t *testing.T) {
	w := newWorld(t)
	c := w.wire(true)
	if a := c.call("tasks/cancel", map[string]any{"taskId": theRun}); a.Error != nil {
		t.Errorf("%+v", a.Error)
	}
	if diff := cmp.Diff([]contract.CommandBody{contract.Cancel{}}, w.given()); diff != "" {
		t.Errorf("commands: %s", diff)
	}
	w.do(func() { w.info.Unfinished, w.info.LastActive = false, time.Now() })
	w.happens(contract.Result{Status: contract.StatusCancelled})
	w.ends()
	if r := c.get().Result; r.Status != "cancelled" || r.Result != nil {
		t.Errorf("%+v", r)
	}
}

// TestTasksNeedTheCapability: a client without the capability gets the usual result and no task. An unknown task is
// an error.
func TestTasksNeedTheCapability(t *testing.T) {
	w := newWorld(t)
	c := w.wire(false)
	a := c.call("tools/call", map[string]any{"name": "start_run", "arguments": map[string]any{"task": "x"}})
	if a.Result.ResultType != complete || a.Result.TaskID != "" {
		t.Errorf("begun: %+v", a)
	}
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		if a := c.call(method, map[string]any{"taskId": theRun}); a.Error == nil ||
			a.Error.Code != mcp.CodeMissingRequiredClientCapabilities {
			t.Errorf("%s: %+v", method, a)
		}
	}
	c.tasks = true
	for _, id := range []string{"none", "", theRun[:8]} {
		if a := c.call("tasks/get", map[string]any{"taskId": id}); a.Error == nil || a.Error.Code != -32602 {
			t.Errorf("task %q: %+v", id, a)
		}
	}
}
