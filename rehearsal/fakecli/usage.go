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

// modelUsage is what was used of each model, as result frames and the transcript have it.
type modelUsage map[string]modelTotal

type modelTotal struct {
	Input         int     `json:"inputTokens"`
	Output        int     `json:"outputTokens"`
	CacheRead     int     `json:"cacheReadInputTokens"`
	CacheCreation int     `json:"cacheCreationInputTokens"`
	Cost          float64 `json:"costUSD"`
	Window        int     `json:"contextWindow"`
}

func (m modelUsage) add(model string, u usage) {
	t := m[model]
	m[model] = modelTotal{t.Input + u.Input, t.Output + u.Output, t.CacheRead + u.CacheRead,
		t.CacheCreation + u.CacheCreation, t.Cost + u.cost(), modelWindow(model)}
}

// account is what the session has used, over all its processes and since the last result.
// session.mu guards it.
type account struct {
	total, sinceResult modelUsage
	cost               float64
	last               *usage // of the main thread's last answer; never changed, only replaced
}

func newAccount(p *past) account {
	a := account{total: modelUsage{}, sinceResult: modelUsage{}, cost: p.Cost, last: p.last}
	maps.Copy(a.total, p.Usage)
	return a
}

// spend adds a call of a model.
func (s *session) spend(model string, u usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.total.add(model, u)
	s.account.sinceResult.add(model, u)
	s.account.cost += u.cost()
}

// usage is the answer to get_usage.
func (s *session) usage() obj {
	s.mu.Lock()
	defer s.mu.Unlock()
	return obj{"session": obj{"total_cost_usd": s.account.cost, "model_usage": maps.Clone(s.account.total)}}
}

// contextUsage is the answer to get_context_usage: the usage of the last call.
func (s *session) contextUsage() obj {
	window, total, last := modelWindow(s.model), promptSize, guarded(s, &s.account.last)
	if last != nil {
		total = max(total, last.context())
	}
	return obj{"totalTokens": total, "rawMaxTokens": window, "apiUsage": last, "model": s.model,
		"isAutoCompactEnabled": true, "autoCompactThreshold": window - compactReserve}
}
