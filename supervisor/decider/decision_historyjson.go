package decider

import (
	"encoding/json"
	"time"
)

// The JSON of a history is for a snapshot of a run's state: it contains everything needed to continue. Its
// names are not part of a contract.
type historyJSON struct {
	Count    int
	Recent   []*kept    `json:",omitempty"`
	Failures []numbered `json:",omitempty"`
	Agents   []tally    `json:",omitempty"`
	Tokens   Tokens
	Worked   time.Duration
	Timed    int
}

// MarshalJSON encodes the whole history.
func (h DecisionHistory) MarshalJSON() ([]byte, error) {
	return json.Marshal(historyJSON{h.count, h.recent, h.failures, h.agents, h.tokens, h.worked, h.timed})
}

// UnmarshalJSON decodes what MarshalJSON encoded.
func (h *DecisionHistory) UnmarshalJSON(b []byte) error {
	var j historyJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*h = DecisionHistory{j.Count, j.Recent, j.Failures, j.Agents, j.Tokens, j.Worked, j.Timed}
	return nil
}
