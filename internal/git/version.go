package git

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of git.
type Version struct{ Major, Minor int }

// Needed is the oldest git that this program works with: it has merge-tree --write-tree.
var Needed = Version{2, 38}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Before reports whether v is older than w.
func (v Version) Before(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// OldError reports a git that is older than [Needed].
type OldError struct{ Have Version }

func (e *OldError) Error() string {
	return fmt.Sprintf("git %v is too old: install git %v or newer", e.Have, Needed)
}

// Check fails with [OldError] if git is too old.
func (r Runner) Check(ctx context.Context) error {
	text, err := r.Text(ctx, "version")
	if err != nil {
		return err
	}
	have, err := parseVersion(text)
	if err == nil && have.Before(Needed) {
		err = &OldError{have}
	}
	return err
}

// parseVersion reads "git version 2.39.5 (Apple Git-154)".
func parseVersion(text string) (Version, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "git version "), ".", 3)
	if len(parts) >= 2 {
		major, err := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(digits(parts[1]))
		if err == nil && err2 == nil {
			return Version{major, minor}, nil
		}
	}
	return Version{}, fmt.Errorf("git reports its version as %q, which cannot be read", text)
}

// digits returns the digits that s begins with.
func digits(s string) string {
	return s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
}
