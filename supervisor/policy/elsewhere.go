package policy

import (
	"errors"
	"fmt"
)

// Found is a path with every symbolic link followed, or why they cannot be followed. What does not exist stays as
// it is.
type Found struct {
	Path string
	Err  error
}

// Lookup follows the links of paths of another file system, all in one request. It returns an entry for each, in
// order. An error says that nothing is known about any of them.
type Lookup func(paths []string) ([]Found, error)

// maxLookups bounds the requests of one decision. Each result may lead to further paths, such as a link in a rule.
const maxLookups = 8

// elsewhere decides by p.Look: it decides again until all paths that it needs are known.
func (p Policy) elsewhere(r Request) Decision {
	known := map[string]Found{}
	err := errors.New("they lead from one to the next without end")
	for range maxLookups {
		var missing []string
		p.Resolve = func(path string) (string, error) {
			if found, ok := known[path]; ok {
				return found.Path, found.Err
			}
			missing = append(missing, path)
			return "", errors.New("not looked at yet")
		}
		d := p.decide(r)
		if len(missing) == 0 {
			return d
		}
		found, failed := p.Look(missing)
		if failed != nil || len(found) != len(missing) {
			err = fmt.Errorf("%d paths of %d were checked (%v)", len(found), len(missing), failed)
			break
		}
		for i, path := range missing {
			known[path] = found[i]
		}
	}
	return Decision{Ask, ByRule, "", "the host's files could not be checked against the rules: " + err.Error()}
}
