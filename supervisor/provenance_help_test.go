package supervisor

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// enumOf are the values that a schema allows for a field: its description says what each of them is.
func enumOf(t *testing.T, schema, field string) (names []string) {
	t.Helper()
	var s struct {
		Properties map[string]struct{ Description string }
	}
	err := json.Unmarshal([]byte(schema), &s)
	_, list, found := strings.Cut(s.Properties[field].Description, "One of:")
	if err != nil || !found {
		t.Fatalf("the schema does not list the values of %s: %v", field, err)
	}
	for _, m := range regexp.MustCompile(` (\w+): `).FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
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
