package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// eventKind is one row of the table of events.
type eventKind struct {
	name   string
	typ    reflect.Type
	decode func(data []byte) (EventBody, error)
}

func kindOf[B EventBody]() eventKind {
	var zero B
	typ := reflect.TypeFor[B]()
	fields := fieldsOf(typ)
	return eventKind{zero.eventName(), typ, func(data []byte) (EventBody, error) {
		var b B
		if readFields(data, reflect.ValueOf(&b).Elem(), fields) {
			return b, nil
		}
		b = zero
		err := json.Unmarshal(data, &b)
		return b, err
	}}
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
// reason in Err: the stream goes on. Only data that is no JSON object is an error.
func (e *Event) UnmarshalJSON(data []byte) error {
	ev, err := decodeEvent(data)
	if err == nil {
		*e = ev
	}
	return err
}

// decodeEvent finds the three fields every event has with a scan that ends as
// soon as it has them, then decodes the body once, straight into its type.
func decodeEvent(data []byte) (Event, error) {
	var (
		ev     Event
		name   string
		wrong  error // of the fields every event has
		missed = 3
	)
	isObject := jsonl.Members(data, func(key, value []byte) bool {
		var err error
		switch string(key) {
		case "id":
			ev.ID, err = headerString(key, value)
		case "event":
			name, err = headerString(key, value)
		case "generation":
			if ev.Generation, err = strconv.Atoi(string(value)); err != nil {
				err = fmt.Errorf("generation: not an integer: %.40s", value)
			}
		default:
			return true
		}
		if err != nil && wrong == nil {
			wrong = err
		}
		missed--
		return missed > 0
	})
	if !isObject {
		return Event{}, errors.New("decode event: not a JSON object")
	}
	if wrong != nil {
		return unknownEvent(ev, name, data, wrong)
	}
	kind, known := eventByName[name]
	if !known {
		return unknownEvent(ev, name, data, nil)
	}
	body, err := kind.decode(data)
	if err != nil {
		return unknownEvent(ev, name, data, err)
	}
	ev.Body = body
	return ev, nil
}

func headerString(key, value []byte) (string, error) {
	s, err := jsonl.String(value)
	if err != nil {
		return "", fmt.Errorf("%s: not a string: %.40s", key, value)
	}
	return s, nil
}

func unknownEvent(ev Event, name string, data []byte, why error) (Event, error) {
	if !json.Valid(data) {
		return Event{}, errors.New("decode event: not valid JSON")
	}
	ev.Body = Unknown{Name: name, Raw: bytes.Clone(data), Err: why}
	return ev, nil
}

// MarshalJSON encodes the flat object. An [Unknown] gives its Raw back, byte for
// byte. (json.Marshal compacts and HTML-escapes what this returns; the bridge's
// own writer does not.)
func (e Event) MarshalJSON() ([]byte, error) { return appendEvent(nil, e) }

func appendEvent(dst []byte, e Event) ([]byte, error) {
	if e.Body == nil {
		return dst, errors.New("encode event: no body")
	}
	if u, ok := e.Body.(Unknown); ok && len(u.Raw) > 0 {
		return append(dst, u.Raw...), nil
	}
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, e.ID)
	dst = append(dst, `,"generation":`...)
	dst = strconv.AppendInt(dst, int64(e.Generation), 10)
	dst = append(dst, `,"event":`...)
	dst = appendString(dst, e.Body.eventName())
	if _, ok := e.Body.(Unknown); ok {
		return append(dst, '}'), nil
	}
	enc := encoders.Get().(*encoder)
	defer enc.release()
	if err := enc.json.Encode(present(e.Body)); err != nil {
		return dst, fmt.Errorf("encode event %s: %w", e.Body.eventName(), err)
	}
	body := bytes.TrimSpace(enc.buf.Bytes())
	if len(body) > len("{}") {
		dst = append(dst, ',')
	}
	return append(dst, body[1:]...), nil
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

// eventLine is the whole notification, with its line end.
func eventLine(e Event) ([]byte, error) {
	line := append(make([]byte, 0, 512), `{"jsonrpc":"2.0","method":"`+MethodEvent+`","params":`...)
	line, err := appendEvent(line, e)
	if err != nil {
		return nil, err
	}
	if bytes.IndexByte(line, '\n') >= 0 { // only an Unknown's own layout can hold one
		var flat bytes.Buffer
		line = append(line, '}')
		if err := json.Compact(&flat, line); err != nil {
			return nil, fmt.Errorf("encode event: %w", err)
		}
		return append(flat.Bytes(), '\n'), nil
	}
	return append(line, '}', '\n'), nil
}

// appendString appends s as a JSON string.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(s) // a string always encodes
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// encoder is a pooled JSON encoder that leaves <, > and & as they are: nothing
// here is embedded in HTML, and prose is full of them.
type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

// release gives the encoder back, unless one huge event made its buffer huge.
func (e *encoder) release() {
	if e.buf.Cap() <= 64<<10 {
		e.buf.Reset()
		encoders.Put(e)
	}
}
