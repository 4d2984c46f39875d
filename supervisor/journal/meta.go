package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

const (
	metaName    = "meta.json"
	metaVersion = 1
)

// Meta describes a run. It is used for finding and listing runs; the records contain what happened.
type Meta struct {
	Run       string    `json:"run"`           // its id
	CWD       string    `json:"cwd,omitempty"` // the working directory, links resolved
	Began     time.Time `json:"began,omitzero"`
	Workspace string    `json:"workspace,omitempty"` // where agents work, if that is another directory
	Version   string    `json:"version,omitempty"`   // of the program that created it
	Title     string    `json:"title,omitempty"`
	Rehearsal bool      `json:"rehearsal,omitempty"`
	Finished  bool      `json:"finished,omitempty"`
	Status    string    `json:"status,omitempty"`   // how it finished
	CostUSD   float64   `json:"cost_usd,omitempty"` // when it ended
	// CostUnknown: it has cost more than CostUSD, and nobody knows how much.
	CostUnknown bool `json:"cost_unknown,omitempty"`
	// Imported: the run came from elsewhere. CWD is where it continues, even if its records name another
	// directory.
	Imported bool `json:"imported,omitempty"`
	// ForkedFrom is the run that this one branched off from.
	ForkedFrom *Fork `json:"forked_from,omitempty"`

	// Place identifies CWD if its name is not valid text. Create fills it in.
	Place string `json:"place,omitempty"`
	// Closed is the last record at the time when the run was last closed normally. The journal maintains it.
	Closed uint64 `json:"closed,omitempty"`
	// Reopened: the run was opened since, and not closed normally yet. The journal maintains it.
	Reopened bool `json:"reopened,omitempty"`
	// Bytes is the size of all files of the run's directory then. The journal maintains it.
	Bytes int64 `json:"bytes,omitempty"`
}

// Fork is where a run branched off from another one.
type Fork struct {
	Run string `json:"run"`
	At  int    `json:"at"` // the number of the decision before which it did
	// CostUSD is what that run had cost by then. The costs of this run begin with it.
	CostUSD float64 `json:"cost_usd"`
	// Isolated: no agent of it works in CWD, where another run may work.
	Isolated bool `json:"isolated,omitempty"`
}

// writeMeta replaces the whole description.
func writeMeta(dir directory, m Meta) error {
	b, err := encodeSmall(metaVersion, m)
	if err != nil {
		return err
	}
	f, err := publish(dir, "journal.meta", metaName, b)
	if err == nil {
		f.Close()
	}
	return err
}

// readMeta reads the description of a run. If it is lost, readMeta reconstructs it, and lost says why. Only an
// undamaged description of another format is an error.
func readMeta(dir directory, run string) (m Meta, lost error, err error) {
	m, _, err = readDescription(dir)
	if err == nil && m.Run != run {
		err = fmt.Errorf("%s is of run %q", metaName, m.Run)
	}
	var unsafe *UnsafeError
	var version *VersionError
	switch {
	case err == nil:
		return m, nil, nil
	case errors.As(err, &unsafe), errors.As(err, &version):
		return Meta{}, nil, err
	}
	// The lock file also names the run and its directory, and outlives its owner.
	m = Meta{Run: run}
	if b, _, err := readSmall(dir, lockName); err == nil {
		var h holder
		if decodeSmall(b, lockName, lockVersion, &h) == nil && h.Run == run {
			m.CWD, m.Place, m.Began = h.CWD, h.Place, h.Since
		}
	}
	return m, err, nil
}

// A small file beside the journal is one JSON object: version, checksum of version and body, body. People may
// read it, too.
type smallFile struct {
	Version int             `json:"v"`
	Sum     string          `json:"crc"`
	Body    json.RawMessage `json:"body"`
}

const maxSmall = 1 << 20

var errSmallSum = errors.New("its checksum does not match")

func smallSum(version int, body []byte) string {
	return fmt.Sprintf("%08x", crc32.Update(crc32.Checksum(fmt.Appendf(nil, "%d ", version), castagnoli()), castagnoli(),
		body))
}

func encodeSmall(version int, body any) ([]byte, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	b, err = json.Marshal(smallFile{Version: version, Sum: smallSum(version, b), Body: b})
	return append(b, '\n'), err
}

// decodeSmall reads what encodeSmall wrote. An error says what is wrong; a *VersionError says that the file is
// undamaged and of another format.
func decodeSmall(b []byte, file string, version int, body any) error {
	var s smallFile
	dec := json.NewDecoder(bytes.NewReader(b))
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if s.Sum != smallSum(s.Version, s.Body) {
		return fmt.Errorf("read %s: %w", file, errSmallSum)
	}
	if s.Version != version {
		return &VersionError{File: file, Found: s.Version, Known: version}
	}
	if err := json.Unmarshal(s.Body, body); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}

// readSmall reads a whole small file.
func readSmall(dir directory, name string) ([]byte, fileInfo, error) {
	f, err := dir.Open(name, openRead)
	if err != nil {
		return nil, fileInfo{}, err
	}
	defer f.Close()
	return readSmallFile(f)
}

func readSmallFile(f file) ([]byte, fileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, info, err
	}
	b := make([]byte, min(info.Size, maxSmall))
	n, err := f.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b[:n], info, err
}

// ErrNoDirLock says that a file system cannot lock directories.
var ErrNoDirLock = errors.New("this file system does not lock directories")

// LockWorkspace locks a directory itself, until the file that it returns is closed. That leaves no trace in the
// directory and excludes every process of this machine, whatever state directory and user it has. *HeldError says that
// another process has locked it, and which one, if the system knows; ErrNoDirLock that it cannot be locked.
func LockWorkspace(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock workspace: %w", errors.Join(ErrNoDirLock, err))
	}
	err = statedir.LockWithin(dir, lockGrace)
	switch {
	case err == nil:
		return dir, nil
	case errors.Is(err, errLocked):
		err = &HeldError{Path: path, PID: locker(dir)}
	default:
		err = errors.Join(ErrNoDirLock, err)
	}
	dir.Close()
	return nil, fmt.Errorf("lock workspace %s: %w", path, err)
}

// WorkspaceHeld reports whether some process has locked a directory.
func WorkspaceHeld(path string) bool {
	l, err := LockWorkspace(path)
	if err == nil {
		l.Close()
	}
	var held *HeldError
	return errors.As(err, &held)
}

// locker returns the process that holds a file's lock, according to Linux's list of locks; 0: not known.
func locker(f *os.File) int {
	var st unix.Stat_t
	list, err := os.ReadFile("/proc/locks")
	if err != nil || unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	dev := uint64(st.Dev) // of another type on macOS
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), st.Ino)
	for line := range strings.Lines(string(list)) {
		// 1: FLOCK  ADVISORY  WRITE 28196 fe:00:5310797 0 EOF
		if w := strings.Fields(line); len(w) > 5 && w[1] == "FLOCK" && w[5] == file {
			pid, _ := strconv.Atoi(w[4])
			return max(pid, 0)
		}
	}
	return 0
}
