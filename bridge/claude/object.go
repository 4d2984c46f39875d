package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// object is a JSON object split into its members, with undecoded values. Keys are case-sensitive:
// encoding/json ignores case when it fills structs, so that a later "Is_Error" would overwrite "is_error",
// and decisions must not depend on that. If a key is repeated, the last value counts.
type object map[string]json.RawMessage

var errNoObject = errors.New("not a JSON object")

func split(data []byte) (object, error) {
	members, err := jsonl.Members(data)
	if err != nil {
		return nil, errNoObject
	}
	obj := make(object, len(members))
	for _, m := range members {
		obj[m.Key] = m.Value
	}
	return obj, nil
}

// fieldReader reads known fields of an object and keeps the first error: if a known field has a wrong type,
// the whole frame counts as unreadable; an absent field is not an error. A field is named by its path: a.b is
// the member b of the object a.
type fieldReader struct {
	obj   object
	inner map[string]object // by path
	err   error
}

func (r *fieldReader) fail(path string, err error) {
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("field %s: %w", path, err)
	}
}

// raw returns a field's value, nil if it is absent or null.
func (r *fieldReader) raw(path string) json.RawMessage {
	obj, name := r.obj, path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		name = path[dot+1:]
		obj = r.object(path[:dot])
	}
	if raw := obj[name]; !jsonl.IsNull(raw) {
		return raw
	}
	return nil
}

// object returns a nested object, nil if it is absent or null.
func (r *fieldReader) object(path string) object {
	obj, known := r.inner[path]
	if !known {
		r.into(path, &obj)
		if r.inner == nil {
			r.inner = map[string]object{}
		}
		r.inner[path] = obj
	}
	return obj
}

// into decodes a field; absent and null leave dst as it is.
func (r *fieldReader) into(path string, dst any) {
	if raw := r.raw(path); raw != nil {
		r.fail(path, set(raw, reflect.ValueOf(dst).Elem()))
	}
}

func (r *fieldReader) str(path string) (s string) {
	r.into(path, &s)
	return s
}

// fill sets the fields of a struct: the tag `wire` has a field's path, or else `json` its name.
func (r *fieldReader) fill(v reflect.Value) {
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		path := tag.Get("wire")
		if path == "" {
			path, _, _ = strings.Cut(tag.Get("json"), ",")
		}
		if raw := r.raw(path); raw != nil {
			r.fail(path, set(raw, v.Field(i)))
		}
	}
}

// set decodes a value that is not null. Counters may have a fraction.
func set(raw json.RawMessage, v reflect.Value) (err error) {
	if obj, ok := v.Addr().Interface().(*object); ok {
		*obj, err = split(raw)
		return err
	}
	switch v.Kind() {
	case reflect.String:
		s, err := jsonl.String(raw)
		v.SetString(s)
		return err
	case reflect.Int, reflect.Int64, reflect.Float64:
		n, err := strconv.ParseFloat(string(raw), 64) // it accepts more than JSON does, but raw is valid JSON
		if err != nil {
			return fmt.Errorf("not a number: %.40q", raw)
		}
		v.Set(reflect.ValueOf(n).Convert(v.Type()))
		return nil
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return set(raw, v.Elem())
	case reflect.Struct:
		r := &fieldReader{}
		if r.obj, r.err = split(raw); r.err == nil {
			r.fill(v)
		}
		return r.err
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Struct {
			break
		}
		var items []json.RawMessage
		err := json.Unmarshal(raw, &items)
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			if err == nil && !jsonl.IsNull(item) {
				err = set(item, v.Index(i))
			}
		}
		return err
	}
	return json.Unmarshal(raw, v.Addr().Interface())
}
