package supervisor

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Redact sets what masks secrets in what agents, tools and processes tell. It is applied
// before a fact gets into the loop, so that neither the journal nor a face nor another
// agent ever has them, and after the rules have decided on the exact input, which the
// fact then names by its hash. What the human says is kept as he typed it: it has to be
// delivered. It must be safe for concurrent use, and be called before [Loop.Run].
func (l *Loop) Redact(f func(string) string) { l.redact = f }

// masked is f without secrets.
func (l *Loop) masked(f Fact) Fact {
	switch f.(type) {
	case Commanded, Began, Resumed, InputEnded, Signalled, Rang, Woke: // the human's own, or ours
		return f // they may come before the loop is furnished
	}
	if l.redact == nil {
		return f
	}
	switch f := f.(type) {
	case NoBridge:
		options := f.Options
		f = maskedIn(f, l.redact)
		f.Options = options
		return f
	case Decided: // its input is made of what was masked, and of the human's task
		input := f.Input
		f = maskedIn(f, l.redact)
		f.Input = input
		return f
	case PermissionAsked:
		ref, request, action, rules := f.Params.AgentRef, f.Params.Request, f.Action, f.Suggestions
		f = maskedIn(f, l.redact)
		f.Params.AgentRef, f.Params.Request, f.Action = ref, request, action // who waits is found by it
		f.Suggestions = nil
		for _, rule := range rules {
			if l.redact(rule) == rule { // with a mark in it, it would be another rule
				f.Suggestions = append(f.Suggestions, rule)
			}
		}
		return f
	case ToolCalled:
		ref, call := f.Params.AgentRef, f.Call
		f.Params = maskedIn(f.Params, l.redact)
		f.Params.AgentRef, f.Call = ref, call
		return f
	case Happened:
		ref := f.Event.AgentRef
		f.Event = maskedIn(f.Event, l.redact)
		f.Event.AgentRef = ref
		return f
	}
	return maskedIn(f, l.redact)
}

// maskedIn is v with all its strings masked; what had none is shared with v.
func maskedIn[T any](v T, f func(string) string) T {
	x := reflect.ValueOf(&v).Elem()
	if out, changed := maskedValue(x, f); changed {
		x.Set(out)
	}
	return v
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	stringType = reflect.TypeFor[string]()
	errorType  = reflect.TypeFor[error]()
)

func maskedValue(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		if m := f(s); m != s {
			return reflect.ValueOf(m).Convert(v.Type()), true
		}
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() || v.Type() == errorType {
			return v, false
		}
		if in, ok := maskedValue(v.Elem(), f); ok {
			if v.Kind() == reflect.Interface {
				return in, true
			}
			out = reflect.New(v.Type().Elem())
			out.Elem().Set(in)
			return out, true
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			in, ok := maskedValue(v.Field(i), f)
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
			if m := maskedJSON(raw, f); !bytes.Equal(m, raw) {
				return reflect.ValueOf(json.RawMessage(m)), true
			}
			return v, false
		}
		return maskedList(v, f)
	case reflect.Map:
		return maskedMap(v, f)
	}
	return v, false
}

func maskedList(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Struct, reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Map:
	default:
		return v, false
	}
	out = v
	for i := range v.Len() {
		in, ok := maskedValue(v.Index(i), f)
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

func maskedMap(v reflect.Value, f func(string) string) (out reflect.Value, changed bool) {
	out = v
	for each := v.MapRange(); each.Next(); {
		in, ok := maskedValue(each.Value(), f)
		if !ok && v.Type().Elem() == stringType && each.Key().Kind() == reflect.String {
			// A name may say that its value is a secret.
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

// maskedJSON masks what is in a JSON text. As it is written, so that names tell of their
// values; before that string by string, where escapes may hide letters or stand within a
// secret, and where the text as it is written would be no JSON any more.
func maskedJSON(raw []byte, f func(string) string) []byte {
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
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return []byte(f(text)) // it was none
	}
	out := raw
	if each, changed := maskedStrings(v, f); changed {
		var err error
		if out, err = marshal(each); err != nil {
			return []byte(`"` + maskedWhole + `"`)
		}
	}
	if m := []byte(f(string(out))); json.Valid(m) {
		return m
	}
	return out
}

const (
	maskStart   = "*redacted:"
	maskedWhole = "*redacted*"
)

func (l *Loop) maskedText(s string) string {
	if l.redact == nil {
		return s
	}
	return l.redact(s)
}

// maskedStrings masks the strings of what a JSON text holds, as they are without escapes.
func maskedStrings(v any, f func(string) string) (out any, changed bool) {
	switch v := v.(type) {
	case string:
		m := f(v)
		return m, m != v
	case []any:
		for i := range v {
			var one bool
			v[i], one = maskedStrings(v[i], f)
			changed = changed || one
		}
	case map[string]any:
		for name, value := range v {
			m, one := maskedStrings(value, f)
			key := f(name)
			if key != name {
				delete(v, name)
			}
			v[key] = m
			changed = changed || one || key != name
		}
	}
	return v, changed
}

// action is the hash of the exact action that is asked for. Older journals hold the
// input as it was, which has the same.
func (f PermissionAsked) action() string {
	if f.Action != "" {
		return f.Action
	}
	return actionKey(f.Params)
}

func (p Permit) action() string {
	if p.Action != "" {
		return p.Action
	}
	return actionKey(p.Params)
}
