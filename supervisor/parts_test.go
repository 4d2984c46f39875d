package supervisor

import (
	"reflect"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// maxFields is how many fields a part of the state may have. A part that needs more has more than one subject.
const maxFields = 12

// TestPartsAreSmall: State and Agent consist of parts, embedded or from other packages, and each part is small
// enough to understand at a glance.
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
