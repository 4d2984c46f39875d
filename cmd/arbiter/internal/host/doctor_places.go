package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Thresholds for findings.
const (
	littleFree = 1 << 30  // bytes: for a run's journal, transcripts and a build
	noFree     = 32 << 20 // with less, a run soon fails
	slowSync   = time.Second
)

func checkPlaces(s Surroundings) []Finding {
	l := list{area: AreaPlaces}
	l.state(s)
	l.other("configuration", s.Config)
	l.other("sessions", s.Sessions)
	l.other("temporary", s.Temp)
	l.workspace(s)
	return l.all
}

// state checks the state directory, without which no run can start.
func (l *list) state(s Surroundings) {
	const name = "state"
	p := s.State
	at := words.Quote(p.Path)
	switch {
	case p.Problem != "":
		l.add(name, DoctorFail, p.Problem, `export ARBITER_STATE_DIR=/var/tmp/arbiter-"$(id -un)"`)
	case p.Link:
		l.add(name, DoctorFail, p.Path+" is a symbolic link, which is refused", "export ARBITER_STATE_DIR=\"$(readlink -f "+
			at+")\"")
	case p.Exists && p.Owner != s.UID:
		l.add(name, DoctorFail, fmt.Sprintf("%s belongs to another user (%d), and is refused", p.Path, p.Owner),
			"sudo chown -R \"$(id -u)\" "+at)
	case p.Exists && p.Mode&0o700 != 0o700:
		l.add(name, DoctorFail, fmt.Sprintf("%s has mode %04o: you cannot use it yourself", p.Path, p.Mode), "chmod 700 "+at)
	case p.Written != "":
		l.add(name, DoctorFail, p.Written, "export ARBITER_STATE_DIR=/var/tmp/arbiter-\"$(id -un)\"")
	case p.Free >= 0 && p.Free < noFree:
		l.add(name, DoctorFail, p.Path+" has only "+words.Size(p.Free)+" left", "arbiter sessions"+s.Leftovers.Named)
	case p.Exists && p.Mode&0o077 != 0:
		l.add(name, DoctorWarn, fmt.Sprintf("%s has mode %04o: others can read it until the next run", p.Path, p.Mode),
			"chmod 700 "+at)
	case p.Network != "":
		l.add(name, DoctorWarn, fmt.Sprintf("%s is on a network (%s), where locks and fsync may not work", p.Path, p.Network),
			`export ARBITER_STATE_DIR=/var/tmp/arbiter-"$(id -un)"`)
	case p.Free >= 0 && p.Free < littleFree:
		l.add(name, DoctorWarn, p.Path+" has "+words.Size(p.Free)+" left", "arbiter sessions"+s.Leftovers.Named)
	case p.Synced > slowSync:
		l.add(name, DoctorWarn, fmt.Sprintf("%s takes %s to sync a line, and arbiter waits for each", p.Path,
			p.Synced.Round(time.Millisecond)), "")
	case !p.Exists:
		l.add(name, DoctorOK, p.Path+", which the first run creates"+p.freeSpace(), "")
	default:
		l.add(name, DoctorOK, p.Path+p.freeSpace(), "")
	}
}

// other checks directories that a run can start without.
func (l *list) other(name string, p DoctorPlace) {
	at := words.Quote(p.Path)
	switch {
	case p.Problem != "":
		l.add(name, DoctorWarn, p.Problem, "")
	case p.Written != "":
		l.add(name, DoctorWarn, p.Written, "ls -ld "+at)
	case p.Free >= 0 && p.Free < noFree:
		l.add(name, DoctorWarn, p.Path+" has only "+words.Size(p.Free)+" left", "df -h "+at)
	case name == "configuration" && p.Exists && p.Mode&0o022 != 0:
		l.add(name, DoctorWarn, fmt.Sprintf("%s has mode %04o: others can change your settings", p.Path, p.Mode),
			"chmod go-w "+at)
	case !p.Exists:
		l.add(name, DoctorOK, p.Path+", which does not exist yet", "")
	default:
		l.add(name, DoctorOK, p.Path+p.freeSpace(), "")
	}
}

func (l *list) workspace(s Surroundings) {
	w := s.Workspace
	at := words.Quote(w.Path)
	switch {
	case w.Problem != "":
		l.add("workspace", DoctorFail, w.Problem, "mkdir -p ~/project && cd ~/project")
		return
	case w.Home:
		l.add("workspace", DoctorWarn, w.Path+" holds all that you have: let agents work in one project",
			"mkdir -p ~/project && cd ~/project")
	case w.Written != "":
		l.add("workspace", DoctorWarn, w.Written, "ls -ld "+at)
	case !w.Repository:
		l.add("workspace", DoctorNote, w.Path+" is in no git repository: what agents change there cannot be reverted",
			"git init "+at)
	default:
		l.add("workspace", DoctorOK, w.Path+", in a git repository"+w.freeSpace(), "")
	}
	switch {
	case w.Changed != "":
		l.add("trust", DoctorWarn, w.Changed, "arbiter trust")
	case w.Trust != "":
		l.add("trust", DoctorOK, w.Trust, "")
	case w.Holds != "":
		l.add("trust", DoctorNote, "not trusted, and not loaded: "+w.Holds, "arbiter trust")
	default:
		l.add("trust", DoctorOK, "nothing there needs trust", "")
	}
}

func (p DoctorPlace) freeSpace() string {
	if p.Free < 0 {
		return ""
	}
	return ", " + words.Size(p.Free) + " free"
}

// LookAt inspects a directory. If it does not exist, LookAt inspects the nearest existing directory above it.
func LookAt(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		p.refused(at, mayWrite(at))
	}
	return p
}

// Prove does the same as LookAt, and also writes a file, syncs it and removes it.
func Prove(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		var err error
		p.Synced, err = writeDoctor(at)
		p.refused(at, err)
	}
	return p
}

func look(path string) (p DoctorPlace, at string) {
	p = DoctorPlace{Path: path, Owner: -1, Free: -1}
	link, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p.Problem = err.Error()
		return p, ""
	default:
		p.Link = link.Mode()&fs.ModeSymlink != 0
		info, err := os.Stat(path)
		if err != nil {
			p.Problem = err.Error()
			return p, ""
		}
		if !info.IsDir() {
			p.Problem = path + " exists and is not a directory"
			return p, ""
		}
		p.Exists, p.Mode, p.Owner = true, uint32(info.Mode().Perm()), owner(info)
	}
	at = path
	for !isDir(at) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	p.Free, p.Network = fileSystem(at)
	return p, at
}

// refused stores why nothing can be written.
func (p *DoctorPlace) refused(at string, err error) {
	switch {
	case err == nil:
	case p.Exists:
		p.Written = fmt.Sprintf("%s cannot be written to: %v", at, cause(err))
	default:
		p.Written = fmt.Sprintf("%s cannot be created: %v", p.Path, cause(err))
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// writeDoctor writes and syncs a temporary file, and returns how long the sync took.
func writeDoctor(dir string) (took time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".arbiter-doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString("written to see whether that can be done\n"); err != nil {
		return 0, err
	}
	began := time.Now()
	err = f.Sync()
	return time.Since(began), err
}

// cause returns the error without the name of a temporary file.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

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
