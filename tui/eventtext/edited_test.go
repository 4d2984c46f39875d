package eventtext

import "testing"

// TestEditedLines: lines that an edit does not change do not count.
func TestEditedLines(t *testing.T) {
	for input, want := range map[string]struct {
		tool           string
		added, removed int
	}{
		`{"content":"a\nb\n"}`: {"Write", 2, 0},
		`{"content":""}`:       {"Write", 0, 0},
		`{"old_string":"a\nb\nc","new_string":"a\nx\ny\nc"}`:                                        {"Edit", 2, 1},
		`{"old_string":"a\nb","new_string":""}`:                                                     {"Edit", 0, 2},
		`{"old_string":"","new_string":"a"}`:                                                        {"Edit", 1, 0},
		`{"old_string":1,"new_string":"a\nb"}`:                                                      {"Edit", 2, 1},
		`{"edits":[{"old_string":"a","new_string":"b\nc"},{"old_string":"x\ny","new_string":"x"}]}`: {"MultiEdit", 2, 2},
		`{"edits":7}`:        {"MultiEdit", 0, 0},
		`{"command":"a\nb"}`: {"Bash", 0, 0},
		`no JSON`:            {"Edit", 0, 0},
	} {
		if added, removed := EditedLines(want.tool, []byte(input)); added != want.added || removed != want.removed {
			t.Errorf("%s %s: +%d -%d, want +%d -%d", want.tool, input, added, removed, want.added, want.removed)
		}
	}
}
