package fakecli

import (
	"maps"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript"
)

// usage is the token count of one model call.
type usage = transcript.Usage

func sum(u, v usage) usage {
	return usage{Input: u.Input + v.Input, CacheCreation: u.CacheCreation + v.CacheCreation,
		CacheRead: u.CacheRead + v.CacheRead, Output: u.Output + v.Output}
}

// price is the cost of a call, in dollars, at the prices of one model for all of them. A cache
// read costs a twentieth of an input token, a cache write five quarters.
func price(u usage) float64 {
	input := float64(u.Input) + float64(u.CacheCreation)*1.25 + float64(u.CacheRead)*0.05
	return (input*4 + float64(u.Output)*20) / 1e6
}

const (
	compactReserve = 33_000 // before the window's end; compaction itself is not imitated
	promptSize     = 15_000 // of prompt and tools, before anything was said
)

// modelWindow is the context window of a model (observed with CLI 2.1.329).
func modelWindow(model string) int {
	if strings.Contains(model, "-4-") {
		return 200_000
	}
	return 1_000_000
}

// resolveModel returns the full name of a model; without a name, that of the default.
func resolveModel(name string) string {
	if name == "" || name == "default" || name == "opus" {
		return "claude-opus-5-5"
	}
	return name
}

// modelUsage is the usage by model, in the format of result frames and the transcript.
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
		t.CacheCreation + u.CacheCreation, t.Cost + price(u), modelWindow(model)}
}

// account is the session's usage, over all its processes and since the last result.
// session.mu guards it.
type account struct {
	total, sinceResult modelUsage
	cost               float64
	last               *usage // of the main thread's last answer; never changed, only replaced
}

func newAccount(p *resumedState) account {
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
	s.account.cost += price(u)
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
		total = max(total, last.Context())
	}
	return obj{"totalTokens": total, "rawMaxTokens": window, "apiUsage": last, "model": s.model,
		"isAutoCompactEnabled": true, "autoCompactThreshold": window - compactReserve}
}
