package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// FollowLinks resolves an absolute path as the kernel would. Unlike filepath.EvalSymlinks it also follows links to
// names that do not exist yet: writing through such a link creates the file.
func FollowLinks(name string) (string, error) { return followMissing(name, 255) }

func followMissing(name string, links int) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil || !missing(err) {
		return real, err
	}
	dir, base := filepath.Split(strings.TrimRight(name, "/"))
	if dir, err = followMissing(dir, links); err != nil {
		return "", err
	}
	to, err := os.Readlink(filepath.Join(dir, base))
	switch {
	case err != nil || base == "..": // it is no link
		return filepath.Join(dir, base), nil
	case links == 0:
		return "", fmt.Errorf("resolve %q: too many links", name)
	case !filepath.IsAbs(to):
		to = dir + "/" + to
	}
	return followMissing(to, links-1)
}

// missing reports whether an error says that nothing has a name, or can have it.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
