package rehearsal

import (
	"fmt"
	"strings"
)

// BuiltinSource returns the text of an embedded scenario, to be read or modified.
func BuiltinSource(name string) ([]byte, error) {
	src, err := builtin.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in scenario %q: use one of %s", name,
			strings.Join(BuiltinNames(), ", "))
	}
	return src, nil
}
