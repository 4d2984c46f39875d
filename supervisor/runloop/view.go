package runloop

import (
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// FileSystem is implemented by a [Port] whose host has a file system of its own.
type FileSystem interface {
	// Files returns the home directory of that host, and a function that looks up paths there.
	Files() (home string, look policy.Lookup)
}

// view is the file system of a host, as permission rules see it.
type view struct {
	home string
	look policy.Lookup
}

// viewOf returns the file system of another host. Nothing is known about a host that never had a bridge, so
// nothing is allowed there.
func (l *Loop) viewOf(host string) view {
	if files, ok := l.views.Load(host); ok {
		home, look := files.(FileSystem).Files()
		return view{home, look}
	}
	return view{look: func([]string) ([]policy.Found, error) {
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
