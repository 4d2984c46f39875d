package claude

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/transcript"
)

// Sources of a reading.
const (
	fromStream     = "stream"
	fromTranscript = "transcript"
	fromCLI        = "cli"
)

// defaultCritical is the level that the forecast of an agent without hooks aims
// at, in percent of the effective window.
const defaultCritical = 85

// gauge records how full the main thread's context is and how large it may get. Its sources are the stream,
// the transcript and the CLI's own report; the source that reports a message first makes the reading. Safe
// for concurrent use.
type gauge struct {
	defaultCap int            // ours, 0 = none
	caps       map[string]int // by prefix of a model's name
	critical   float64        // percent the forecast aims at

	mu        sync.Mutex
	meter     transcript.Meter
	window    transcript.Window // Cap follows from the model
	model     string            // "" = not known
	awaited   time.Time         // until then the transcript waits for the CLI's first report of its window
	compacted bool              // there was no reading since a compaction
	unheard   bool              // messages were added that no call has carried
	estimate  int               // by the CLI, for tokens that no reading includes
	source    string            // of the last reading
	version   int               // grows with every reading and compaction
	reported  bridge.Context    // the last reading handed out

	queue     []bridge.Context // to be emitted, oldest first
	reporting bool             // a goroutine is emitting the queue
	calm      sync.Cond        // of mu: signalled when the queue is empty
}

func newGauge(cfg bridge.AgentConfig) *gauge {
	g := &gauge{defaultCap: cfg.ContextCap, caps: cfg.ContextCaps, critical: defaultCritical}
	if cfg.Hooks != nil && cfg.Hooks.Critical > 0 {
		g.critical = cfg.Hooks.Critical
	}
	g.calm.L = &g.mu
	g.runs(cfg.Model)
	return g
}

// runs sets the model. Call it with the lock held, or before g is shared.
func (g *gauge) runs(model string) {
	g.model, g.window.Cap = model, g.defaultCap
	longest := -1
	for prefix, most := range g.caps {
		if strings.HasPrefix(model, prefix) && len(prefix) > longest {
			longest, g.window.Cap = len(prefix), most
		}
	}
}

// large is the suffix of the name of a model that is run with its large window. The API omits it.
const large = "[1m]"

// named records the model name that a source reports. Call with the lock held.
func (g *gauge) named(model string) {
	if model != "" && model != g.model && model != strings.TrimSuffix(g.model, large) {
		g.runs(model)
	}
}

// sample records what a source reports of one message. It returns the reading; fresh is true if no source
// has reported the message before. Two sources must agree on a message; differs reports that they do not.
func (g *gauge) sample(s transcript.Sample, source string) (c bridge.Context, fresh, differs bool) {
	if !s.Counts() {
		return bridge.Context{}, false, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if tokens, ok := g.meter.Known(s.MessageID); ok {
		return bridge.Context{}, false, tokens != s.Usage.Context()
	}
	g.meter.Sample(s)
	g.named(s.Model)
	g.estimate, g.compacted, g.unheard = 0, false, false
	return g.read(source), true, false
}

// passed records a message that the transcript reports before a later one.
func (g *gauge) passed(s transcript.Sample) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meter.Passed(s)
}

// awaitWindow makes the transcript wait until the CLI has reported its window, or until the given time.
func (g *gauge) awaitWindow(until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.awaited = until
}

func (g *gauge) awaitsWindow() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return time.Now().Before(g.awaited)
}

// reading records a main-thread assistant frame. result.usage is not a reading: it is the sum over a turn's
// calls.
func (g *gauge) reading(f assistantFrame) (bridge.Context, bool) {
	c, fresh, _ := g.sample(f.sample(), fromStream)
	return c, fresh
}

// read makes a reading of the current state and queues it. Call with the lock held.
func (g *gauge) read(source string) bridge.Context {
	g.version++
	g.source = source
	return g.queued()
}

func (g *gauge) queued() bridge.Context {
	g.reported = g.context()
	g.queue = append(g.queue, g.reported)
	return g.reported
}

// context returns the state in the form that a client sees. Call with the lock held.
func (g *gauge) context() bridge.Context {
	tokens, window := g.tokens(), g.window.Effective()
	return bridge.Context{Tokens: tokens, Window: window, Pct: transcript.Percent(tokens, window), Source: g.source,
		TurnsLeft: g.meter.TurnsLeft(int(float64(window) * g.critical / 100))}
}

func (g *gauge) tokens() int { return cmp.Or(g.estimate, g.meter.Tokens()) }

// compact records a compaction: earlier readings no longer count. It returns false if the compaction is
// already known. The id is the one that the frame and the transcript share.
func (g *gauge) compact(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.meter.Compacted(id) {
		return false
	}
	g.version++
	g.compacted, g.estimate = true, 0
	return true
}

// turnEnded marks the end of a turn for the forecast, and learns the model's window, which only results
// state.
func (g *gauge) turnEnded(usage map[string]modelUsage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meter.TurnEnded()
	u, ok := usage[g.model]
	if !ok {
		u = usage[strings.TrimSuffix(g.model, large)]
	}
	if u.ContextWindow > 0 {
		g.window.Model = u.ContextWindow
	}
}

// failed records that the last turn ended without an answer: its messages stay in the history.
func (g *gauge) failed() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.unheard = true
}

// modelName returns the name of the model; empty: it is not known.
func (g *gauge) modelName() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.model
}

// now returns how full the context is, and the effective window.
func (g *gauge) now() hooks.Reading {
	g.mu.Lock()
	defer g.mu.Unlock()
	tokens, window := g.tokens(), g.window.Effective()
	return hooks.Reading{Tokens: tokens, Window: window, Pct: transcript.Percent(tokens, window)}
}

// revise queues the last reading again if the window has changed since.
func (g *gauge) revise() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens() > 0 && g.reported.Window != g.window.Effective() {
		g.queued()
	}
}

// report emits the queued readings, in order. When it returns, all readings that were queued before have
// been emitted: of several callers one emits, and the others wait. emit must not call report.
func (g *gauge) report(emit func(bridge.EventBody)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.reporting {
		g.calm.Wait()
	}
	g.reporting = true
	for len(g.queue) > 0 {
		batch := g.queue
		g.queue = nil
		g.mu.Unlock()
		for _, c := range batch {
			emit(c)
		}
		g.mu.Lock()
	}
	g.reporting = false
	g.calm.Broadcast()
}
