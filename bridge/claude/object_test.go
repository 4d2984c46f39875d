package claude

import (
	"encoding/json"
	"testing"
)

func TestSplit(t *testing.T) {
	obj, err := split([]byte(" {\"a\" : \"x\\\\\\\"}\" ,\"b\\u0063\":[{\"]\":1},2], \"a\":null,\"n\":-1.5e3 }\r"))
	if err != nil || len(obj) != 4 || string(obj.get("bc")) != `[{"]":1},2]` || string(obj.get("n")) != "-1.5e3" || string(obj.get("a")) != "null" {
		t.Errorf("got %q, %v", obj, err)
	}
	for _, bad := range []string{"", "null", "[]", "{", `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{"a":"x}`, `{"a":[1}`[:7], `{a:1}`, `{"a":1 "b":2}`, `{"a\`} {
		if obj, err := split([]byte(bad)); err == nil {
			t.Errorf("%q was read as %q", bad, obj)
		}
	}
}

// What is JSON is read as encoding/json reads it.
func FuzzSplit(f *testing.F) {
	f.Add(`{"a":"b\"","c":[{}],"d":{"e":"]"}}`)
	f.Add(`{"\ud800":1," ":true}`)
	f.Fuzz(func(t *testing.T, in string) {
		obj, err := split([]byte(in))
		var want map[string]json.RawMessage
		if json.Unmarshal([]byte(in), &want) != nil || want == nil {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", in, err)
		}
		for key, value := range want {
			if got := obj.get(key); string(got) != string(value) {
				t.Errorf("%q: member %q is %q, want %q", in, key, got, value)
			}
		}
		for _, m := range obj {
			if _, ok := want[m.key]; !ok {
				t.Errorf("%q: member %q is not there", in, m.key)
			}
		}
	})
}
