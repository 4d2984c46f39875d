package bridge

import (
	"encoding/json"
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// envelope is what tells the kinds of messages apart. What is absent is empty.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// answer reports whether the message has a result or an error.
func (e envelope) answer() bool { return len(e.Result)+len(e.Error) > 0 }

// readEnvelope reads a message. Of one that is damaged it returns what stands before the fault.
func readEnvelope(line []byte) (env envelope, err error) {
	if json.Unmarshal(line, &env) == nil && line[0] == '{' {
		return env, nil
	}
	members, err := jsonl.Members(line)
	env = envelope{}
	for _, m := range members {
		switch m.Key {
		case "id":
			env.ID = m.Value
		case "method":
			env.Method = m.Value
		}
	}
	return env, err
}

// validID reports whether jsonrpc2 can echo the id: it knows strings and naturals.
func validID(id []byte) bool {
	if _, err := jsonl.String(id); err == nil {
		return true
	}
	var n int64
	return json.Unmarshal(id, &n) == nil && n >= 0 && len(id) > 0
}

// madeUpAnswer is an error response of our own making, to the raw id.
func madeUpAnswer(id []byte, code int, message string) []byte {
	quoted, _ := json.Marshal(message) // a string always encodes
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted)
}
