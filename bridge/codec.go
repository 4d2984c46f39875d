package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// eventKind is one row of the table of events.
type eventKind struct {
	name string
	typ  reflect.Type
}

func kindOf[B EventBody]() eventKind {
	var zero B
	return eventKind{zero.eventName(), reflect.TypeFor[B]()}
}

var eventByName = func() map[string]eventKind {
	m := make(map[string]eventKind, len(eventKinds))
	for _, k := range eventKinds {
		m[k.name] = k
	}
	return m
}()

// UnmarshalJSON decodes the flat object. An event this version does not know
// becomes [Unknown], and so does one whose fields have the wrong types, with the
// reason in Err: the stream continues. Only data that is not a JSON object is an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	ev, _, err := decodeEvent(data)
	if err == nil {
		*e = ev
	}
	return err
}

// eventHead holds the fields of every event.
type eventHead struct {
	N          uint64 `json:"n"` // in notifications
	ID         string `json:"id"`
	Generation int    `json:"generation"`
	Event      string `json:"event"`
}

// decodeEvent also returns the event's number, 0 if it has none.
func decodeEvent(data []byte) (Event, uint64, error) {
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '{' {
		return Event{}, 0, errors.New("decode event: not a JSON object")
	}
	head, err := readHead(data)
	ev := Event{AgentRef: AgentRef{ID: head.ID, Generation: head.Generation}}
	kind, known := eventByName[head.Event]
	if err != nil || !known {
		ev, err = unknownEvent(ev, head.Event, data, err)
		return ev, head.N, err
	}
	body := reflect.New(kind.typ)
	if err := json.Unmarshal(data, body.Interface()); err != nil {
		ev, err = unknownEvent(ev, head.Event, data, err)
		return ev, head.N, err
	}
	ev.Body = body.Elem().Interface().(EventBody)
	return ev, head.N, nil
}

// readHead reads the fields that every event has. MarshalJSON writes them first, so that of such an event
// only the beginning is decoded here.
func readHead(data []byte) (head eventHead, err error) {
	if head, ok := readOwnHead(data); ok {
		return head, nil
	}
	err = json.Unmarshal(data, &head)
	return head, err
}

// readOwnHead reads the head of a known event as MarshalJSON and [numbered] write it. It does not check
// that the rest is valid JSON: decoding the body does.
func readOwnHead(data []byte) (head eventHead, ok bool) {
	first, rest, ok := bytes.Cut(data, []byte(`,"event":"`))
	name, _, _ := bytes.Cut(rest, []byte(`"`))
	kind, known := eventByName[string(name)]
	if !ok || !known {
		return head, false
	}
	id, generation, _ := bytes.Cut(first, []byte(`,"generation":`))
	number, id, numbered := bytes.Cut(id, []byte(`,"id":`))
	if !numbered {
		return head, false
	}
	number, numbered = bytes.CutPrefix(number, []byte(`{"n":`))
	n, errN := strconv.ParseUint(string(number), 10, 64)
	g, errG := strconv.Atoi(string(generation))
	text, errID := jsonl.String(id)
	if !numbered || errN != nil || errG != nil || errID != nil {
		return head, false
	}
	return eventHead{N: n, ID: text, Generation: g, Event: kind.name}, true
}

func unknownEvent(ev Event, name string, data []byte, why error) (Event, error) {
	if !json.Valid(data) {
		return Event{}, errors.New("decode event: not valid JSON")
	}
	ev.Body = Unknown{Name: name, Raw: bytes.Clone(data), Err: why}
	return ev, nil
}

// MarshalJSON encodes the flat object. An [Unknown] yields its Raw, byte for byte. (json.Marshal compacts
// and HTML-escapes what this returns; the bridge's own writer does not.)
func (e Event) MarshalJSON() ([]byte, error) { return appendEvent(nil, e) }

func appendEvent(dst []byte, e Event) ([]byte, error) {
	if e.Body == nil {
		return dst, errors.New("encode event: no body")
	}
	if u, ok := e.Body.(Unknown); ok && len(u.Raw) > 0 {
		return append(dst, u.Raw...), nil
	}
	dst = append(dst, `{"id":`...)
	dst, err := jsonl.Append(dst, e.ID)
	if err != nil {
		return dst, fmt.Errorf("encode event %s: %w", e.Body.eventName(), err)
	}
	dst = fmt.Appendf(dst, `,"generation":%d,"event":"%s"`, e.Generation, e.Body.eventName())
	if _, ok := e.Body.(Unknown); ok {
		return append(dst, '}'), nil
	}
	start := len(dst)
	if dst, err = jsonl.Append(dst, present(e.Body)); err != nil {
		return dst, fmt.Errorf("encode event %s: %w", e.Body.eventName(), err)
	}
	if len(dst)-start == len("{}") {
		return append(dst[:start], '}'), nil
	}
	dst[start] = ',' // replaces the brace: the body's fields join the others
	return dst, nil
}

// present fills in what a reader may rely on: lists are arrays, raw values are JSON.
func present(body EventBody) EventBody {
	switch b := body.(type) {
	case Turn:
		if b.MessageIDs == nil {
			b.MessageIDs = []string{}
		}
		return b
	case ToolUse:
		if len(b.Input) == 0 {
			b.Input = json.RawMessage("{}")
		}
		return b
	}
	return body
}

// eventHeader is the beginning of an event's line, before its number.
const eventHeader = `{"jsonrpc":"2.0","method":"` + MethodEvent + `","params":{"n":`

// eventParamsAt is the offset of the parameters in such a line.
const eventParamsAt = len(eventHeader) - len(`{"n":`)

// numbered completes a line of [eventLine] with the event's number.
func numbered(number uint64, rest []byte) []byte {
	line := make([]byte, 0, len(eventHeader)+21+len(rest))
	line = strconv.AppendUint(append(line, eventHeader...), number, 10)
	if rest = bytes.TrimLeft(rest, " \t\r\n"); len(rest) > 0 && rest[0] != '}' {
		line = append(line, ',')
	}
	return append(line, rest...)
}

// eventLine returns the part of the notification that follows its number, with the line end.
func eventLine(e Event) ([]byte, error) {
	line := make([]byte, 0, 512)
	line, err := appendEvent(line, e)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(line, '\n') >= 0 { // only the layout of an Unknown can contain one
		var flat bytes.Buffer
		if err := json.Compact(&flat, line); err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		return append(flat.Bytes()[1:], '}', '\n'), nil
	}
	return append(line[1:], '}', '\n'), nil
}

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
