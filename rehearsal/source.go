package rehearsal

import (
	"fmt"
	"strings"
)

// BuiltinSource returns the text of an embedded scenario, to be read or to be
// changed into another.
func BuiltinSource(name string) ([]byte, error) {
	src, err := builtin.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("no built-in scenario %q: there are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	return src, nil
}
