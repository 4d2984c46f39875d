package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// Delimiter is that of the envelopes which the corpus imitates: a run must use it to make them convincing.
const Delimiter = "k3xq7mzd2a4bnc5e"

// Case is one text that a model or a tool may produce.
type Case struct {
	Name string // of the file, without its ending: a family, a dash, and what it is
	Text string // any bytes
}

// Family returns the first word of the name.
func (c Case) Family() string {
	family, _, _ := strings.Cut(c.Name, "-")
	return family
}

// Valid returns the text as it arrives through JSON, which replaces bytes that are not UTF-8.
func (c Case) Valid() string {
	if utf8.ValidString(c.Text) {
		return c.Text
	}
	var b strings.Builder
	for _, r := range c.Text { // one replacement for each byte, not for each run of them
		b.WriteRune(r)
	}
	return b.String()
}

// Large reports whether a text is too large to be tried in all ways.
func (c Case) Large() bool { return len(c.Text) > 64<<10 }

// fewest is the minimum number of cases: a corpus that is not found would test nothing.
const fewest = 120

// ModelOutput reads the texts that models and tools may produce. root is the path of the repository.
func ModelOutput(t testing.TB, root string) []Case {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "testdata", "modeloutput", "*.txt"))
	if err != nil || len(paths) < fewest {
		t.Fatalf("%d cases, want at least %d (%v)", len(paths), fewest, err)
	}
	list := make([]Case, 0, len(paths))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list,
			Case{strings.TrimSuffix(filepath.Base(path), ".txt"), strings.ReplaceAll(string(raw), "{{}}", "")})
	}
	return list
}

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
