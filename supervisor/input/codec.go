package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Kinds are all names under which inputs are recorded, with their types.
var Kinds = func() map[string]reflect.Type {
	kinds := map[string]reflect.Type{}
	for _, f := range []Body{
		Began{}, Resumed{}, NoBridge{}, InputEnded{}, Signal{}, Spawned{}, NotSpawned{}, TrustRecorded{},
		NotSent{}, ToolCalled{}, PermissionAsked{}, Reconsidered{}, RulesGiven{}, PermissionWithdrawn{},
		Timer{}, Stopped{}, BridgeLost{}, BridgeBack{}, BridgeFailed{}, Probed{}, Checked{}, Inspected{},
		Configured{}, SnapshotTaken{}, Reverted{}, Merged{}, Decided{}, DaySpent{}, WokeFromSleep{},
		CallDecided{}, Remembered{}, PTYOpened{}, JournalFull{}, OutputLost{}, Command{}, AgentEvent{},
	} {
		kinds[f.InputName()] = reflect.TypeOf(f)
	}
	return kinds
}()

// record is an input as the journal keeps it.
type record struct {
	At      int64           `json:"at"` // Unix time in nanoseconds
	Name    string          `json:"input"`
	By      string          `json:"by,omitempty"` // the origin
	Session string          `json:"session,omitempty"`
	Gen     int             `json:"gen,omitempty"`
	Channel string          `json:"channel,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// EncodeInput writes an input as the journal keeps it, one JSON object.
func EncodeInput(in Input) ([]byte, error) {
	if in.Body == nil {
		return nil, fmt.Errorf("encode input: no name for %T", in.Body)
	}
	name := in.Body.InputName()
	data, err := encodeData(in.Body)
	if err != nil {
		return nil, fmt.Errorf("encode input %s: %w", name, err)
	}
	// The record is written by hand: another pass over the data would double the cost.
	raw := make([]byte, 0, len(`{"at":,"input":"","by":"","session":"","gen":,"data":}`)+90+len(name)+len(data))
	raw = append(raw, `{"at":`...)
	raw = strconv.AppendInt(raw, in.At.UnixNano(), 10)
	raw = append(raw, `,"input":"`...)
	raw = append(raw, name...)
	raw = append(raw, '"')
	raw = in.From.appendTo(raw)
	if !bytes.Equal(data, []byte("{}")) {
		raw = append(raw, `,"data":`...)
		raw = append(raw, data...)
	}
	return append(raw, '}'), nil
}

func encodeData(f Body) ([]byte, error) {
	switch f := f.(type) {
	case AgentEvent:
		if _, ok := f.Event.Body.(bridge.Unknown); ok {
			return jsonl.Marshal(f.Event) // its bytes are another program's
		}
		return f.Event.MarshalJSON()
	case Command:
		return encodeCommand(f)
	}
	return jsonl.Marshal(f)
}

// command is a command as the journal keeps it: the line it came on, or what was wrong with a malformed one.
type command struct {
	Channel string           `json:"channel,omitempty"`
	Line    json.RawMessage  `json:"line,omitempty"`
	Images  []contract.Image `json:"images,omitempty"` // of a message: Say.Kept
	Ref     string           `json:"ref,omitempty"`
	Problem string           `json:"problem,omitempty"`
	Text    string           `json:"text,omitempty"`
}

func encodeCommand(f Command) ([]byte, error) {
	c := command{Channel: f.Channel}
	if m, ok := f.Command.Body.(contract.Malformed); ok {
		c.Ref, c.Problem, c.Text = f.Command.Ref, m.Problem, string(m.Raw)
		return jsonl.Marshal(c)
	}
	if say, ok := f.Command.Body.(contract.Say); ok {
		c.Images = say.Kept
	}
	line, err := contract.MarshalCommand(f.Command)
	if err != nil {
		return nil, err
	}
	fields, err := jsonl.Marshal(c)
	if err != nil {
		return nil, err
	}
	// The line is added by hand: encoding/json would read it once more, which costs as much as applying the command.
	data := make([]byte, 0, len(fields)+len(`,"line":`)+len(line))
	data = append(data, fields[:len(fields)-len("}")]...)
	if len(data) > len("{") {
		data = append(data, ',')
	}
	data = append(data, `"line":`...)
	data = append(data, line...)
	return append(data, '}'), nil
}

// DecodeInput reads what EncodeInput wrote. An input that this version does not know is an error: a history
// must not have gaps.
func DecodeInput(raw []byte) (Input, error) {
	// The data comes last. It is cut off, and decoded once its type is known: encoding/json would read it three
	// more times.
	head, data, cut := bytes.Cut(raw, []byte(`,"data":`))
	if cut {
		head = append(slices.Clip(head), '}')
	}
	var r record
	if err := json.Unmarshal(head, &r); err != nil {
		return Input{}, fmt.Errorf("decode input: %w", err)
	}
	in := Input{At: time.Unix(0, r.At), From: Origin{By: r.By, Session: r.Session, Gen: r.Gen, Channel: r.Channel}}
	switch {
	case cut:
		data = bytes.TrimSuffix(data, []byte("}"))
	case len(r.Data) > 0:
		data = r.Data
	default:
		data = []byte("{}")
	}
	fail := func(err error) (Input, error) { return Input{}, fmt.Errorf("decode input %q: %w", r.Name, err) }
	switch r.Name {
	case "agent_event":
		var e bridge.Event
		if err := e.UnmarshalJSON(data); err != nil {
			return fail(err)
		}
		in.Body = AgentEvent{Event: e}
		return in, nil
	case "command":
		var c command
		if err := json.Unmarshal(data, &c); err != nil {
			return fail(err)
		}
		in.Body = Command{Command: c.decode(), Channel: c.Channel}
		return in, nil
	}
	typ, ok := Kinds[r.Name]
	if !ok {
		return fail(fmt.Errorf("this version does not know it"))
	}
	v := reflect.New(typ)
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return fail(err)
	}
	in.Body = v.Elem().Interface().(Body)
	return in, nil
}

func (c command) decode() contract.Command {
	if c.Line == nil {
		return contract.Command{Ref: c.Ref, Body: contract.Malformed{Problem: c.Problem, Raw: json.RawMessage(c.Text)}}
	}
	read := contract.ParseCommand(c.Line)
	if say, ok := read.Body.(contract.Say); ok {
		say.Kept = c.Images
		read.Body = say
	}
	return read
}
