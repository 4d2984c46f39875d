package jsonl

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestMembers(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want []Member
		err  string
	}{
		{in: `{}`},
		{in: " {\t}\r\n"},
		{in: `{"a":1}`, want: []Member{{"a", json.RawMessage(`1`)}}},
		{in: `{ "a" : [ {"b" : "]}"} , 2 ] , "A":"x\"," , "a" :null }`, want: []Member{
			{"a", json.RawMessage(`[ {"b" : "]}"} , 2 ]`)}, {"A", json.RawMessage(`"x\","`)}, {"a", json.RawMessage(`null`)}}},
		{in: `{"\u0061\"":-1e5,"` + "\xff" + `":true}`, want: []Member{
			{`a"`, json.RawMessage(`-1e5`)}, {"\ufffd", json.RawMessage(`true`)}}},
		{in: ``, err: "not valid JSON: the line ends too early"},
		{in: `[1]`, err: "expected a JSON object, got an array"},
		{in: ` null`, err: "expected a JSON object, got null"},
		{in: `{"a":1,"b":`, want: []Member{{"a", json.RawMessage(`1`)}}, err: "not valid JSON: the line ends too early"},
		{in: `{"a":1} {`, want: []Member{{"a", json.RawMessage(`1`)}}, err: "not valid JSON: something follows the object"},
		{in: `{"a":1,2:3}`, want: []Member{{"a", json.RawMessage(`1`)}},
			err: "not valid JSON: invalid character '2' looking for beginning of object key string"},
	} {
		data := []byte(tc.in)
		got, err := Members(data)
		clear(data) // it is the caller's again
		testkit.Same(t, tc.in, tc.want, got)
		testkit.Same(t, fmt.Sprintf("%s: error", tc.in), tc.err, errorText(err))
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzMembers compares the fields of valid objects with those that encoding/json's decoder finds.
func FuzzMembers(f *testing.F) {
	for _, s := range []string{`{"a":{"b":[1,"]",{}]},"c":"\\\"","a":0.5e-7}`, ` { "x" : true , "y":[] } `, `{"a":1}2`,
		`[{}]`, `"a"`, `{"\ud800":"é"}`, "{\"\xff\":\"\xff\"}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := Members(data)
		if !json.Valid(data) {
			testkit.Need(t, err != nil, "%q has the members %v", data, got)
			return
		}
		want, wantErr := damagedMembers(data)
		if wantErr != nil && wantErr.Error() == "not valid JSON: something follows the object" {
			wantErr = nil // it expects a fault
		}
		if diff := cmp.Diff(want, got); diff != "" || errorText(err) != errorText(wantErr) {
			t.Fatalf("%q: %v, want %v (-want +got):\n%s", data, err, wantErr, diff)
		}
		for _, m := range got {
			var want string
			fault := json.Unmarshal(m.Value, &want)
			text, err := String(m.Value)
			testkit.Need(t, m.Value[0] != '"' || err == nil && fault == nil && text == want,
				"%s is read as %q (%v), want %q (%v)", m.Value, text, err, want, fault)
		}
	})
}
