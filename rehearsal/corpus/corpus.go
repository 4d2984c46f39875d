// Package corpus provides the bad input in the repository, and fills values with it: what models and tools
// may produce, and what agents may try against the permission rules. It also has the command lines that
// agents use daily, which rules must allow. It is for tests. It starts git, to create the place where
// attacks are tried, and keeps no state.
package corpus

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// Delimiter is that of the envelopes which the corpus imitates: a run must use it to make them convincing.
const Delimiter = "k3xq7mzd2a4bnc5e"

// Case is one text that a model or a tool may produce.
type Case struct {
	Name string // of the file, without its ending: a family, a dash, and what it is
	Text string // any bytes
}

// Valid returns the text as it arrives through JSON, which replaces bytes that are not UTF-8.
func (c Case) Valid() string {
	return string([]rune(c.Text)) // one replacement for each byte, not for each run of them
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
	testkit.Fill(v, filler{func() int { return 1 }, func() string { return text },
		func() json.RawMessage { return Object("command", text) }, 1}.leaf)
	return v
}

// Distinct gives every field a distinct value other than the zero value, numbered from n. A sealed union must be filled
// by the caller.
func Distinct(v reflect.Value, n *int) {
	number := func() int { *n++; return *n }
	text := func() string { return fmt.Sprintf("text %d <&> \" \n \u2028 ä", number()) }
	raw := func() json.RawMessage {
		return fmt.Appendf(nil, `{"n":%d,"command":"a<b && c>d \u0026 \u2028","big":12345678901234567890}`, number())
	}
	testkit.Fill(v, filler{number, text, raw, 2}.leaf)
}

// filler has what is put into the fields of a value.
type filler struct {
	number func() int
	text   func() string
	raw    func() json.RawMessage
	items  int // of a list
}

// leaf is for [testkit.Fill].
func (f filler) leaf(v reflect.Value, field reflect.StructField) (done bool) {
	if field.Tag.Get("json") == "-" {
		return true
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text())
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(int64(f.number()))
	case reflect.Uint8, reflect.Uint64, reflect.Uint32, reflect.Uint:
		v.SetUint(uint64(f.number() % 256)) // bytes, of data in base64, have no more
	case reflect.Float64:
		v.SetFloat(float64(f.number()) / 4) // two decimals at most: a line of the contract has no more
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			return false
		}
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+int64(f.number()), 0).UTC()))
	case reflect.Slice:
		if v.Type() != reflect.TypeFor[json.RawMessage]() {
			v.Set(reflect.MakeSlice(v.Type(), f.items, f.items))
			return false
		}
		v.SetBytes(f.raw())
	default:
		return v.Kind() == reflect.Interface
	}
	return true
}

// Object returns JSON with a text as its only field.
func Object(field, text string) json.RawMessage {
	raw, err := json.Marshal(map[string]string{field: text})
	if err != nil {
		panic(err) // a string has a JSON form
	}
	return raw
}
