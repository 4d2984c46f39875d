package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// restored is a state restored from a snapshot. It must be equal: nothing may be lost, and encoding it again
// must give the same bytes.
func restored(t *testing.T, s *State) State {
	t.Helper()
	raw := testkit.Must(Snapshot{State: *s}.Encode())(t)
	snapshot := testkit.Must(decodeSnapshot(raw))(t)
	back := snapshot.State
	again := testkit.Must(Snapshot{State: back}.Encode())(t)
	if string(raw) != string(again) {
		t.Fatalf("the snapshot holds another state:\n%s", cmp.Diff(string(raw), string(again)))
	}
	return back
}

// goesOnTheSame compares a step from a restored state with the same step from the original one. Its arguments
// are the fingerprints of the states before and after.
func goesOnTheSame(t *testing.T, before string, in input.Input, after string, out []input.Effect) {
	t.Helper()
	var back State
	testkit.OK(t, json.Unmarshal([]byte(before), &back))
	if again := fingerprint(t, &back); again != before {
		t.Fatalf("the snapshot holds another state:\n%s", cmp.Diff(before, again))
	}
	next, effects := Apply(back, in)
	if got := fingerprint(t, &next); got != after {
		t.Fatalf("after a snapshot %T leads to another state:\n%s", in.Body, cmp.Diff(after, got))
	}
	if reflect.DeepEqual(out, effects) { // nearly always, and much faster than cmp
		return
	}
	if !cmp.Equal(out, effects, cmpopts.EquateEmpty(), cmp.Exporter(func(reflect.Type) bool { return true })) {
		t.Fatalf("after a snapshot %T leads to other effects:\n%+v\n%+v", in.Body, out, effects)
	}
}

// TestStateIsAllEncoded: a snapshot contains every field of the state. Types that encoding/json omits, or
// cannot restore, have a codec of their own.
func TestStateIsAllEncoded(t *testing.T) {
	seen := map[reflect.Type]bool{}
	codec := reflect.TypeFor[json.Unmarshaler]()
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		if seen[typ] || reflect.PointerTo(typ).Implements(codec) {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(typ.Elem(), path)
		case reflect.Struct:
			for i := range typ.NumField() {
				f := typ.Field(i)
				if !f.IsExported() && strings.HasPrefix(f.Name, "own") {
					continue // what one step may write to; it ends with the step
				}
				if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
					t.Errorf("%s.%s (%s) is not in a snapshot", path, f.Name, typ)
				}
				walk(f.Type, path+"."+f.Name)
			}
		case reflect.Interface, reflect.Func, reflect.Chan, reflect.Array:
			t.Errorf("%s is a %s: a snapshot does not bring it back", path, typ)
		}
	}
	walk(reflect.TypeFor[State](), "State")
	if len(seen) < 30 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

// TestFullStateRoundTrips: a state with a value in each field is equal after decoding.
func TestFullStateRoundTrips(t *testing.T) {
	var s State
	n := 0
	corpus.Distinct(reflect.ValueOf(&s).Elem(), &n)
	s.Task.History = decider.DecisionHistory{}
	at := time.Unix(1_800_000_000, 7)
	for i := range 80 {
		e := decider.DecisionExecution{
			Agent: []string{"developer", "tester"}[i%2], ID: fmt.Sprintf("orch-%d", i), Iteration: i,
			StartedAt: at, CompletedAt: at.Add(time.Duration(i) * time.Second),
			Status: decider.StatusSuccess, Output: strings.Repeat("word ", i), Files: []string{"a.go"}, Tokens: decider.Tokens{Input: i, Total: i},
			Document: &decider.DecisionDocument{Remaining: []string{"x"}, KeyContext: strings.Repeat("k", 400)},
		}
		if i%7 == 0 {
			e.Status, e.Error = decider.StatusFailure, &decider.DecisionFailure{Agent: "tester", Message: "m", At: at}
		}
		s.Task.History = s.Task.History.Add(e)
	}
	back := restored(t, &s)
	testkit.Same(t, "", s, back, cmp.Exporter(func(reflect.Type) bool { return true }))
	var e decider.DecisionExecution
	if next, same := s.Task.History.Add(e), back.Task.History.Add(e); !cmp.Equal(next, same) {
		t.Error("the history goes on otherwise")
	}
}

func TestSnapshotOfAnotherVersion(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{`{"v":0,"state":{}}`, "older"}, {fmt.Sprintf(`{"v":%d,"state":{"Options":7}}`, StateVersion+1), "newer"},
	} {
		_, err := decodeSnapshot([]byte(c.raw))
		var version *VersionError
		if !errors.As(err, &version) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.raw, err)
		}
	}
	for _, raw := range []string{"", "{}", fmt.Sprintf(`{"v":%d,"state":`, StateVersion), fmt.Sprintf(`{"v":%d,"state":{"Options":7}}`, StateVersion), "\x00\x01"} {
		if _, err := decodeSnapshot([]byte(raw)); err == nil {
			t.Errorf("%q decodes", raw)
		}
	}
}
