package claude

import "testing"

// Names count as they are written, and of one that stands twice the last, as with the CLI.
func TestObjectGet(t *testing.T) {
	obj, err := split([]byte(`{"is_error":true,"a":1,"Is_Error":false,"a":2}`))
	if err != nil || string(obj["is_error"]) != "true" || string(obj["a"]) != "2" || obj["A"] != nil {
		t.Errorf("%s, %v", obj, err)
	}
}
