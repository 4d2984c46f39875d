package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// oracle reads a JSON object with encoding/json alone: names to the letter, the
// last of equal ones.
type oracle map[string]json.RawMessage

func (o oracle) text(t *testing.T, name, got string, odd *bool) {
	t.Helper()
	var want string
	if raw := o[name]; len(raw) > 0 && json.Unmarshal(raw, &want) != nil {
		*odd, want = true, ""
	}
	if got != want {
		t.Errorf("%s is %q, want %q", name, got, want)
	}
}

func (o oracle) number(t *testing.T, name string, got int, odd *bool) {
	t.Helper()
	var want int
	if raw := o[name]; len(raw) > 0 && json.Unmarshal(raw, &want) != nil {
		*odd, want = true, 0
	}
	if got != want {
		t.Errorf("%s is %d, want %d", name, got, want)
	}
}

func (o oracle) flag(t *testing.T, name string, got bool, odd *bool) {
	t.Helper()
	var want bool
	if raw := o[name]; len(raw) > 0 && json.Unmarshal(raw, &want) != nil {
		*odd, want = true, false
	}
	if got != want {
		t.Errorf("%s is %v, want %v", name, got, want)
	}
}

func (o oracle) object(name string, odd *bool) oracle {
	var inner oracle
	if raw := o[name]; len(raw) > 0 && json.Unmarshal(raw, &inner) != nil {
		*odd = true
	}
	return inner
}

// FuzzRecords: no line makes the decoder panic, and of a line that is a JSON
// object it extracts what encoding/json does.
func FuzzRecords(f *testing.F) {
	seen := map[string]bool{}
	for _, line := range corpusLines(f) {
		records, _ := decode(line)
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
		records, whole := decode(line)
		if !bytes.Equal(given, line) {
			t.Fatal("the line was changed")
		}
		if !json.Valid(line) {
			for _, r := range records {
				if r.Head() == nil {
					t.Errorf("%#v", r)
				}
			}
			return
		}
		var o oracle
		if json.Unmarshal(line, &o) != nil || o == nil {
			if len(records) != 0 || !whole {
				t.Fatalf("no object: %v, whole %v", records, whole)
			}
			return
		}
		if len(records) != 1 || !whole {
			t.Fatalf("an object: %v, whole %v", records, whole)
		}
		agree(t, o, records[0])
	})
}

func agree(t *testing.T, o oracle, rec Record) {
	t.Helper()
	odd := false
	head := rec.Head()
	o.text(t, "type", head.Type, &odd)
	o.text(t, "uuid", head.UUID, &odd)
	o.text(t, "parentUuid", head.Parent, &odd)
	o.text(t, "logicalParentUuid", head.Logical, &odd)
	o.text(t, "sessionId", head.Session, &odd)
	o.text(t, "timestamp", head.Timestamp, &odd)
	o.flag(t, "isSidechain", head.Sidechain, &odd)
	switch r := readable(rec).(type) {
	case *User:
		o.flag(t, "isMeta", r.Meta, &odd)
		o.flag(t, "isCompactSummary", r.CompactSummary, &odd)
		o.text(t, "promptSource", r.PromptSource, &odd)
		m := o.object("message", &odd)
		same(t, m["content"], r.Message.Content)
	case *Assistant:
		o.flag(t, "isApiErrorMessage", r.APIError, &odd)
		m := o.object("message", &odd)
		m.text(t, "id", r.Message.ID, &odd)
		m.text(t, "model", r.Message.Model, &odd)
		m.text(t, "stop_reason", r.Message.StopReason, &odd)
		u := m.object("usage", &odd)
		u.number(t, "input_tokens", r.Message.Usage.Input, &odd)
		u.number(t, "cache_read_input_tokens", r.Message.Usage.CacheRead, &odd)
		u.number(t, "cache_creation_input_tokens", r.Message.Usage.CacheCreation, &odd)
		u.number(t, "output_tokens", r.Message.Usage.Output, &odd)
		same(t, m["content"], r.Message.Content)
	case *System:
		o.text(t, "subtype", r.Subtype, &odd)
	case *Attachment:
		a := o.object("attachment", &odd)
		a.text(t, "source_uuid", r.SourceUUID, &odd)
		same(t, a["data"], r.Data)
	}
	if u, ok := rec.(*Other); odd && (!ok || u.Err == nil) {
		t.Errorf("a field is odd, and the record is %#v", rec)
	} else if ok && u.Err != nil && !odd && strings.Contains("type uuid parentUuid sessionId timestamp isSidechain",
		strings.Fields(u.Err.Error())[1]) {
		t.Errorf("no field is odd, and the record says %v", u.Err)
	}
}

func same(t *testing.T, want, got json.RawMessage) {
	t.Helper()
	if !bytes.Equal(want, got) {
		t.Errorf("%s, want %s", got, want)
	}
}
