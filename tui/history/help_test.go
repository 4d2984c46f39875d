package history

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// bodies has every event, and Unknown for events of a later version.
var bodies = append(contract.Events(), contract.Unknown{})

// fill sets every field; text makes the strings, given the name of the field.
func fill(v reflect.Value, name string, text func(name string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text(name))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1234567890123)
	case reflect.Float64:
		v.SetFloat(12.5)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), v.Type().Field(i).Name, text)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name, text)
	case reflect.Slice:
		if v.Type() == rawMessage {
			v.SetBytes(json.RawMessage(`{"a":"` + "\x1b[31m" + `\u001b"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(v.Index(i), name, text)
		}
	default:
		panic("an event has a field of kind " + v.Kind().String() + ", which is not kept")
	}
}

func filled(b contract.Body, text func(name string) string) contract.Body {
	v := reflect.New(reflect.TypeOf(b)).Elem()
	fill(v, "", text)
	return v.Interface().(contract.Body)
}

var someTime = time.Date(2026, 11, 21, 4, 5, 6, 789_654_321, time.UTC)

func open(t testing.TB, o Options) *Store {
	t.Helper()
	c, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// addAll adds events of one agent, one second apart.
func addAll(c *Store, id string, all ...contract.Body) {
	for _, b := range all {
		c.Add(someTime.Add(time.Duration(c.len())*time.Second), contract.Event{ID: id, Body: b})
	}
}

// shape returns a thread in short form.
func shape(t testing.TB, th *Thread) (all []string) {
	t.Helper()
	for i := range th.Len() {
		e, ok := th.Entry(i)
		if !ok {
			all = append(all, fmt.Sprint(e.N, " lost"))
			continue
		}
		s := fmt.Sprint(e.N, " ", e.Event.ID, " ", e.Event.Body.EventName())
		if e.Outcome != nil {
			s += " > " + e.Outcome.Body.EventName()
		}
		all = append(all, s)
	}
	return all
}
