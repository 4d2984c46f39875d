package jsonl

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMembers(t *testing.T) {
	got := map[string]string{}
	n := 0
	whole := Members([]byte(" {\"a\" : \"x\\\\\\\"}\" ,\"b\\u0063\":[{\"]\":1},2], \"a\":null,\"n\":-1.5e3 }\r"), func(key, value []byte) bool {
		got[string(key)] = string(value)
		n++
		return true
	})
	if diff := cmp.Diff(map[string]string{"a": "null", "bc": `[{"]":1},2]`, "n": "-1.5e3"}, got); !whole || n != 4 || diff != "" {
		t.Errorf("%d members, whole %v (-want +got):\n%s", n, whole, diff)
	}
	for _, bad := range []string{"", "null", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":"x}`, `{"a":[1`, `{a:1}`, `{"a":1 "b":2}`, `{"a\`} {
		if Members([]byte(bad), func(_, _ []byte) bool { return true }) {
			t.Errorf("%q is no object", bad)
		}
	}
}

// The scan must see what encoding/json sees.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{}`, ` { } `, `{"a":1,"b":[{}," ]\""],"c":"\\"}`, `{"a":1,}`, `{"a" 1}`, `{"\u0061":null}`, `{"a":1}x`, `{"":{"":""}}`} {
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
