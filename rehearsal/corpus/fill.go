package corpus

import (
	"encoding/json"
	"reflect"
	"time"
)

// Filled returns a value of a type with a text in each place that can hold one, whatever the purpose of the
// field. Other places get something small; interfaces are nil.
func Filled(t reflect.Type, text string) reflect.Value {
	v := reflect.New(t).Elem()
	fill(v, text, 0)
	return v
}

const deepest = 12 // types may be recursive

func fill(v reflect.Value, text string, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(depth + 1))
	case reflect.Uint8, reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.SetUint(uint64(depth + 1))
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1_800_000_000, 0).UTC()))
			return
		}
		for i := range v.NumField() {
			if v.Field(i).CanSet() && v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), text, depth+1)
			}
		}
	case reflect.Slice:
		switch {
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			v.SetBytes(Object("command", text))
		case depth < deepest:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), text, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key, text, depth+1)
		fill(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Pointer:
		if depth < deepest {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), text, depth+1)
		}
	case reflect.Interface:
	default:
		panic("corpus: a field of kind " + v.Kind().String())
	}
}

// Object returns JSON with a text as its only field.
func Object(field, text string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{field: text})
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return raw
}
