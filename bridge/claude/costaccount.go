package claude

import (
	"time"

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

// accountEvery is the interval of cost requests while subagents work. The reader also asks when
// a subagent starts and when one ends.
const accountEvery = 5 * time.Second

// costAccount holds the session's cost at the last request. The reader owns it.
type costAccount struct {
	open   bool // a request has no answer yet
	again  bool // requested again meanwhile
	at     time.Time
	known  bool
	models map[string]modelUsage
	main   map[string]float64 // weight of what the main thread used, if it was not booked yet
	floor  map[string]int     // tokens of input that must be booked by now, by model
	last   assistantFrame     // of the main thread: only its model and usage
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

// begin discards the last reading: the main thread has spent since then.
func (b *costAccount) begin() { b.known, b.main = false, nil }

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
	spent, main = map[string]float64{}, b.main
	b.main = nil
	if b.known {
		for model, u := range models {
			if d := u.CostUSD - b.models[model].CostUSD; d > 0 {
				spent[model] = d
			}
		}
	} else if m := b.last.Model; models[m].input() < b.floor[m] {
		// A tool starts before the message that calls it has ended.
		b.main = map[string]float64{m: weight(b.last.sample().Usage)}
	}
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

// charge requests the session's cost, without waiting. It returns false if there will be no answer.
func (r *reader) charge() bool {
	b := &r.costAccount
	if r.spending.off {
		return false
	}
	if b.open && time.Since(b.at) < controlTimeout {
		b.again = true
		return true
	}
	b.open, b.again, b.at = true, false, time.Now()
	r.a.calls.post(r.a.Ctx, "get_usage", usageOfSession, func(res controlResponse) {
		b.open = false
		r.charged(res)
	})
	return true
}

func (r *reader) charged(res controlResponse) {
	if models, ok := r.spending.read(res); ok {
		r.subs.share(r.costAccount.read(models))
		for _, sub := range r.subs.running {
			r.subs.report(sub)
		}
		if r.costAccount.again {
			r.charge()
			return
		}
	}
	r.subs.end("")
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

// progressed reports the progress of a subagent and requests its costs.
func (r *reader) progressed(id string) {
	if sub := r.subs.find(id); sub != nil {
		r.subs.report(sub)
		if time.Since(r.costAccount.at) >= accountEvery {
			r.charge()
		}
	}
}

// stopSubagent ends a subagent as soon as its cost is known: the CLI answers in milliseconds, long before
// the main thread continues.
func (r *reader) stopSubagent(id, status string, tokens int) {
	if r.subs.finish(id, status, tokens) && !r.charge() {
		r.subs.end("")
	}
}
