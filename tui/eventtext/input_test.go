package eventtext

import "testing"

// TestMembers: the input of a request is shown member by member only if its meaning cannot differ from what
// is shown.
func TestMembers(t *testing.T) {
	for raw, want := range map[string]bool{
		`{}`: true, ` {"a":{"b":[1]}} `: true, `{"command":"ls","description":"x"}`: true,
		`{"command":"ls","command":"rm"}`: false, `{"command":"ls","comm\u0061nd":"rm"}`: false,
		`{"a":1}x`: false, `{"a" 1}`: false, `{"a":1,}`: false, `[1]`: false, `{"a":"`: false, ``: false,
	} {
		if list, sound := Members([]byte(raw)); sound != want || !want && list != nil {
			t.Errorf("%s: %v, %d members", raw, sound, len(list))
		}
	}
}
