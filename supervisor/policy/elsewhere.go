package policy

import (
	"errors"
	"fmt"
	"slices"
)

// Lookup looks up paths of another file system, all in one request. It returns an entry for each, in order. An
// error says that nothing is known about any of them.
type Lookup func(paths []string) ([]Found, error)

// maxLookups bounds the requests of one decision. Each result may lead to further paths, such as a link in a rule.
const maxLookups = 8

var errUnknown = errors.New("not looked at yet")

// elsewhere decides by p.Look: it decides again until all paths that it needs are known.
func (p Policy) elsewhere(r Request) Decision {
	known, missing := map[string]Found{}, []string{}
	p.Resolve = func(path string) (string, error) {
		found, ok := known[path]
		if !ok {
			missing = append(missing, path)
			return "", errUnknown
		}
		return found.Path, found.Err
	}
	err := errors.New("they lead from one to the next without end")
	for range maxLookups {
		d := p.decide(r)
		if len(missing) == 0 {
			return d
		}
		slices.Sort(missing)
		paths := slices.Compact(missing)
		found, failed := p.Look(paths)
		if failed != nil || len(found) != len(paths) {
			err = fmt.Errorf("%d paths of %d were checked (%v)", len(found), len(paths), failed)
			break
		}
		for i, path := range paths {
			known[path] = found[i]
		}
		missing = nil
	}
	return Decision{Ask, ByRule, "", "the host's files could not be checked against the rules: " + err.Error()}
}
