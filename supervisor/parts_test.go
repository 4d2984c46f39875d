package supervisor

import (
	"reflect"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// maxFields is how many fields a part of the state may have. A part that needs more has more than one subject.
const maxFields = 12

// TestPartsAreSmall: State and Agent consist of parts, embedded or called a State, and each part is small enough to
// understand at a glance.
func TestPartsAreSmall(t *testing.T) {
	for _, whole := range []reflect.Type{reflect.TypeFor[State](), reflect.TypeFor[Agent]()} {
		if n := whole.NumField(); n > maxFields {
			t.Errorf("%s has %d fields, at most %d are allowed", whole.Name(), n, maxFields)
		}
		for part := range whole.Fields() {
			switch n := part.Type.NumField(); {
			case part.Type == reflect.TypeFor[runconfig.Options]():
			case !part.Anonymous && part.Type.PkgPath() == whole.PkgPath() && !strings.HasSuffix(part.Type.Name(), "State"):
				t.Errorf("%s.%s belongs into a part", whole.Name(), part.Name)
			case n > maxFields:
				t.Errorf("%s has %d fields, at most %d are allowed", part.Name, n, maxFields)
			}
		}
	}
}
