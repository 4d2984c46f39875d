package fakecli

import (
	"maps"
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

// context is how much of the window the call's prompt filled.
func (u usage) context() int { return u.Input + u.CacheCreation + u.CacheRead }

func (u usage) plus(v usage) usage {
	return usage{u.Input + v.Input, u.CacheCreation + v.CacheCreation, u.CacheRead + v.CacheRead, u.Output + v.Output}
}

// modelUsage is a model's entry in result frames and in the transcript's cost-state line.
type modelUsage struct {
	Input         int     `json:"inputTokens"`
	Output        int     `json:"outputTokens"`
	CacheRead     int     `json:"cacheReadInputTokens"`
	CacheCreation int     `json:"cacheCreationInputTokens"`
	Cost          float64 `json:"costUSD"`
	Window        int     `json:"contextWindow"`
	MaxOutput     int     `json:"maxOutputTokens"`
}

// cost is what a call costs at the prices that CLI 2.1.329 lists, in dollars per million
// tokens. A cache read costs a twentieth of an input token, a cache write five quarters.
func (u usage) cost(model string) float64 {
	in, out := 4.0, 20.0
	switch {
	case strings.Contains(model, "fable"):
		in, out = 8, 40
	case strings.Contains(model, "sonnet"):
		in, out = 2, 10
	case strings.Contains(model, "haiku"):
		in, out = 0.1, 0.5
	}
	input := float64(u.Input) + float64(u.CacheCreation)*1.25 + float64(u.CacheRead)*0.05
	return (input*in + float64(u.Output)*out) / 1e6
}

const (
	compactReserve  = 33_000 // from the window's end; compaction itself is not played
	maxOutputTokens = 128_000
)

// modelWindow is the context window of a model (observed with CLI 2.1.329).
func modelWindow(model string) int {
	for _, small := range []string{"sonnet-4-5", "opus-4-6", "haiku-4-5"} {
		if strings.HasSuffix(model, small) {
			return 200_000
		}
	}
	return 1_000_000
}

// resolveModel gives the full name of an alias that --model takes.
func resolveModel(name string) string {
	switch name {
	case "", "default", "opus":
		return "claude-opus-5-5"
	case "sonnet", "haiku":
		return "claude-" + name + "-5-5"
	case "fable":
		return "claude-fable-5-2"
	}
	return name
}

// account adds up usage and cost, over the whole life of the session and since the last
// result.
type account struct {
	mu          sync.Mutex
	total       map[string]modelUsage
	sinceResult map[string]modelUsage
	cost        float64
	apiTime     time.Duration
	last        *usage // of the main thread's last answer
}

func newAccount(c costState, last *usage) *account {
	a := &account{total: map[string]modelUsage{}, sinceResult: map[string]modelUsage{}, cost: c.Total, last: last}
	maps.Copy(a.total, c.Usage)
	return a
}

func (a *account) add(model string, u usage, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range []map[string]modelUsage{a.total, a.sinceResult} {
		sum := m[model]
		sum.Input, sum.Output = sum.Input+u.Input, sum.Output+u.Output
		sum.CacheRead, sum.CacheCreation = sum.CacheRead+u.CacheRead, sum.CacheCreation+u.CacheCreation
		sum.Cost += u.cost(model)
		sum.Window, sum.MaxOutput = modelWindow(model), maxOutputTokens
		m[model] = sum
	}
	a.cost += u.cost(model)
	a.apiTime += took
}

// read takes over what the main thread's answer says of its prompt, as soon as one of its
// blocks is complete: it holds while its tools run, and when it is interrupted.
func (a *account) read(u usage) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last = &u
}

func (a *account) spent() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cost
}

// report adds the cost fields to a result frame and starts the next interval. state is the
// transcript's line, from which a resume continues.
func (a *account) report(result obj) (state obj) {
	a.mu.Lock()
	defer a.mu.Unlock()
	result["total_cost_usd"], result["duration_api_ms"] = a.cost, a.apiTime.Milliseconds()
	total := maps.Clone(a.total)
	result["modelUsage"], result["model_usage_since_last_result"] = total, a.sinceResult
	a.sinceResult = map[string]modelUsage{}
	return obj{"type": "cost-state", "totalCostUSD": a.cost, "modelUsage": total}
}

// session is the answer to get_usage.
func (a *account) session() obj {
	a.mu.Lock()
	defer a.mu.Unlock()
	return obj{"session": obj{"total_cost_usd": a.cost, "model_usage": maps.Clone(a.total)}}
}

// contextUsage is the answer to get_context_usage: the last call's usage with an estimate of
// what followed, at least an estimate of prompt and tools.
func (s *session) contextUsage() obj {
	window := modelWindow(s.currentModel())
	total := 0
	for _, block := range s.system(nil) {
		total += len(block) / 4
	}
	for _, t := range s.main.toolset() {
		total += (len(t.InputSchema) + len(t.Description)) / 4
	}
	s.account.mu.Lock()
	last := s.account.last // never changed, only replaced
	s.account.mu.Unlock()
	if all, unread := s.main.size(); last != nil {
		total = max(total, last.context()+unread)
	} else {
		total += all
	}
	return obj{"totalTokens": total, "maxTokens": window, "rawMaxTokens": window, "apiUsage": last,
		"model":                s.currentModel(),
		"isAutoCompactEnabled": true, "autoCompactThreshold": window - compactReserve}
}
