package contract

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFrozenEvents: how each event is written, empty and with all fields, to the byte. Scripts
// read these lines; they change only where a promise to users does.
func TestFrozenEvents(t *testing.T) {
	var events []byte
	for _, e := range samples() {
		var err error
		if events, err = EncodeLine(events, 1, someTime, e); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join("testdata", "frozen", "events.ndjson")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, events, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(bytes.Split(want, []byte("\n")), bytes.Split(events, []byte("\n"))); diff != "" {
		t.Errorf("%s (-frozen +now):\n%s", path, diff)
	}
}

// commandLines has each command with the fields it needs, and with all it can have.
var commandLines = []string{
	`{"type":"attach","id":"orch-1"}`,
	`{"type":"attach","ref":"r","id":"orch-1"}`,
	`{"type":"cancel"}`,
	`{"type":"cancel","ref":"r"}`,
	`{"type":"choose","option":"retry"}`,
	`{"type":"choose","ref":"r","option":"retry"}`,
	`{"type":"configure"}`,
	`{"type":"configure","ref":"r","id":"orch-1","model":"opus","permissions":"allow-all","allow":"Edit","ask":"Write","deny":"Bash(rm *)",` +
		`"i_accept_the_risk":true,"max_cost":5,"max_cost_per_agent":1.5,"max_cost_per_day":0}`,
	`{"type":"continue"}`,
	`{"type":"continue","ref":"r"}`,
	`{"type":"detach","id":"orch-1"}`,
	`{"type":"detach","ref":"r","id":"orch-1"}`,
	`{"type":"edit_message","message_id":"m-1","text":"t"}`,
	`{"type":"edit_message","ref":"r","message_id":"m-1","text":"t"}`,
	`{"type":"force_agent","mode":"developer"}`,
	`{"type":"force_agent","ref":"r","mode":"developer"}`,
	`{"type":"halt"}`,
	`{"type":"halt","ref":"r"}`,
	`{"type":"interrupt"}`,
	`{"type":"interrupt","ref":"r","id":"orch-1"}`,
	`{"type":"kill","id":"orch-1"}`,
	`{"type":"kill","ref":"r","id":"orch-1"}`,
	`{"type":"message","text":"t"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"note"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"steer"}`,
	`{"type":"message","ref":"r","text":"t","to":"orch-1","strength":"stop","images":["a.png"]}`,
	`{"type":"pause"}`,
	`{"type":"pause","ref":"r"}`,
	`{"type":"permission","request":"p","behavior":"deny"}`,
	`{"type":"permission","ref":"r","request":"p","behavior":"allow","scope":"always","rule":"Edit","action":"a","message":"t"}`,
	`{"type":"reset"}`,
	`{"type":"reset","ref":"r"}`,
	`{"type":"retry"}`,
	`{"type":"retry","ref":"r"}`,
	`{"type":"revert","path":"a.go"}`,
	`{"type":"revert","ref":"r","path":"a.go","seen":"0f","hunk":"-1,2 +1,3"}`,
	`{"type":"set_acceptance","criteria":[]}`,
	`{"type":"set_acceptance","ref":"r","criteria":[{"text":"a"},{"text":"b","command":"make test"},{"text":"c","by":"arbiter"}]}`,
	`{"type":"set_plan","steps":[]}`,
	`{"type":"set_plan","ref":"r","steps":[{"text":"a","status":"pending"},{"text":"b","status":"done","agent":"developer"}]}`,
	`{"type":"skip_step"}`,
	`{"type":"skip_step","ref":"r"}`,
	`{"type":"withdraw_message","message_id":"m-1"}`,
	`{"type":"withdraw_message","ref":"r","message_id":"m-1"}`,
}

// TestFrozenCommands: each of these lines is read, and written again as it was; and no command
// or field of the schema is missing among them.
func TestFrozenCommands(t *testing.T) {
	var schema struct {
		Defs map[string]struct {
			Properties map[string]any
		} `json:"$defs"`
	}
	if err := json.Unmarshal(CommandsSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, line := range commandLines {
		c := ParseCommand([]byte(line))
		if m, ok := c.Body.(Malformed); ok {
			t.Errorf("%s is refused: %s", line, m.Problem)
			continue
		}
		again, err := MarshalCommand(c)
		if err != nil || string(again) != line {
			t.Errorf("%s is written again as %s, %v", line, again, err)
		}
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			delete(schema.Defs[fields["type"].(string)].Properties, name)
		}
	}
	for command, def := range schema.Defs {
		for field := range def.Properties {
			t.Errorf("no line has %s of %s", field, command)
		}
	}
}
