package jsonl

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	got := map[string]string{}
	n := 0
	whole := Members([]byte(" {\"a\" : \"x\\\\\\\"}\" ,\"b\\u0063\":[{\"]\":1},2], \"a\":null,\"n\":-1.5e3 }\r"),
		func(key, value []byte) bool {
			got[string(key)] = string(value)
			n++
			return true
		})
	if diff := cmp.Diff(map[string]string{"a": "null", "bc": `[{"]":1},2]`, "n": "-1.5e3"}, got); !whole || n != 4 ||
		diff != "" {
		t.Errorf("%d members, whole %v (-want +got):\n%s", n, whole, diff)
	}
	for _, bad := range []string{"", "null", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":"x}`,
		`{"a":[1`, `{a:1}`, `{"a":1 "b":2}`, `{"a\`} {
		if Members([]byte(bad), func(_, _ []byte) bool { return true }) {
			t.Errorf("%q is no object", bad)
		}
	}
}

func TestElements(t *testing.T) {
	for list, want := range map[string][]string{" [ ] ": nil,
		`[1, {"a":[2]},"]" ,null]`: {"1", `{"a":[2]}`, `"]"`, "null"}} {
		var got []string
		if whole := Elements([]byte(list), func(value []byte) { got = append(got, string(value)) }); !whole ||
			!cmp.Equal(want, got) {
			t.Errorf("%s: %q, whole %v", list, got, whole)
		}
	}
	for _, bad := range []string{"", "null", "{}", "[", "[1", "[1,]", "[,1]", "[1 2]", "[1]x", `["x]`} {
		if Elements([]byte(bad), func([]byte) {}) {
			t.Errorf("%q is no list", bad)
		}
	}
}

func TestNatural(t *testing.T) {
	for raw, want := range map[string]int{"0": 0, "7": 7, "999999999999999": 999_999_999_999_999} {
		if n, ok := Natural([]byte(raw)); !ok || n != want {
			t.Errorf("%s: %d, %v", raw, n, ok)
		}
	}
	for _, other := range []string{"", "-1", "01", "1.5", "1e3", "1000000000000000", "null"} {
		if n, ok := Natural([]byte(other)); ok {
			t.Errorf("%q: %d", other, n)
		}
	}
}

// The scan must see what encoding/json sees.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { } `, `{"a":1,"b":[{}," ]\""],"c":"\\"}`, `{"a":1,}`, `{"a" 1}`,
		`{"\u0061":null}`, `{"a":1}x`, `{"":{"":""}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := map[string]string{}
		ok := Members(data, func(key, value []byte) bool {
			got[string(key)] = string(value)
			return true
		})
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) != nil || object == nil {
			return // of what is not valid it may think what it likes
		}
		want := map[string]string{}
		for k, v := range object {
			want[k] = string(v)
		}
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Fatalf("%q: %v, -want +got:\n%s", data, ok, diff)
		}
	})
}

// A string is what encoding/json reads, or none.
func FuzzString(f *testing.F) {
	for _, s := range []string{`""`, `"a\n\t\r\"\\\/\b\f"`, `"\u00e4 \ud800 ä"`, `"\`, `"\"`, `"\x"`, `"a"b"`,
		"\"\xff\\n\"", "\"\n\"", `"`, `7`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		whole := len(raw) > 1 && raw[0] == '"' && raw[len(raw)-1] == '"' && json.Unmarshal(raw, &want) == nil
		if got, err := String(raw); (err == nil) != whole || whole && got != want {
			t.Fatalf("%q: %q, %v; want %q, %v", raw, got, err, want, whole)
		}
	})
}
