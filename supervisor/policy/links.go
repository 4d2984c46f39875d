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

// FollowLinks resolves an absolute path as the kernel would, one name at a time. Unlike filepath.EvalSymlinks
// it also follows links to names that do not exist yet: writing through such a link creates the file.
func FollowLinks(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", fmt.Errorf("resolve %q: not absolute", name)
	}
	at := "/"
	rest := strings.Split(name, "/")
	for links := 0; len(rest) > 0; {
		seg := rest[0]
		rest = rest[1:]
		next := filepath.Join(at, seg)
		if seg == "" || seg == "." || seg == ".." {
			at = next
			continue
		}
		info, err := os.Lstat(next)
		if err != nil && !missing(err) {
			return "", fmt.Errorf("resolve %q: %w", name, err)
		}
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > 255 {
			return "", fmt.Errorf("resolve %q: too many links, or one that cannot be read (%v)", name, err)
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	return at, nil
}

// missing reports whether an error says that nothing has a name, or can have it.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}
