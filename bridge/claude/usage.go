package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// contextUsage is the answer to get_context_usage.
type contextUsage struct {
	TotalTokens          int    `json:"totalTokens"`
	RawMaxTokens         int    `json:"rawMaxTokens"`
	AutoCompactThreshold int    `json:"autoCompactThreshold"`
	IsAutoCompactEnabled bool   `json:"isAutoCompactEnabled"`
	Model                string `json:"model"`
	// the last call's; absent before the first, and after a compaction
	APIUsage bridge.Usage `json:"apiUsage"`
}

// floor is above the CLI's estimate of prompt and tools, which is the minimum of its total: 14,600 with CLI
// 2.1.329.
const floor = 20_000

// summary makes no API call. The CLI answers it in milliseconds at any time (before the first turn, in the
// middle of a turn).
var summary = map[string]any{"detail": "summary"}

func readContextUsage(raw json.RawMessage) (contextUsage, error) {
	var u contextUsage
	if err := json.Unmarshal(raw, &u); err != nil {
		return contextUsage{}, fmt.Errorf("read context usage: %w", err)
	}
	return u, nil
}

// called returns the context of the last call, 0 if there was none.
func (u contextUsage) called() int { return u.sample().Usage.Context() }

// used returns the size of a session's context. The total is never less than an estimate of prompt
// and tools, so the last call's usage is preferred.
func (u contextUsage) used() int {
	if n := u.called(); n > 0 {
		return n
	}
	return u.TotalTokens
}

// sample converts the frame's usage to the form of the transcript package.
func (f assistantFrame) sample() transcript.Sample {
	return transcript.Sample{MessageID: f.MessageID, Model: f.Model, Sidechain: f.Parent != "",
		Usage: transcript.Usage(f.Usage)}
}

// learn records what an answer says of the window.
func (g *gauge) learn(u contextUsage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.named(u.Model)
	if u.RawMaxTokens > 0 {
		g.window.Model = u.RawMaxTokens
	}
	g.window.Compaction = 0
	if u.IsAutoCompactEnabled {
		g.window.Compaction = u.AutoCompactThreshold
	}
}

// begin records the context that a session had before its process started.
func (g *gauge) begin(u contextUsage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.version > 0 || u.used() == 0 {
		return
	}
	if !g.meter.Sample(u.sample()) {
		g.estimate = u.TotalTokens
	}
	g.read(fromCLI)
}

func (u contextUsage) sample() transcript.Sample {
	return transcript.Sample{Model: u.Model, Usage: transcript.Usage(u.APIUsage)}
}

// compare compares the CLI's figure with ours. asked is the version at the time of the question: if a
// message came since then, the answer is out of date. After a compaction the CLI's estimate is all there is
// before the next message. It returns false if the CLI's figure differs; believe makes that figure the
// reading.
func (g *gauge) compare(u contextUsage, asked int, believe bool) (agrees bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	called := u.called()
	switch {
	case g.version != asked:
	case g.compacted:
		// An answer that still has a last call dates from before the compaction.
		if called == 0 && u.TotalTokens > 0 && g.estimate == 0 {
			g.estimate = u.TotalTokens
			g.read(fromCLI)
		}
	case called == 0, g.meter.Tokens() == 0:
	case called == g.meter.Tokens():
		// After a failure the total includes an estimate of what was not sent yet.
		if g.unheard && called > floor && u.TotalTokens > g.tokens() {
			g.estimate = u.TotalTokens
			g.read(fromCLI)
		}
	case believe:
		g.meter.Sample(u.sample())
		g.estimate = 0
		g.read(fromCLI)
		return false
	default:
		return false
	}
	return true
}

func (g *gauge) at() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.version
}

// askContext asks the CLI and waits for the answer.
func (a *agent) askContext(ctx context.Context) (contextUsage, error) {
	raw, err := a.calls.do(ctx, controlTimeout, "get_context_usage", summary)
	if err != nil {
		return contextUsage{}, err
	}
	u, err := readContextUsage(raw)
	if err == nil {
		a.gauge.learn(u)
	}
	return u, err
}

// consulting is the state of a request to the CLI about its context. The reader owns it.
type consulting struct {
	open  bool // no answer yet
	at    time.Time
	again bool // requested again meanwhile
	doubt bool // the last answer differed from our figure
}

// consult requests the CLI's own figure, without waiting: the answer comes with the frames. It is called
// after each result and after a compaction.
func (r *reader) consult() {
	if r.asking.open && time.Since(r.asking.at) < controlTimeout {
		r.asking.again = true
		return
	}
	r.asking.open, r.asking.again, r.asking.at = true, false, time.Now()
	asked := r.a.gauge.at()
	r.a.calls.post(r.a.Ctx, "get_context_usage", summary, func(res controlResponse) {
		r.asking.open = false
		r.consulted(res, asked)
	})
}

// introduction bounds how long the transcript waits for the CLI's report of its window. The transcript may
// be quicker than the stream, which carries that answer.
const introduction = 10 * time.Second

// introduce requests the context before the first message is sent.
func (r *reader) introduce(ctx context.Context) {
	r.a.gauge.awaitWindow(time.Now().Add(introduction))
	r.a.calls.ask(ctx, "get_context_usage", summary, func(res controlResponse) {
		r.consulted(res, 0)
		r.a.gauge.awaitWindow(time.Time{})
	})
}

// verify is consult for callers other than the reader, which handles the answer.
func (r *reader) verify() {
	asked := r.a.gauge.at()
	r.a.calls.post(r.a.Ctx, "get_context_usage", summary, func(res controlResponse) { r.consulted(res, asked) })
}

// consulted handles an answer. If the figure differs, it may be that of a message whose frame has not come
// yet: that frame comes before a second answer does.
func (r *reader) consulted(res controlResponse, asked int) {
	u, err := readContextUsage(res.Response)
	if err != nil || res.Error != "" {
		return // the window becomes known with the first result
	}
	g := r.a.gauge
	g.learn(u)
	g.revise()
	agrees := g.compare(u, asked, r.asking.doubt)
	if !agrees && r.asking.doubt {
		r.a.notice("context",
			fmt.Sprintf("the CLI counts %d tokens of context, which the stream did not report; its count is used",
				u.called()))
	}
	r.asking.again = r.asking.again || !agrees && !r.asking.doubt
	r.asking.doubt = !agrees && !r.asking.doubt
	g.report(r.a.Emit)
	if r.asking.again {
		r.consult()
	}
}

// read adds a message's usage to the accounts that it concerns.
func (r *reader) read(f assistantFrame) {
	r.spending.worked()
	if f.Parent != "" {
		r.subs.addMessage(f)
		r.progressed(f.Parent)
		return
	}
	r.blocked = false
	r.subs.end("") // the main thread continues, so the turn waits for no subagent
	if _, fresh := r.a.gauge.reading(f); fresh {
		r.costAccount.called(f)
		r.a.follow.look.Ring()
		r.a.gauge.report(r.a.Emit)
	}
}

func (a *agent) Context(ctx context.Context) (bridge.ContextResult, error) {
	u, err := a.askContext(ctx)
	if err != nil {
		return bridge.ContextResult{}, err
	}
	w := a.gauge.now().Window
	return bridge.ContextResult{Tokens: u.TotalTokens, Window: w, Pct: transcript.Percent(u.TotalTokens, w)}, nil
}

// reportQuotas reports the usage windows that have changed.
func (r *reader) reportQuotas(list []bridge.Quota) {
	for _, q := range list {
		if r.quotas[q.Window] != q {
			r.quotas[q.Window] = q
			r.a.Emit(q)
		}
	}
}
