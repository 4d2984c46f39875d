package standin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemaComplaints(t *testing.T) {
	const text = `{"type":"object","required":["kind","message"],"additionalProperties":false,"properties":{
		"message":{"type":"string","minLength":2,"pattern":"^[a-z]+$"},
		"kind":{"type":"string","enum":["a","b"]},
		"n":{"type":["integer","null"],"minimum":1,"maximum":3},
		"ok":{"const":true},
		"items":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object","required":["x"]}},
		"map":{"type":"object","additionalProperties":{"type":"number"}}}}`
	s, err := parseSchema(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		value string
		want  []string
	}{
		{`{"kind":"a","message":"hello","n":null,"ok":true,"items":[{"x":1}],"map":{"y":1.5}}`, nil},
		{`{"kind":"a","message":"hi","n":2.0}`, nil},
		{`[]`, []string{"root: must be object"}},
		{`{}`, []string{"root: must have required property 'kind'", "root: must have required property 'message'"}},
		{`{"kind":5,"message":"hi","z":1,"b":2}`, []string{
			"root: must NOT have additional properties ('b' is not allowed)", "root: must NOT have additional properties ('z' is not allowed)",
			"/kind: must be string", `/kind: must be equal to one of the allowed values: ["a","b"]`}},
		{`{"kind":"a","message":"A"}`, []string{"/message: must NOT have fewer than 2 characters", `/message: must match pattern "^[a-z]+$"`}},
		{`{"kind":"a","message":"hi","n":1.5}`, []string{"/n: must be integer,null"}},
		{`{"kind":"a","message":"hi","n":4}`, []string{"/n: must be <= 3"}},
		{`{"kind":"a","message":"hi","ok":false}`, []string{"/ok: must be equal to constant"}},
		{`{"kind":"a","message":"hi","items":[{"x":1},{},3]}`, []string{"/items: must NOT have more than 2 items",
			"/items/1: must have required property 'x'", "/items/2: must be object"}},
		{`{"kind":"a","message":"hi","map":{"y":"no"}}`, []string{"/map/y: must be number"}},
	}
	for _, tt := range tests {
		var v any
		if err := json.Unmarshal([]byte(tt.value), &v); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, s.complaints("", v)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.value, diff)
		}
	}
	for _, bad := range []string{`{"type":5}`, `{"type":"text"}`, `{"properties":[]}`, `{"properties":{"a":{"type":7}}}`, `"x"`} {
		if _, err := parseSchema(json.RawMessage(bad)); err == nil {
			t.Errorf("parseSchema(%s) accepts it", bad)
		}
	}
}
