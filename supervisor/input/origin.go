package input

import (
	"encoding/json"
	"strconv"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Origin is who an input is from. It is derived from the pipe by which the input came and from the state, and
// from nothing that the input says about itself: an agent cannot forge it.
type Origin struct {
	By      string // an agent's id, human, supervisor; unknown
	Session string // Claude's, of an agent in its present generation
	Gen     int    // generation of an agent
	Channel string // by which a human's command came: one of the Channel… constants
	Host    string // whose bridge it came by; empty: this host's, or none's. It is not recorded
}

// ChannelStart is the command line that began a process, with its message.
const ChannelStart = "start"

// Unknown stands for a sender that came by no known channel.
const Unknown = "unknown"

// SourceAgent is the agent whose pipe an input came by; false: it came by none.
func SourceAgent(f Body) (bridge.AgentRef, bool) {
	switch f := f.(type) {
	case AgentEvent:
		return f.Event.AgentRef, true
	case ToolCalled:
		return f.Params.AgentRef, true
	case PermissionAsked:
		return f.Params.AgentRef, true
	case CallDecided:
		return f.Params.AgentRef, true
	}
	return bridge.AgentRef{}, false
}

// appendTo appends the origin as members of a record.
func (o Origin) appendTo(raw []byte) []byte {
	member := func(name, value string) {
		if value != "" {
			raw = append(raw, `,"`+name+`":`...)
			raw = appendText(raw, value)
		}
	}
	member("by", o.By)
	member("session", o.Session)
	if o.Gen != 0 {
		raw = append(raw, `,"gen":`...)
		raw = strconv.AppendInt(raw, int64(o.Gen), 10)
	}
	member("channel", o.Channel)
	return raw
}

// appendText appends a JSON string. Ids are plain ASCII.
func appendText(raw []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(s)
			if err != nil {
				panic(err) // a string has a JSON form
			}
			return append(raw, quoted...)
		}
	}
	raw = append(append(raw, '"'), s...)
	return append(raw, '"')
}
