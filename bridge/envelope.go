package bridge

import (
	"encoding/json"
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// envelope is what tells the kinds of messages apart.
type envelope struct {
	id, method, params []byte
	answer             bool // has a result or an error
}

func readEnvelope(line []byte) (env envelope, ok bool) {
	ok = jsonl.Members(line, func(key, value []byte) bool {
		switch string(key) {
		case "id":
			env.id = value
		case "method":
			env.method = value
		case "params":
			env.params = value
		case "result", "error":
			env.answer = true
		}
		return true
	})
	return env, ok
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
	line := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	line = fmt.Appendf(line, `,"error":{"code":%d,"message":`, code)
	return append(appendString(line, message), "}}"...)
}
