package fakecli

import (
	"maps"
	"strings"
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
}

// cost is what a call costs, in dollars, at the prices of one model for all of them. A cache
// read costs a twentieth of an input token, a cache write five quarters.
func (u usage) cost() float64 {
	input := float64(u.Input) + float64(u.CacheCreation)*1.25 + float64(u.CacheRead)*0.05
	return (input*4 + float64(u.Output)*20) / 1e6
}

const (
	compactReserve  = 33_000 // from the window's end; compaction itself is not played
	maxOutputTokens = 128_000
	promptSize      = 15_000 // of prompt and tools, before anything was said
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

// resolveModel gives the full name of the model that is used unless another is named.
func resolveModel(name string) string {
	if name == "" || name == "default" || name == "opus" {
		return "claude-opus-5-5"
	}
	return name
}

// account is what was used and spent, over the whole life of the session and since the last
// result. session.mu guards it.
type account struct {
	total       map[string]modelUsage // by model
	sinceResult map[string]modelUsage
	cost        float64
	last        *usage // of the main thread's last answer
}

func newAccount(p *past) account {
	a := account{total: map[string]modelUsage{}, sinceResult: map[string]modelUsage{}, cost: p.cost.Total, last: p.last}
	maps.Copy(a.total, p.cost.Usage)
	return a
}

// spend adds a call of a model.
func (s *session) spend(model string, u usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range []map[string]modelUsage{s.account.total, s.account.sinceResult} {
		sum := m[model]
		sum.Input, sum.Output = sum.Input+u.Input, sum.Output+u.Output
		sum.CacheRead, sum.CacheCreation = sum.CacheRead+u.CacheRead, sum.CacheCreation+u.CacheCreation
		sum.Cost += u.cost()
		sum.Window = modelWindow(model)
		m[model] = sum
	}
	s.account.cost += u.cost()
}

// report adds the cost fields to a result frame and starts the next interval. state is the
// transcript's line, from which a resume continues.
func (s *session) report(result obj) (state obj) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &s.account
	total := maps.Clone(a.total)
	result["total_cost_usd"], result["modelUsage"] = a.cost, total
	result["model_usage_since_last_result"] = a.sinceResult
	a.sinceResult = map[string]modelUsage{}
	return obj{"type": "cost-state", "totalCostUSD": a.cost, "modelUsage": total}
}

// usage is the answer to get_usage.
func (s *session) usage() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	return obj{"session": obj{"total_cost_usd": s.account.cost, "model_usage": maps.Clone(s.account.total)}}
}

// contextUsage is the answer to get_context_usage: the usage of the last call.
func (s *session) contextUsage() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	window, total := modelWindow(s.model), promptSize
	last := s.account.last // never changed, only replaced
	if last != nil {
		total = max(total, last.context())
	}
	return obj{"totalTokens": total, "rawMaxTokens": window, "apiUsage": last, "model": s.model,
		"isAutoCompactEnabled": true, "autoCompactThreshold": window - compactReserve}
}
