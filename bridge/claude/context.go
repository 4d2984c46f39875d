package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
)

// gauge knows how full the main thread's context is and how large it may get.
// The reader writes it; a client's question may read it at any time.
type gauge struct {
	mu          sync.Mutex
	tokens      int
	lastMessage string // one reading per API message: it comes in several frames
	model       string
	modelWindow int // what the model takes
	threshold   int // where the CLI compacts by itself, 0 = it does not
	cap         int // ours, 0 = none
	told        int // the window of the last reading
}

// reading takes the usage of a main-thread assistant frame. result.usage is no
// reading: it is the sum over a turn's calls.
func (g *gauge) reading(f assistantFrame) (bridge.Context, bool) {
	if f.Parent != "" || f.Model == synthetic || f.Usage == nil {
		return bridge.Context{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.MessageID == g.lastMessage {
		return bridge.Context{}, false
	}
	g.lastMessage, g.model = f.MessageID, f.Model
	g.tokens = f.Usage.Input + f.Usage.CacheRead + f.Usage.CacheCreation
	g.told = g.window()
	return bridge.Context{Tokens: g.tokens, Window: g.told, Pct: percent(g.tokens, g.told)}, true
}

// result learns the model's window, which only results state.
func (g *gauge) result(usage map[string]modelUsage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if u, ok := usage[g.model]; ok && u.ContextWindow > 0 {
		g.modelWindow = u.ContextWindow
	}
}

func (g *gauge) pct() float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return percent(g.tokens, g.window())
}

// window is the effective window: the least of what is known. Call with the lock held.
func (g *gauge) window() int {
	least := 0
	for _, w := range []int{g.modelWindow, g.threshold, g.cap} {
		if w > 0 && (least == 0 || w < least) {
			least = w
		}
	}
	return least
}

// reach is the effective window.
func (g *gauge) reach() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.window()
}

// revised is the last reading, if what was learned of the window since then
// changes it.
func (g *gauge) revised() (bridge.Context, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens == 0 || g.told == g.window() {
		return bridge.Context{}, false
	}
	g.told = g.window()
	return bridge.Context{Tokens: g.tokens, Window: g.told, Pct: percent(g.tokens, g.told)}, true
}

func percent(tokens, window int) float64 {
	if window <= 0 {
		return 0
	}
	return 100 * float64(tokens) / float64(window)
}

// contextUsage is the answer to get_context_usage.
type contextUsage struct {
	TotalTokens          int           `json:"totalTokens"`
	RawMaxTokens         int           `json:"rawMaxTokens"`
	AutoCompactThreshold int           `json:"autoCompactThreshold"`
	IsAutoCompactEnabled bool          `json:"isAutoCompactEnabled"`
	APIUsage             *bridge.Usage `json:"apiUsage"`
}

// askContext asks the CLI itself. detail summary makes no API call, and is
// answered in milliseconds at any time (before the first turn, in mid-turn).
func (a *agent) askContext(ctx context.Context) (contextUsage, error) {
	raw, err := a.calls.do(ctx, controlTimeout, "get_context_usage", map[string]any{"detail": "summary"})
	if err != nil {
		return contextUsage{}, err
	}
	var u contextUsage
	if err := json.Unmarshal(raw, &u); err != nil {
		return contextUsage{}, fmt.Errorf("read context usage: %w", err)
	}
	a.gauge.mu.Lock()
	defer a.gauge.mu.Unlock()
	if u.RawMaxTokens > 0 {
		a.gauge.modelWindow = u.RawMaxTokens
	}
	a.gauge.threshold = 0
	if u.IsAutoCompactEnabled {
		a.gauge.threshold = u.AutoCompactThreshold
	}
	return u, nil
}

// measure asks a fresh session for its window once its first message was taken
// up. A reading that came earlier is told again if the answer changes it. It ends
// with the process.
func (a *agent) measure() {
	select {
	case <-a.taken:
	case <-a.ctx.Done():
		return
	}
	if _, err := a.askContext(a.ctx); err != nil {
		return // the window becomes known with the first result
	}
	if c, ok := a.gauge.revised(); ok {
		a.emit(c)
	}
}

// used is what a resumed session holds already. The total also counts an
// estimate of prompt and tools, so the last call's usage is preferred.
func (u contextUsage) used() int {
	if u.APIUsage != nil {
		if n := u.APIUsage.Input + u.APIUsage.CacheRead + u.APIUsage.CacheCreation; n > 0 {
			return n
		}
	}
	return u.TotalTokens
}

// Context implements bridge.Agent.
func (a *agent) Context(ctx context.Context) (bridge.ContextResult, error) {
	u, err := a.askContext(ctx)
	if err != nil {
		return bridge.ContextResult{}, err
	}
	a.gauge.mu.Lock()
	defer a.gauge.mu.Unlock()
	w := a.gauge.window()
	return bridge.ContextResult{Tokens: u.TotalTokens, Window: w, Pct: percent(u.TotalTokens, w)}, nil
}
