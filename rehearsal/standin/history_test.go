package standin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Results of an answer's first tools can be recorded before its last blocks.
func TestHistoryBringsAnAnswerTogether(t *testing.T) {
	h := &history{}
	add := func(role, id, text string) {
		h.add(entry{role: role, id: id, blocks: []json.RawMessage{textBlock(text)}})
	}
	add("user", "", "one")
	add("system", "", "env")
	add("assistant", "m1", "call 1")
	add("user", "", "result 1")
	add("assistant", "m1", "call 2")
	add("user", "", "result 2")
	add("system", "", "note")
	add("assistant", "m2", "done")
	add("user", "", "two")
	add("user", "", "three")

	var got [][]string
	for _, m := range h.messages() {
		row := []string{m.Role}
		for _, b := range m.Content {
			row = append(row, message{blocks: []json.RawMessage{b}}.text())
		}
		got = append(got, row)
	}
	want := [][]string{
		{"user", firstReminder, "one"}, {"system", "env"}, {"assistant", "call 1", "call 2"},
		{"user", "result 1", "result 2"}, {"system", "note"}, {"assistant", "done"}, {"user", "two", "three"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
