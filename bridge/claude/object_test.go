package claude

import "testing"

// Names are compared exactly, and of a repeated name the last value counts, as in the CLI.
func TestObjectGet(t *testing.T) {
	obj, err := split([]byte(`{"is_error":true,"a":1,"Is_Error":false,"a":2}`))
	if err != nil || string(obj["is_error"]) != "true" || string(obj["a"]) != "2" || obj["A"] != nil {
		t.Errorf("%s, %v", obj, err)
	}
}
