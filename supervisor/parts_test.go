package supervisor

import (
	"reflect"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// maxFields is how many fields a part of the state may have. One that needs more is about
// more than one thing.
const maxFields = 12

// TestPartsAreSmall: State and Agent consist of parts, embedded or of packages of their own, and
// each of them can be taken in at a glance.
func TestPartsAreSmall(t *testing.T) {
	for _, whole := range []reflect.Type{reflect.TypeFor[State](), reflect.TypeFor[roster.Agent]()} {
		if n := whole.NumField(); n > maxFields {
			t.Errorf("%s has %d fields, at most %d are allowed", whole.Name(), n, maxFields)
		}
		for part := range whole.Fields() {
			switch n := part.Type.NumField(); {
			case part.Type == reflect.TypeFor[runconfig.Options]():
			case !part.Anonymous && part.Type.PkgPath() == whole.PkgPath():
				t.Errorf("%s.%s belongs into a part", whole.Name(), part.Name)
			case n > maxFields:
				t.Errorf("%s has %d fields, at most %d are allowed", part.Name, n, maxFields)
			}
		}
	}
}
