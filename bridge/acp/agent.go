package acp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

// The steps in which an agent is ended, and how long a turn has to end after a cancel.
const (
	cancelGrace  = 10 * time.Second
	stopGrace    = 2 * time.Second        // for the turn that runs when the end is requested
	silentGrace  = 500 * time.Millisecond // for the exit after stdout has ended
	drainGrace   = time.Minute
	writeTimeout = 10 * time.Second
)

// agent is one process of another make.
type agent struct {
	*driver.Process
	traits  traits
	pipes   *driver.Pipes
	conn    *sdk.ClientSideConnection
	tools   *toolServer
	session sdk.SessionId // set before the first turn
	images  bool          // it takes images
	realCWD string
	resumed bool

	running   atomic.Bool    // it was started
	work      sync.WaitGroup // turns, and what they begin
	broken    chan struct{}  // closed when the agent has to be ended
	breakOnce sync.Once

	mu       sync.Mutex
	mode     string // permission mode
	preamble string // our system text, until a message has carried it whose turn did not fail
	loading  *replay
	turn     *turn // nil: none runs
	over     map[string]bool
	closed   string          // why no more messages are taken
	down     bool            // the process has ended: nothing new begins
	idle     chan struct{}   // closed while no turn runs
	asking   context.Context // of requests in the running turn; a cancel ends it
	cancelQ  context.CancelFunc
	context  bridge.ContextResult
	costs    costs
	process  sdk.Usage // of the turns so far, if the make adds them up
	present  proctree.Present
	noticed  map[string]bool
	said     []bridge.EventBody // events to emit when the lock is released
	told     chan struct{}      // closed when all events before them are emitted
}

// costs are those of the session, as the make reports them.
type costs struct {
	begun          bool
	total, counted float64
}

// turn is the running one.
type turn struct {
	id          string
	begun       time.Time
	written     chan struct{} // closed when the prompt is written
	once        sync.Once
	text        strings.Builder
	last        string // text
	calls       map[string]*call
	tools       int
	failed      *bridge.FailedTool
	files       []string
	verdict     json.RawMessage
	interrupted bool
}

var (
	_ bridge.Agent = (*agent)(nil)
	_ sdk.Client   = (*agent)(nil)
)

func newAgent(p bridge.SpawnParams, t traits, host bridge.Host) *agent {
	a := &agent{Process: driver.NewProcess(p.AgentRef, p.Config, host), traits: t, broken: make(chan struct{}),
		mode: p.Config.PermissionMode, over: map[string]bool{}, idle: make(chan struct{}), noticed: map[string]bool{},
		told: make(chan struct{})}
	close(a.idle)
	close(a.told)
	a.asking, a.cancelQ = context.WithCancel(a.Ctx)
	return a
}

// say has an event emitted once the lock is released. Called with the lock held, which [agent.tell] then releases.
func (a *agent) say(body bridge.EventBody) { a.said = append(a.said, body) }

// tell releases the lock and then emits what was said under it, in the order in which it was said: the client may take
// its time, and may call the agent meanwhile. It returns when the events are emitted.
func (a *agent) tell() {
	said, before := a.said, a.told
	if a.said = nil; len(said) == 0 {
		a.mu.Unlock()
		return
	}
	told := make(chan struct{})
	a.told = told
	a.mu.Unlock()
	defer close(told)
	<-before
	for _, body := range said {
		a.Emit(body)
	}
}

// notice reports an oddity, once per kind. Called with the lock held.
func (a *agent) notice(kind, text string) {
	if !a.noticed[kind] {
		a.noticed[kind] = true
		a.say(bridge.Notice{Text: text})
	}
}

// breakOff has the agent ended, because it cannot be trusted or does not answer.
func (a *agent) breakOff() { a.breakOnce.Do(func() { close(a.broken) }) }

// keepPresent notes the processes that an interrupt leaves alone.
func (a *agent) keepPresent() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running.Load() {
		a.present = a.Child.Present()
	}
}

// rule takes the verdict of the running turn.
func (a *agent) rule(input json.RawMessage) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn == nil {
		return false
	}
	a.turn.verdict = input
	return true
}

func (a *agent) Message(ctx context.Context, p bridge.MessageParams) error {
	a.mu.Lock()
	switch {
	case a.closed != "":
		a.mu.Unlock()
		return &bridge.RPCError{Code: bridge.CodeEnded, Message: a.closed}
	case a.turn != nil && a.turn.id == p.MessageID:
		a.mu.Unlock()
		return nil
	case a.over[p.MessageID]:
		a.mu.Unlock()
		return &bridge.RPCError{Code: bridge.CodeRefused, Message: fmt.Sprintf("message %s has had its turn", p.MessageID)}
	case a.turn != nil:
		a.mu.Unlock()
		return &bridge.RPCError{Code: bridge.CodeBusy, Message: "a turn runs, and this make takes no message in mid-turn"}
	case p.MessageID == "":
		a.mu.Unlock()
		return &bridge.RPCError{Code: jsonrpc.CodeInvalidParams, Message: "a message needs an id"}
	}
	t := &turn{id: p.MessageID, begun: time.Now(), written: make(chan struct{}), calls: map[string]*call{}}
	a.turn, a.idle = t, make(chan struct{})
	a.cancelQ()
	a.asking, a.cancelQ = context.WithCancel(a.Ctx)
	blocks := a.blocks(p)
	idle := a.idle
	a.work.Go(func() { a.play(t, blocks) })
	a.mu.Unlock()
	select {
	case <-t.written:
		return nil
	case <-idle: // it failed at once; the turn says so
		return nil
	case <-a.Ctx.Done(): // the process has ended; the turn is reported lost
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// blocks are the parts of a prompt. An agent may record them one by one: the mark stands in the block of the text,
// which comes last, so that a history with the mark has the whole message. Called with the lock held.
func (a *agent) blocks(p bridge.MessageParams) (blocks []sdk.ContentBlock) {
	if a.preamble != "" {
		blocks = append(blocks, sdk.TextBlock(a.preamble))
	}
	text := p.Content
	if len(p.Images) > 0 && !a.images {
		text += "\n\n(An image came with this message, which you cannot be shown.)"
	} else {
		for _, image := range p.Images {
			blocks = append(blocks, sdk.ImageBlock(base64.StdEncoding.EncodeToString(image.Data), image.MediaType))
		}
	}
	return append(blocks, sdk.TextBlock(text+"\n\n"+markOf(p.MessageID)))
}

// play runs one turn to its end.
func (a *agent) play(t *turn, blocks []sdk.ContentBlock) {
	res, err := a.conn.Prompt(a.Ctx, sdk.PromptRequest{SessionId: a.session, Prompt: blocks})
	select {
	case <-a.conn.Done(): // supervise reports the turn
		return
	default:
	}
	a.mu.Lock()
	interrupted := t.interrupted
	present := a.present
	a.mu.Unlock()
	if interrupted {
		if _, err := a.Child.KillNew(present); err != nil {
			a.Emit(bridge.Error{Category: bridge.CatInternal,
				Message: fmt.Sprintf("processes of the interrupted turn are left over: %v", err)})
		}
	}
	a.mu.Lock()
	a.flushText()
	a.say(a.ended(t, res, err))
	a.turn, a.over[t.id] = nil, true
	if err == nil { // otherwise it may not have kept the message
		a.preamble = ""
	}
	idle := a.idle
	a.tell()
	close(idle)
}

var errLost = errors.New("the process ended in mid-turn")

// ended describes the end of a turn. A verdict counts, whatever came after it. Called with the lock held.
func (a *agent) ended(t *turn, res sdk.PromptResponse, err error) bridge.Turn {
	out := bridge.Turn{Verdict: t.verdict, MessageIDs: []string{t.id}, Outcome: bridge.TurnDone, Tools: t.tools,
		Failed: t.failed, Files: t.files, Reason: string(res.StopReason),
		DurationMS: time.Since(t.begun).Milliseconds()}
	out.Usage, out.CostUSD, out.CostUnknown = a.charge(res.Usage)
	switch {
	case err == errLost && (t.verdict == nil || t.interrupted):
		out.Outcome, out.Category, out.Verdict = bridge.TurnLost, bridge.CatCrash, nil
		out.Error = fmt.Sprintf("%v (%s)", err, a.Child.State())
	case t.interrupted, t.verdict == nil && res.StopReason == sdk.StopReasonCancelled && driver.IsClosed(a.Stopping):
		out.Outcome = bridge.TurnInterrupted
	case t.verdict != nil:
		if n := len(t.verdict); n > bridge.MaxVerdict {
			out.Verdict, out.Oversize = nil, n
		}
	case err != nil:
		out.Outcome = bridge.TurnFailed
		out.Category, out.Error = failure(err)
	case res.StopReason == sdk.StopReasonRefusal:
		out.Outcome, out.Category, out.Error = bridge.TurnFailed, bridge.CatRefusal, t.last
	case !a.tools.reached.Load():
		out.Outcome, out.Category = bridge.TurnFailed, bridge.CatStart
		out.Error = a.Config.Make.Name + " did not start the MCP server with Arbiter's tools, without which no agent can " +
			"report: see that its own settings allow MCP servers over stdio, or use another make"
	default:
		out.Text = t.last
	}
	return out
}

// charge returns what a turn has used and cost. Called with the lock held.
func (a *agent) charge(u *sdk.Usage) (used bridge.Usage, usd float64, unknown bool) {
	counts := u != nil
	if counts {
		n := *u
		switch a.traits.usage {
		case usageProcess:
			n.InputTokens, n.OutputTokens = n.InputTokens-a.process.InputTokens, n.OutputTokens-a.process.OutputTokens
			a.process = *u
		case usageTurn:
			used.CacheRead, used.CacheCreation = value(n.CachedReadTokens), value(n.CachedWriteTokens)
		default:
			counts = false
		}
		if counts {
			used.Input, used.Output = max(n.InputTokens, 0), max(n.OutputTokens, 0)
		}
	}
	price := a.Config.Make
	switch {
	case a.costs.begun:
		usd = max(a.costs.total-a.costs.counted, 0)
		a.costs.counted = a.costs.total
	case counts && price.InputUSD+price.OutputUSD > 0:
		in := used.Input + used.CacheRead + used.CacheCreation
		usd = (float64(in)*price.InputUSD + float64(used.Output)*price.OutputUSD) / 1e6
	default:
		unknown = true
	}
	return used, usd, unknown
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// failureText matches the texts of a kind of errors.
type failureText struct {
	category bridge.Category
	text     *regexp.Regexp
}

// failures are tried in order. The number of a status stands alone: an id, or a port, may contain it.
var failures = sync.OnceValue(func() []failureText {
	return []failureText{
		{bridge.CatAuth, regexp.MustCompile(`(?i)\b40[13]\b|unauthorized|api key|authentication`)},
		{bridge.CatRateLimit, regexp.MustCompile(`(?i)\b429\b|rate[ _]limit`)},
		{bridge.CatOverloaded, regexp.MustCompile(`(?i)\b529\b|overloaded`)},
		{bridge.CatPromptTooLong, regexp.MustCompile(`(?i)prompt is too long|context[ _](length|window)`)},
	}
})

// failure sorts an error of a prompt by what can be done about it: the protocol has one code for a missing login, and
// texts for the rest.
func failure(err error) (bridge.Category, string) {
	text := err.Error()
	var refused *sdk.RequestError
	if errors.As(err, &refused) && refused.Code == -32000 {
		return bridge.CatAuth, text
	}
	for _, f := range failures() {
		if f.text.MatchString(text) {
			return f.category, text
		}
	}
	return bridge.CatServer, text
}

// Interrupt implements bridge.Agent. Requests in the turn are answered as cancelled, and the turn has a limited time to
// end; what it has started ends with it.
func (a *agent) Interrupt(ctx context.Context) (bridge.InterruptResult, error) {
	a.mu.Lock()
	t := a.turn
	if t == nil || t.interrupted || a.down {
		a.mu.Unlock()
		return bridge.InterruptResult{}, nil
	}
	t.interrupted = true
	idle := a.idle
	a.cancelQ()
	a.work.Go(func() {
		late := time.NewTimer(cancelGrace)
		defer late.Stop()
		select {
		case <-idle:
		case <-a.Ctx.Done():
		case <-late.C:
			a.Emit(bridge.Notice{Text: "it did not end its turn within " + cancelGrace.String() +
				" after it was interrupted; its process is ended"})
			a.breakOff()
		}
	})
	a.mu.Unlock()
	if err := a.conn.Cancel(ctx, sdk.CancelNotification{SessionId: a.session}); err != nil {
		return bridge.InterruptResult{}, fmt.Errorf("cancel the turn: %w", err)
	}
	return bridge.InterruptResult{}, nil
}

// Context implements bridge.Agent: it is what the make has reported last.
func (a *agent) Context(context.Context) (bridge.ContextResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.context.Window == 0 {
		return bridge.ContextResult{}, unsupported("does not say how full its context is")
	}
	return a.context, nil
}

func (a *agent) Ask(context.Context, string) (string, error) {
	return "", unsupported("answers no side questions: read its document, or ask it with a message")
}

func unsupported(what string) error {
	return &bridge.RPCError{Code: bridge.CodeUnsupported, Message: "this make " + what}
}

// Configure implements bridge.Agent. Rules need no change here: the client judges each request by the present ones.
func (a *agent) Configure(ctx context.Context, p bridge.ConfigureParams) error {
	if p.PermissionMode == bridge.BypassPermissions {
		return &bridge.RPCError{Code: jsonrpc.CodeInvalidParams,
			Message: "an agent is started in permission mode " + bridge.BypassPermissions + ", or never asks for less"}
	}
	if p.PermissionMode != "" {
		a.mu.Lock()
		a.mode = p.PermissionMode
		a.mu.Unlock()
	}
	if p.Model != "" {
		return a.setModel(ctx, p.Model)
	}
	return nil
}

// Probe implements bridge.Agent. Each agent answers a request that it does not know.
func (a *agent) Probe(ctx context.Context) bridge.ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, bridge.ProbeTimeout)
	defer cancel()
	r := a.Signs()
	_, err := a.conn.CallExtension(ctx, "_arbiter/ping", struct{}{})
	r.Answered = ctx.Err() == nil && !driver.IsClosed(a.conn.Done()) || err == nil
	return r
}

func (a *agent) Stop(ctx context.Context, now bool) error {
	a.mu.Lock()
	if a.closed == "" {
		a.closed = "the agent is being stopped"
	}
	a.mu.Unlock()
	if err := a.End(ctx, a.Child, now); err != nil {
		return fmt.Errorf("stop agent %s: %w", a.Ref.ID, err)
	}
	return nil
}

// supervise waits for the end of the process, ends it when requested, and then reports the end. It alone emits done.
func (a *agent) supervise(drains *sync.WaitGroup) {
	expected := false
	select {
	case <-a.Child.Done():
	case <-a.Stopping:
		expected = true
		a.stopInSteps()
	case <-a.broken:
	case <-a.conn.Done():
		driver.Ended(a.Child, silentGrace, nil)
	}
	swept := a.Reap()
	a.pipes.Stdout.Expire(drainGrace)
	a.pipes.Stderr.Expire(drainGrace)
	<-a.conn.Done()
	a.Cancel()
	a.pipes.Stdin.Close()
	a.tools.end()
	drains.Wait()
	a.mu.Lock()
	a.closed, a.down = "the agent has ended", true
	a.mu.Unlock()
	a.work.Wait()
	a.pipes.Close()
	<-a.LaunchDone
	a.mu.Lock()
	if a.turn != nil {
		a.flushText()
		a.say(a.ended(a.turn, sdk.PromptResponse{}, errLost))
		a.turn = nil
	}
	a.tell()
	a.Over(a.Exit(expected, swept))
}

// stopInSteps ends the process: in order, or quickly once Hurry is closed.
func (a *agent) stopInSteps() {
	a.Child.Remember()
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	if !driver.IsClosed(idle) && !a.Hurried() {
		_, _ = a.Interrupt(a.Ctx) // the next step does not need it
		late := time.NewTimer(stopGrace)
		select {
		case <-idle:
		case <-late.C:
		case <-a.Hurry:
		case <-a.Child.Done():
		}
		late.Stop()
	}
	a.InSteps(a.Child, func() { _ = a.pipes.Stdin.Close() })
}
