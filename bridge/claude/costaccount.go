package claude

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// The CLI reports the cost of a session by model, but not that of a subagent. While a blocking subagent
// runs, the main thread makes no call: the cost of that time belongs to the subagents. If several run at
// once, the cost is divided by what each used of each model, weighted by the usual proportions of prices.
const (
	writeWeight  = 1.25
	readWeight   = 0.1
	answerWeight = 5
)

func weight(u transcript.Usage) float64 {
	return float64(u.Input) + writeWeight*float64(u.CacheCreation) + readWeight*float64(u.CacheRead) +
		answerWeight*float64(u.Output)
}

// costAccount holds the session's cost at the last answer. The reader owns it.
type costAccount struct {
	open     int // requests of charge without an answer
	known    bool
	unbooked bool // the last message of the main thread was not booked in the answers so far
	models   map[string]modelUsage
	floor    map[string]int // tokens of input that must be booked by now, by model
	last     assistantFrame // of the main thread: only its model and usage
}

// called records a message of the main thread.
func (b *costAccount) called(f assistantFrame) {
	if b.floor == nil {
		b.floor = map[string]int{}
	}
	b.floor[f.Model] += f.sample().Usage.Context()
	b.last = f
}

// closed takes the figures of a result: everything is booked then.
func (b *costAccount) closed(usage map[string]modelUsage) {
	b.floor = map[string]int{}
	for model, u := range usage {
		b.floor[model] = u.input()
	}
	b.begin()
}

// begin discards the last answer: the main thread has spent since then.
func (b *costAccount) begin() { b.known, b.unbooked = false, false }

type modelUsage struct {
	CostUSD                  float64 `json:"costUSD"`
	ContextWindow            int     `json:"contextWindow"`
	InputTokens              int     `json:"inputTokens"`
	OutputTokens             int     `json:"outputTokens"`
	CacheReadInputTokens     int     `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int     `json:"cacheCreationInputTokens"`
}

func (u modelUsage) input() int {
	return u.InputTokens + u.CacheReadInputTokens + u.CacheCreationInputTokens
}

func (u modelUsage) tokens() bridge.Usage {
	return bridge.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens,
		CacheCreation: u.CacheCreationInputTokens}
}

// read takes an answer. It returns what was spent since the previous answer, by model, and the weight of
// the main thread in it. Counting starts with the first answer.
func (b *costAccount) read(models map[string]modelUsage) (spent, main map[string]float64) {
	spent, main = map[string]float64{}, map[string]float64{}
	m := b.last.Model
	booked := models[m].input() >= b.floor[m]
	if b.known {
		for model, u := range models {
			if d := u.CostUSD - b.models[model].CostUSD; d > 0 {
				spent[model] = d
			}
		}
		if b.unbooked && booked {
			main[m] = weight(b.last.sample().Usage)
		}
	}
	// A tool starts before the message that calls it has ended.
	b.unbooked = !booked && (b.unbooked || !b.known)
	b.known, b.models = true, models
	return spent, main
}

// share divides what was spent among those who used it.
func (s *subagents) share(spent, main map[string]float64) {
	for model, usd := range spent {
		total := main[model]
		for _, sub := range s.running {
			total += sub.weight[model]
		}
		for _, sub := range s.running {
			switch {
			case total > 0:
				sub.now.CostUSD += usd * sub.weight[model] / total
			default: // spent by calls that were not seen
				sub.now.CostUSD += usd / float64(len(s.running))
			}
		}
	}
	for _, sub := range s.running {
		clear(sub.weight)
	}
}

// charge requests the session's cost at once, without waiting. It returns false if there will be no answer.
func (r *reader) charge() bool {
	if r.spending.off {
		return false
	}
	r.costAccount.open++
	r.a.calls.post(r.a.Ctx, "get_usage", usageOfSession, func(res controlResponse) {
		r.costAccount.open--
		r.spent(res)
	})
	return true
}

// charged divides what was spent since the last answer.
func (r *reader) charged(models map[string]modelUsage) {
	r.subs.share(r.costAccount.read(models))
	for _, sub := range r.subs.running {
		r.subs.report(sub)
	}
	if r.costAccount.open == 0 {
		r.subs.end("")
	}
}

func (r *reader) startSubagent(f taskStarted) {
	if !r.subs.start(f) {
		return
	}
	if len(r.subs.running) == 1 {
		r.costAccount.begin()
	}
	r.charge()
}

// progressed reports the progress of a subagent.
func (r *reader) progressed(id string) {
	r.spending.worked()
	if sub := r.subs.find(id); sub != nil {
		r.subs.report(sub)
	}
}

// stopSubagent ends a subagent as soon as its cost is known: the CLI answers in milliseconds, long before
// the main thread continues.
func (r *reader) stopSubagent(id, status string, tokens int) {
	if r.subs.finish(id, status, tokens) && !r.charge() {
		r.subs.end("")
	}
}
