package host

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// kinds are the scratch directories by name prefix, with a description.
var kinds = []struct{ prefix, what string }{
	{"arbiter-rehearsal-", "of rehearsals whose runs are gone"},
	{"arbiter-home-", "homes of rehearsals that were killed"},
	{"arbiter-hook-", "for sockets of runs that were killed"},
	{"arbiter-doctor-", "of examinations that were killed"},
	{"arbiter-look-", "of makes that were being looked at"},
	{"arbiter-make-", "for sockets of agents of other makes whose bridge was killed"},
}

// minAge is the minimum age of a leftover directory: a younger one may belong to a run that is just starting.
const minAge = 10 * time.Minute

// LookForScratch finds directories that runs have left in places for temporary files. It skips directories that are
// in use, have a socket with a listener, are younger than settled, belong to other users, or belong to a run that
// still exists: such a run can be resumed, and its directories are removed with it.
func LookForScratch(places, used []string, uid int) []DoctorScratch {
	var found []DoctorScratch
	seen := map[string]bool{}
	for _, place := range places {
		entries, err := os.ReadDir(place)
		if err != nil || seen[place] {
			continue
		}
		seen[place] = true
		for _, e := range entries {
			path := filepath.Join(place, e.Name())
			i := slices.IndexFunc(kinds, func(k struct{ prefix, what string }) bool { return made(e.Name(), k.prefix) })
			if i < 0 || !e.IsDir() || slices.ContainsFunc(used, func(u string) bool { return within(u, path) }) {
				continue
			}
			info, err := e.Info()
			if err != nil || owner(info) != uid || time.Since(info.ModTime()) < minAge || command.InUse(path) ||
				listens(path) {
				continue
			}
			found = append(found, DoctorScratch{Path: path, What: kinds[i].what})
		}
	}
	return found
}

// made reports whether a name was generated: a prefix that Arbiter uses, followed by digits. A directory that a
// person has named similarly is left alone.
func made(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// listens reports whether a process listens on a socket directly in a directory.
func listens(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Type() == fs.ModeSocket && answers(filepath.Join(dir, e.Name()))
	})
}

func answers(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
