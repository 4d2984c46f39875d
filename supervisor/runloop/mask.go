package runloop

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// MaskIn returns v with all its strings masked; parts that contained no secret are shared with v.
func MaskIn[T any](v T, f func(string) string) T {
	x := reflect.ValueOf(&v).Elem()
	if out, changed := value(x, f); changed {
		x.Set(out)
	}
	return v
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	stringType = reflect.TypeFor[string]()
	errorType  = reflect.TypeFor[error]()
)

func value(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if s == "" {
			return v, false
		}
		if m := f(s); m != s {
			return reflect.ValueOf(m).Convert(v.Type()), true
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || v.Type() == errorType {
			return v, false
		}
		if in, ok := value(v.Elem(), f); ok {
			if v.Kind() == reflect.Interface {
				return in, true
			}
			out = reflect.New(v.Type().Elem())
			out.Elem().Set(in)
			return out, true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Field(i)
			if !field.CanInterface() { // it is not exported
				continue
			}
			in, ok := value(field, f)
			if !ok {
				continue
			}
			if !changed {
				out, changed = reflect.New(v.Type()).Elem(), true
				out.Set(v)
			}
			out.Field(i).Set(in)
		}
		if changed {
			return out, true
		}
	case reflect.Slice:
		if v.Type() == rawType {
			raw := v.Bytes()
			if m := maskJSON(raw, f); !bytes.Equal(m, raw) {
				return reflect.ValueOf(json.RawMessage(m)), true
			}
			return v, false
		}
		return list(v, f)
	case reflect.Map:
		return mapping(v, f)
	}
	return v, false
}

func list(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Struct, reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return v, false
	}
	out = v
	for i := range v.Len() {
		in, ok := value(v.Index(i), f)
		if !ok {
			continue
		}
		if !changed {
			changed = true
			out = reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(out, v)
		}
		out.Index(i).Set(in)
	}
	return out, changed
}

func mapping(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	out = v
	for each := v.MapRange(); each.Next(); {
		in, ok := value(each.Value(), f)
		if !ok && v.Type().Elem() == stringType && each.Key().Kind() == reflect.String {
			// A name may show that its value is a secret.
			pair := each.Key().String() + "=" + each.Value().String()
			if m := f(pair); m != pair {
				in, ok = reflect.ValueOf(m[min(len(m), len(each.Key().String())+1):]).Convert(v.Type().Elem()), true
			}
		}
		if !ok {
			continue
		}
		if !changed {
			changed = true
			out = reflect.MakeMapWithSize(v.Type(), v.Len())
			for again := v.MapRange(); again.Next(); {
				out.SetMapIndex(again.Key(), again.Value())
			}
		}
		out.SetMapIndex(each.Key(), in)
	}
	return out, changed
}

// maskJSON masks secrets in a JSON text. It masks the text as written, so that names identify their values.
// Before that it masks string by string, if escapes may hide letters or occur within a secret, or if masking
// the written text would make invalid JSON.
func maskJSON(raw []byte, f func(string) string) []byte {
	text := string(raw)
	if !bytes.Contains(raw, []byte(`\u`)) {
		m := f(text)
		if m == text {
			return raw
		}
		if json.Valid([]byte(m)) {
			return []byte(m)
		}
	}
	out, changed := raw, false
	each, err := jsonl.MapStrings(raw, func(s string) string {
		m := f(s)
		changed = changed || m != s
		return m
	})
	if err != nil {
		return []byte(f(text)) // it was not JSON
	}
	if changed {
		out = each
	}
	if m := []byte(f(string(out))); json.Valid(m) {
		return m
	}
	return out
}

// Pieces masks secrets in text that arrives in pieces. Text that is not followed by a space yet may be the
// beginning of a secret, and waits. It does not matter if some text still waits at the end, since the whole
// text follows. The zero value is ready for use; any goroutine may use it.
type Pieces struct {
	mu    sync.Mutex
	texts map[string]*piece // by agent
}

type piece struct {
	ref     bridge.AgentRef
	verdict bool
	context string // the end of what was reported, unmasked
	waits   string
}

const (
	pieceContext = 4 << 10 // bytes of reported text that may name, or begin, a secret
	pieceWaits   = 8 << 10
	pieceSecret  = 64 << 10 // of a secret that has not ended, such as a key of many lines
)

// Event returns the event to report in place of e; false: none.
func (p *Pieces) Event(e bridge.Event, f func(string) string) (bridge.Event, bool) {
	d, ok := e.Body.(bridge.Delta)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok {
		if ends(e.Body) {
			delete(p.texts, e.ID)
		}
		return e, true
	}
	if p.texts == nil {
		p.texts = map[string]*piece{}
	}
	t := p.texts[e.ID]
	if t == nil || t.ref != e.AgentRef || t.verdict != d.Verdict {
		t = &piece{ref: e.AgentRef, verdict: d.Verdict}
		p.texts[e.ID] = t
	}
	d.Text = t.next(d.Text, f)
	e.Body = d
	return e, d.Text != ""
}

// ends reports whether an event ends a text that came in pieces.
func ends(b bridge.EventBody) bool {
	switch b.(type) {
	case bridge.Assistant, bridge.ToolUse, bridge.Turn, bridge.Done:
		return true
	}
	return false
}

func (t *piece) next(text string, f func(string) string) string {
	t.waits += text
	n := strings.LastIndexAny(t.waits, " \t\r\n") + 1
	if n == 0 {
		if len(t.waits) < pieceWaits {
			return ""
		}
		n = t.divide(f)
	}
	fresh := t.waits[:n]
	before, all := f(t.context), t.context+fresh
	t.waits = t.waits[n:]
	shown, ok := strings.CutPrefix(f(all), before)
	if !ok { // the reported text ends with the beginning of a secret that continues
		if len(all) <= pieceSecret { // what is left out of a longer one changes nothing
			t.context = all
		}
		return ""
	}
	t.context = all
	if over := len(all) - pieceContext; over > 0 {
		t.context = strings.ToValidUTF8(all[over:], "")
	}
	return shown
}

// divide returns how much of a long text without blanks can be reported: not the beginning of a secret that the rest
// continues. If all of it may be a secret, it is masked with all of it.
func (t *piece) divide(f func(string) string) int {
	all := f(t.context + t.waits)
	for n := len(t.waits) / 2; n > 0; n /= 2 {
		for n > 0 && !utf8.RuneStart(t.waits[n]) { // down to 0 if it is no text
			n--
		}
		if n > 0 && strings.HasPrefix(all, f(t.context+t.waits[:n])) {
			return n
		}
	}
	return len(t.waits)
}

// masked returns f without secrets.
func (l *Loop) masked(f input.Body) input.Body {
	switch f.(type) {
	// the human's own, or ours
	case input.Command, input.Began, input.Resumed, input.InputEnded, input.Signal, input.Timer, input.WokeFromSleep,
		input.DaySpent:
		return f // they may come before the loop is set up
	}
	if l.Redact == nil {
		return f
	}
	switch f := f.(type) {
	case input.NoBridge:
		options := f.Options
		f = MaskIn(f, l.Redact)
		f.Options = options
		return f
	case input.Decided: // its input consists of masked text, and of the human's task
		input := f.Input
		f = MaskIn(f, l.Redact)
		f.Input = input
		return f
	case input.PermissionAsked:
		ref, request, action, rules := f.Params.AgentRef, f.Params.Request, f.Action, f.Suggestions
		f = MaskIn(f, l.Redact)
		f.Params.AgentRef, f.Params.Request, f.Action = ref, request, action // the waiting caller is found by it
		f.Suggestions = nil
		for _, rule := range rules {
			if l.Redact(rule) == rule { // with a mask in it, it would be another rule
				f.Suggestions = append(f.Suggestions, rule)
			}
		}
		return f
	case input.Reconsidered:
		unmasked := f.Resolutions
		f = MaskIn(f, l.Redact)
		for i, of := range unmasked { // the waiting callers are found by these ids
			f.Resolutions[i].Request, f.Resolutions[i].Asked = of.Request, of.Asked
		}
		return f
	case input.ToolCalled:
		ref, call := f.Params.AgentRef, f.Call
		f.Params = MaskIn(f.Params, l.Redact)
		f.Params.AgentRef, f.Call = ref, call
		return f
	case input.AgentEvent:
		ref := f.Event.AgentRef
		f.Event = MaskIn(f.Event, l.Redact)
		f.Event.AgentRef = ref
		return f
	}
	return MaskIn(f, l.Redact)
}

func (l *Loop) maskedText(s string) string {
	if l.Redact == nil {
		return s
	}
	return l.Redact(s)
}
