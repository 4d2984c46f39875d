package supervisor

import (
	"encoding/json"
	"testing"
	"time"
)

// enumOf are the values that a schema allows for a field.
func enumOf(t *testing.T, schema, field string) []string {
	t.Helper()
	var s struct {
		Properties map[string]struct{ Enum []string }
	}
	if err := json.Unmarshal([]byte(schema), &s); err != nil || len(s.Properties[field].Enum) == 0 {
		t.Fatalf("the schema has no enum of %s: %v", field, err)
	}
	return s.Properties[field].Enum
}

// lastAtOf is the time of the last input that counts, from a state as text.
func lastAtOf(t *testing.T, state string) time.Time {
	t.Helper()
	var s State
	if err := json.Unmarshal([]byte(state), &s); err != nil {
		t.Fatal(err)
	}
	return s.Budget.Runtime.LastAt
}
