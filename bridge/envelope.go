package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// envelope holds the fields that tell the kinds of messages apart. Absent fields are empty.
type envelope struct{ ID, Method, Params, Result, Error json.RawMessage }

// answer reports whether the message has a result or an error.
func (e envelope) answer() bool { return len(e.Result)+len(e.Error) > 0 }

// message is what jsonrpc2 decodes. The parameters of a request are not in its line, because jsonrpc2 (v0.2.3)
// would parse them five times.
type message struct {
	line   []byte
	params json.RawMessage // nil: there are none
}

// request is the message of a request or notification.
func (e envelope) request() message {
	line := append([]byte(`{"jsonrpc":"2.0","method":`), e.Method...)
	if len(e.ID) > 0 {
		line = append(append(line, `,"id":`...), e.ID...)
	}
	return message{append(line, '}'), e.Params}
}

// eventParams returns the parameters of a line that [numbered] made, without parsing the members around
// them.
func eventParams(line []byte) (params []byte, ok bool) {
	if !bytes.HasPrefix(line, []byte(eventHeader)) {
		return nil, false
	}
	params = line[eventParamsAt : len(line)-1]
	// If params is one valid value, only the closing brace of the message follows it.
	return params, line[len(line)-1] == '}' && json.Valid(params)
}

// readEnvelope reads a message. If the message is damaged, it returns the members before the damage.
func readEnvelope(line []byte) (env envelope, err error) {
	members, err := jsonl.Members(line)
	for _, m := range members {
		switch m.Key {
		case "id":
			env.ID = m.Value
		case "method":
			env.Method = m.Value
		case "params":
			env.Params = m.Value
		case "result":
			env.Result = m.Value
		case "error":
			env.Error = m.Value
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

// madeUpAnswer returns an error response to the raw id, for a message that jsonrpc2 cannot answer.
func madeUpAnswer(id []byte, code int, message string) []byte {
	quoted, _ := json.Marshal(message) // a string always encodes
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, quoted)
}
