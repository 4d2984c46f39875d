package transcript

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzRecords: no line makes the decoder panic, and a line that is a JSON object is one record.
func FuzzRecords(f *testing.F) {
	seen := map[string]bool{}
	for _, line := range corpusLines(f) {
		records, _ := Decode(line)
		if kind := records[0].Head().Type; len(line) < 3000 && !seen[kind] {
			seen[kind] = true
			f.Add(line)
		}
	}
	for _, line := range []string{
		`{"type":"assistant","uuid":"a\u0041","message":{"id":"m","model":"x","usage":{"input_tokens":1e2,"output_tokens":-3,"cache_read_input_tokens":007}}}`,
		`{"type":"pr-link","prNu{"parentUuid":null,"type":"user","uuid":"A"}`,
		`{"type":"user","uuid":"A"}{"type":"user","uuid":"B"}`, `{"type":"x","a":"\\\\","b":[[],{}],"c":{"d":"}"}} `,
		`{"a":tru}`, `{"a":1 2}`, `{"a" "b"}`, `{"type":"user",}`, `{"type":"user","x":{]}`, "{\"type\":\"\x00\"}",
		`{"ty\u0070e":"user","isSidechain":"true","message":null,"message":[],"uuid":"\ud800"}`,
		"\ufeff{\"type\":\"user\"}", "{\"type\":\"user\",\"uuid\":\"\xff\"}", `null`, `"x"`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		given := bytes.Clone(line)
		records, whole := Decode(line)
		if !bytes.Equal(given, line) {
			t.Fatal("the line was changed")
		}
		object := len(bytes.TrimLeft(line, " \t\r\n")) > 0 && bytes.TrimLeft(line, " \t\r\n")[0] == '{'
		switch valid := json.Valid(line); {
		case valid != whole && len(bytes.Trim(line, " \t\r\n")) > 0:
			t.Fatalf("valid %v, whole %v", valid, whole)
		case valid && object != (len(records) == 1):
			t.Fatalf("object %v: %v", object, records)
		}
		for _, r := range records {
			if r.Head() == nil {
				t.Errorf("%#v", r)
			}
		}
	})
}
