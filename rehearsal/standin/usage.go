package standin

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// usage is the token count of one model call.
type usage struct {
	Input         int `json:"input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	Output        int `json:"output_tokens"`
}

// context is what the call's prompt filled of the window.
func (u usage) context() int { return u.Input + u.CacheCreation + u.CacheRead }

func (u usage) plus(v usage) usage {
	return usage{u.Input + v.Input, u.CacheCreation + v.CacheCreation, u.CacheRead + v.CacheRead, u.Output + v.Output}
}

// merge takes over what a message_delta says; fields it leaves out are zero there.
func (u usage) merge(v usage) usage {
	pick := func(a, b int) int {
		if b != 0 {
			return b
		}
		return a
	}
	return usage{pick(u.Input, v.Input), pick(u.CacheCreation, v.CacheCreation), pick(u.CacheRead, v.CacheRead), pick(u.Output, v.Output)}
}

// full is the long form that result frames and transcript lines carry.
func (u usage) full() obj {
	return obj{
		"input_tokens": u.Input, "cache_creation_input_tokens": u.CacheCreation,
		"cache_read_input_tokens": u.CacheRead, "output_tokens": u.Output,
		"output_tokens_details": obj{"thinking_tokens": 0},
		"server_tool_use":       obj{"web_search_requests": 0, "web_fetch_requests": 0},
		"service_tier":          "standard",
		"cache_creation":        obj{"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
		"inference_geo":         "", "iterations": []obj{}, "speed": "standard",
	}
}

// price is in dollars per million tokens, as CLI 2.1.329 lists them.
func price(model string) (in, out float64) {
	switch {
	case strings.Contains(model, "fable"):
		return 8, 40
	case strings.Contains(model, "sonnet"):
		return 2, 10
	case strings.Contains(model, "haiku"):
		return 0.1, 0.5
	}
	return 4, 20
}

// cost: a cache read is a twentieth of an input token, a cache write five
// quarters (computed back from costs that CLI 2.1.329 reported).
func (u usage) cost(model string) float64 {
	in, out := price(model)
	return (float64(u.Input)*in + float64(u.CacheCreation)*in*1.25 + float64(u.CacheRead)*in*0.05 + float64(u.Output)*out) / 1e6
}

const (
	largeWindow     = 1_000_000
	smallWindow     = 200_000
	compactReserve  = 33_000
	maxOutputTokens = 128_000
)

// modelWindow is modelUsage.contextWindow of a model (observed with CLI 2.1.329).
func modelWindow(model string, env environ) int {
	large := strings.HasSuffix(model, "[1m]")
	for _, small := range []string{"sonnet-4-5", "opus-4-6", "haiku-4-5"} {
		if strings.Contains(model, small) && !large {
			return smallWindow
		}
	}
	if env.on("CLAUDE_CODE_DISABLE_1M_CONTEXT") {
		return smallWindow
	}
	return largeWindow
}

// modelAliases are the names that --model takes besides full ones.
var modelAliases = map[string]string{
	"default": "claude-opus-5-5", "opus": "claude-opus-5-5", "sonnet": "claude-sonnet-5-5",
	"haiku": "claude-haiku-5-5", "fable": "claude-fable-5-2",
}

func resolveModel(name string) string {
	if full, ok := modelAliases[name]; ok {
		return full
	}
	if name == "" {
		return modelAliases["default"]
	}
	return name
}

// ledger adds up usage and cost: per model over the session's whole life
// (across a resume), and per model since the last result.
type ledger struct {
	env   environ
	begun time.Time

	mu          sync.Mutex
	total       map[string]usage
	sinceResult map[string]usage
	costUSD     float64
	apiTime     time.Duration
	lastMain    *usage // of the main thread's last real answer
}

func newLedger(env environ) *ledger {
	return &ledger{env: env, begun: time.Now(), total: map[string]usage{}, sinceResult: map[string]usage{}}
}

// restore takes over what an earlier process of the session had spent.
func (l *ledger) restore(total map[string]usage, costUSD float64, last *usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(l.total, total)
	l.costUSD, l.lastMain = costUSD, last
}

func (l *ledger) add(model string, u usage, main bool, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total[model] = l.total[model].plus(u)
	l.sinceResult[model] = l.sinceResult[model].plus(u)
	l.costUSD += u.cost(model)
	l.apiTime += took
	if main {
		l.lastMain = &u
	}
}

// reading takes over what the main thread's answer says of its prompt as soon as
// one of its blocks is whole, so that it holds while its tools run, and when it is
// cut short.
func (l *ledger) reading(u usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastMain = &u
}

// forgetContext: after a compaction the last call's usage says nothing any more.
func (l *ledger) forgetContext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lastMain = nil
}

func (l *ledger) spent() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.costUSD
}

func (l *ledger) last() *usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastMain
}

// report gives the cost fields of a result frame and starts the next interval.
func (l *ledger) report() obj {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := obj{
		"total_cost_usd": l.costUSD, "duration_api_ms": l.apiTime.Milliseconds(),
		"modelUsage": l.models(l.total), "model_usage_since_last_result": l.models(l.sinceResult),
	}
	l.sinceResult = map[string]usage{}
	return o
}

func (l *ledger) models(m map[string]usage) obj {
	o := obj{}
	for model, u := range m {
		o[model] = obj{
			"inputTokens": u.Input, "outputTokens": u.Output, "thinkingTokens": 0,
			"cacheReadInputTokens": u.CacheRead, "cacheCreationInputTokens": u.CacheCreation,
			"webSearchRequests": 0, "costUSD": u.cost(model),
			"contextWindow": modelWindow(model, l.env), "maxOutputTokens": maxOutputTokens,
			"canonicalModel": strings.TrimSuffix(model, "[1m]"), "provider": "firstParty", "costBasis": "list",
		}
	}
	return o
}

// state is the transcript's cost-state line, from which a resume goes on.
func (l *ledger) state() obj {
	l.mu.Lock()
	defer l.mu.Unlock()
	return obj{
		"type": "cost-state", "totalCostUSD": l.costUSD, "totalAPIDuration": l.apiTime.Milliseconds(),
		"totalDuration": time.Since(l.begun).Milliseconds(), "modelUsage": l.models(l.total),
	}
}

// spentSoFar is what get_usage says of the session.
func (l *ledger) spentSoFar() obj {
	l.mu.Lock()
	defer l.mu.Unlock()
	return obj{
		"total_cost_usd": l.costUSD, "total_api_duration_ms": l.apiTime.Milliseconds(),
		"total_duration_ms": time.Since(l.begun).Milliseconds(), "total_lines_added": 0, "total_lines_removed": 0,
		"model_usage": l.models(l.total),
	}
}

// text is what /cost and get_session_cost say.
func (l *ledger) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Estimated cost:        $%.4f\nTotal duration (API):  %ds\nTotal duration (wall): %ds\n"+
		"Total code changes:    0 lines added, 0 lines removed\nUsage by model:\n",
		l.costUSD, int(l.apiTime.Seconds()), int(time.Since(l.begun).Seconds()))
	for _, m := range slices.Sorted(maps.Keys(l.total)) {
		u := l.total[m]
		fmt.Fprintf(&b, "     %s:  %d input, %d output, %d cache read, %d cache write ($%.4f)\n",
			m, u.Input, u.Output, u.CacheRead, u.CacheCreation, u.cost(m))
	}
	return strings.TrimRight(b.String(), "\n")
}
