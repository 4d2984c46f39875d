package host

import (
	"fmt"
	"time"

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
