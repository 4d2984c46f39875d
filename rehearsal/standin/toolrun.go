package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Why a turn's context ended.
var (
	errInterrupted = errors.New("interrupted") // the turn ends with a result
	errTerminated  = errors.New("terminated")  // the process leaves without one
)

// Texts the model reads about calls that an interrupt stopped (CLI 2.1.329).
const (
	rejectedText = "The user doesn't want to proceed with this tool use. It was rejected and has changed nothing. Stop, and wait for the user's word."
	stoppedText  = rejectedText + " To be exact: this call was stopped while running, so part of it may have been done."
)

// toolRun runs the calls of one answer, beginning while the answer still streams:
// shared calls side by side, others alone and in order.
type toolRun struct {
	t     *thread
	ctx   context.Context
	calls chan toolCall // closed when the answer is complete; capacity only smooths
	done  chan struct{}

	mu       sync.Mutex
	started  int
	held     []obj // transcript lines of results, until the answer's own are written
	released bool
	contexts []string // what hooks want the model to read after the results
}

func newToolRun(ctx context.Context, t *thread) *toolRun {
	r := &toolRun{t: t, ctx: ctx, calls: make(chan toolCall, 16), done: make(chan struct{})}
	go r.schedule()
	return r
}

func (r *toolRun) add(c toolCall) {
	r.mu.Lock()
	r.started++
	r.mu.Unlock()
	r.calls <- c
}

func (r *toolRun) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.started
}

// finish says that no more calls come and waits for all results. The answer's
// lines are in the transcript by now, so those of the results may follow.
func (r *toolRun) finish() (contexts []string) {
	r.mu.Lock()
	for _, line := range r.held {
		r.t.tr.link(line)
	}
	r.held, r.released = nil, true
	r.mu.Unlock()
	close(r.calls)
	<-r.done
	return r.contexts
}

func (r *toolRun) schedule() {
	defer close(r.done)
	var beside sync.WaitGroup
	tools := r.t.toolset()
	for c := range r.calls {
		tl := findTool(tools, c.Name)
		if tl != nil && tl.shared(c.Input) {
			beside.Go(func() { r.deliver(c, r.execute(tl, c)) })
			continue
		}
		beside.Wait()
		r.deliver(c, r.execute(tl, c))
	}
	beside.Wait()
}

// execute takes one call through validation, hooks, permission and the tool.
func (r *toolRun) execute(tl *tool, c toolCall) toolResult {
	t := r.t
	if tl == nil {
		if name := canonicalTool(c.Name); t.s.perms.removed(name) || t.s.flags.has("--tools") && t.s.leftOut(name) {
			return misused("Error: No such tool available: %s. %s is disabled for this session, in subagents as well as here.", c.Name, c.Name)
		}
		return misused("Error: No such tool available: %s", c.Name)
	}
	if res, bad := tl.invalidInput(c.Input); bad {
		return res
	}
	if tl.check != nil {
		if bad := tl.check(t, c); bad != nil {
			return *bad
		}
	}
	if r.ctx.Err() != nil {
		return r.rejected()
	}
	c, rule, stop := r.permit(tl, c)
	if stop != nil {
		return *stop
	}
	begun := time.Now()
	calm := r.heartbeat(c, begun)
	res := tl.run(r.ctx, t, c)
	calm()
	if context.Cause(r.ctx) == errInterrupted {
		return toolResult{content: stoppedText, isError: true, detail: "User rejected tool use", kind: "user-rejected"}
	}
	res.ruling = rule
	if r.ctx.Err() == nil {
		r.afterwards(c, &res, time.Since(begun))
	}
	return res
}

// heartbeatEvery is how often a long call is heard of.
const heartbeatEvery = 30 * time.Second

// heartbeat shows tool_progress frames until the function it returns is called.
func (r *toolRun) heartbeat(c toolCall, begun time.Time) (stop func()) {
	ended := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(heartbeatEvery)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-tick.C:
				// parent_tool_use_id is the call itself here, not a subagent's.
				r.t.s.emit(obj{"type": "tool_progress", "tool_use_id": fmt.Sprintf("%s-heartbeat-%d", c.ID, n), "tool_name": c.Name,
					"parent_tool_use_id": c.ID, "elapsed_time_seconds": int(time.Since(begun).Seconds()), "heartbeat": true})
			case <-ended:
				return
			}
		}
	})
	return func() { close(ended); beating.Wait() }
}

func (r *toolRun) rejected() toolResult {
	return toolResult{content: rejectedText, isError: true, detail: "User rejected tool use", kind: "user-rejected"}
}

// afterwards calls the hooks that hear about the outcome.
func (r *toolRun) afterwards(c toolCall, res *toolResult, took time.Duration) {
	extra := obj{"tool_name": c.Name, "tool_input": c.Input, "tool_use_id": c.ID, "duration_ms": took.Milliseconds()}
	event := "PostToolUse"
	if res.isError {
		event = "PostToolUseFailure"
		extra["error"], extra["is_interrupt"] = res.text(), false
	} else {
		extra["tool_response"] = res.use()
	}
	as := r.t.hook(r.ctx, event, c.Name, extra)
	r.remember(event, c.Name, as)
	if event != "PostToolUse" {
		return
	}
	if reason, ok := as.block(); ok {
		r.context("PostToolUse:" + c.Name + " hook blocking error from command: \"callback\": " + reason)
	}
}

func (r *toolRun) remember(event, tool string, as hookAnswers) {
	for _, text := range as.contexts() {
		r.context(event + ":" + tool + " hook additional context: " + text)
	}
}

func (r *toolRun) context(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.contexts = append(r.contexts, text)
}

// deliver shows a result to the host, the model and the transcript.
func (r *toolRun) deliver(c toolCall, res toolResult) {
	t := r.t
	block := res.block(c.ID)
	frame := obj{
		"type": "user", "message": obj{"role": "user", "content": []obj{block}},
		"uuid": newUUID(), "timestamp": now(),
	}
	if m := res.meta(c.ID); m != nil {
		frame["tool_result_meta"] = m
	}
	if t.sub == nil {
		frame["tool_use_result"] = res.use()
		t.turn.countUser()
	}
	t.emit(frame)
	t.hist.add(entry{role: "user", blocks: []json.RawMessage{encode(block)}})
	line := obj{
		"type": "user", "message": frame["message"], "uuid": frame["uuid"],
		"toolUseResult": res.use(), "promptId": t.s.promptID(),
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.released {
		t.tr.link(line)
	} else {
		r.held = append(r.held, line)
	}
}
