package contract

import (
	"encoding/json"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// joinMembers returns an object of the members in only, or of all members if only is nil.
func joinMembers(all []jsonl.Member, only map[string]bool) json.RawMessage {
	out := []byte{'{'}
	for _, m := range all {
		if only != nil && !only[m.Key] {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = appendQuoted(out, m.Key)
		out = append(out, ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}
