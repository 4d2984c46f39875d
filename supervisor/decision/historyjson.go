package decision

import (
	"encoding/json"
	"time"
)

// The JSON of a history is for a snapshot of a run's state: all of it, to go on from. Its
// names are nobody's contract.

type historyJSON struct {
	Count    int
	Recent   []keptJSON   `json:",omitempty"`
	Failures []failedJSON `json:",omitempty"`
	Agents   []tallyJSON  `json:",omitempty"`
	Tokens   Tokens
	Worked   time.Duration
	Timed    int
}

type keptJSON struct {
	Execution
	Summary string
	Brief   *Document `json:",omitempty"`
}

type failedJSON struct {
	At int
	keptJSON
}

type tallyJSON struct {
	Agent                    string
	Succeeded, Failed        int
	Tries, TriesToSuccess    int
	LastSuccess, LastFailure time.Time
	SucceededAt              int
	Left                     *Document `json:",omitempty"`
	LeftAt, LeftIteration    int
}

// MarshalJSON encodes all of the history.
func (h History) MarshalJSON() ([]byte, error) {
	j := historyJSON{Count: h.count, Tokens: h.tokens, Worked: h.worked, Timed: h.timed}
	for _, k := range h.recent {
		j.Recent = append(j.Recent, keptJSON{k.Execution, k.summary, k.brief})
	}
	for _, f := range h.failures {
		j.Failures = append(j.Failures, failedJSON{f.at, keptJSON{f.Execution, f.summary, f.brief}})
	}
	for _, t := range h.agents {
		j.Agents = append(j.Agents, tallyJSON{
			t.agent, t.succeeded, t.failed, t.tries, t.triesToSuccess, t.lastSuccess, t.lastFailure, t.succeededAt,
			t.left, t.leftAt, t.leftIteration,
		})
	}
	return json.Marshal(j)
}

// UnmarshalJSON decodes what MarshalJSON encoded.
func (h *History) UnmarshalJSON(b []byte) error {
	var j historyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*h = History{count: j.Count, tokens: j.Tokens, worked: j.Worked, timed: j.Timed}
	for _, k := range j.Recent {
		h.recent = append(h.recent, &kept{k.Execution, k.Summary, k.Brief})
	}
	for _, f := range j.Failures {
		h.failures = append(h.failures, numbered{f.At, &kept{f.Execution, f.Summary, f.Brief}})
	}
	for _, t := range j.Agents {
		h.agents = append(h.agents, tally{
			t.Agent, t.Succeeded, t.Failed, t.Tries, t.TriesToSuccess, t.LastSuccess, t.LastFailure, t.SucceededAt,
			t.Left, t.LeftAt, t.LeftIteration,
		})
	}
	return nil
}
