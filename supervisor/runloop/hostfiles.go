package runloop

import (
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
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

// FileSystem is implemented by a [Port] whose host has a file system of its own.
type FileSystem interface {
	// Files returns the home directory of that host, and a function that looks up paths there.
	Files() (home string, look Lookup)
}

// view is the file system of a host, as permission rules see it.
type view struct {
	home string
	look Lookup
}

// viewOf returns the file system of another host. Nothing is known about a host that never had a bridge, so
// nothing is allowed there.
func (l *Loop) viewOf(host string) view {
	if files, ok := l.views.Load(host); ok {
		home, look := files.(FileSystem).Files()
		return view{home, look}
	}
	return view{look: func([]string) ([]Found, error) {
		return nil, fmt.Errorf("nothing is known of the files of host %s", host)
	}}
}

// resolve follows the links of one path.
func (v view) resolve(path string) (string, error) {
	found, err := v.look([]string{path})
	switch {
	case err != nil:
		return "", err
	case len(found) != 1:
		return "", errors.New("the host has not answered what it was asked")
	}
	return found[0].Path, found[0].Err
}

// maxLookups bounds the requests of one decision. Each result may lead to further paths, such as a link in a rule.
const maxLookups = 8

// decide checks a request against rules about the host's files: again, until all paths that it needs are known. A
// host that does not answer means that a human is asked.
func (v view) decide(p policy.Policy, r policy.Request) policy.Decision {
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
		d := p.Decide(r)
		if len(missing) == 0 {
			return d
		}
		found, failed := v.look(missing)
		if failed != nil || len(found) != len(missing) {
			err = fmt.Errorf("%d paths of %d were checked (%v)", len(found), len(missing), failed)
			break
		}
		for i, path := range missing {
			known[path] = found[i]
		}
	}
	return policy.Decision{Behavior: bridge.Ask, By: policy.ByRule,
		Reason: "the host's files could not be checked against the rules: " + err.Error()}
}
