package rehearsal_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/rehearsal"
)

func TestBuiltin(t *testing.T) {
	if diff := cmp.Diff([]string{"dialogue", "parallel", "small-job"}, rehearsal.BuiltinNames()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, name := range append(rehearsal.BuiltinNames(), "") {
		sc, err := rehearsal.Builtin(name)
		if err != nil {
			t.Errorf("%q: %v", name, err)
			continue
		}
		if name == "" {
			name = "small-job"
		}
		if sc.Name != name || sc.Title == "" || sc.Description == "" {
			t.Errorf("%q: name %q, title %q, description %q", name, sc.Name, sc.Title, sc.Description)
		}
		if !slices.Contains(sc.Allow(), "Bash(*)") {
			t.Errorf("%q: allow %v", name, sc.Allow())
		}
	}
	if _, err := rehearsal.Builtin("no-such"); err == nil {
		t.Error("an unknown name was accepted")
	}
}
