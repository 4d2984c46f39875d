package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const (
	testRun   = "0b8f3c1e-5d0a-4c55-9c11-6d2f0b8a7e21"
	failAfter = 2 * time.Minute
)

// payload is the payload of record seq in the tests: 100 bytes that identify it.
func payload(seq uint64) []byte {
	b := bytes.Repeat([]byte{byte('a' + seq%26)}, 100)
	copy(b, fmt.Sprintf("record %d ", seq))
	return b
}

func openTestStore(t *testing.T, dir string) *Store {
	t.Helper()
	s := testkit.Must(OpenStore(dir))(t)
	t.Cleanup(func() { s.Close() })
	return s
}

func newTestStore(t *testing.T) *Store {
	t.Helper()
	return openTestStore(t, filepath.Join(t.TempDir(), "state"))
}

func createRun(t *testing.T, s *Store, id string, o Options) *Run {
	t.Helper()
	r := testkit.Must(s.Create(Meta{Run: id, CWD: t.TempDir(), Began: time.Now()}, o))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

// newRun creates a run in a new store.
func newRun(t *testing.T) (*Store, *Run) {
	t.Helper()
	s := newTestStore(t)
	return s, createRun(t, s, testRun, Options{})
}

// runInMemory creates a run in a store in memory.
func runInMemory(t *testing.T, o Options) (*memFS, *Store, *Run) {
	t.Helper()
	m := newMemFS()
	s := freshStore(t, m)
	return m, s, testkit.Must(s.Create(Meta{Run: testRun, CWD: "/"}, o))(t)
}

func openRun(t *testing.T, s *Store, id string, o Options) (*Run, Recovery) {
	t.Helper()
	r, rec, err := s.Open(id, 0, o, resumeTest)
	testkit.OK(t, err)
	t.Cleanup(func() { r.Close() })
	return r, rec
}

// opening is the error of opening a run, which it closes again.
func opening(s *Store, id string, wait time.Duration) error {
	r, _, err := s.Open(id, wait, Options{}, resumeTest)
	if err == nil {
		err = r.Close()
	}
	return err
}

// resumes opens and closes a run, in which nothing may be wrong.
func resumes(t *testing.T, s *Store, records uint64) {
	t.Helper()
	r, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, rec.Records == records && rec.Damage == nil && rec.MetaLost == "", "%+v, want %d records", rec,
		records)
	closeRun(t, r)
}

// add appends records from to last, every third of them narration, the others inputs.
func add(t *testing.T, r *Run, from, last uint64) {
	t.Helper()
	for seq := from; seq <= last; seq++ {
		got := testkit.Must(r.Append(kindOf(seq), payload(seq)))(t)
		testkit.Need(t, got == seq, "record %d got number %d", seq, got)
	}
}

func kindOf(seq uint64) Kind {
	if seq%3 == 0 {
		return Narration
	}
	return Input
}

func syncRun(t *testing.T, r *Run) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), failAfter)
	defer cancel()
	testkit.OK(t, r.Sync(ctx))
}

func closeRun(t *testing.T, r *Run) {
	t.Helper()
	testkit.OK(t, r.Close())
}

// finish waits until everything is durable, and records that the run is complete.
func finish(ctx context.Context, r *Run) error {
	if err := r.Sync(ctx); err != nil {
		return err
	}
	return r.Update(ctx, func(m *Meta) { m.Finished, m.Status = true, "complete" })
}

// expectRecords checks that records come as 1, 2, 3 … with the payloads that add gave them.
type expectRecords struct {
	t        *testing.T
	next     uint64
	snapshot uint64 // the last input in the snapshot that came first; 0: none came
}

func (e *expectRecords) each(r Record) error {
	if r.Kind == Snapshot {
		upTo, _, err := parseSnapshot(r.Payload)
		testkit.Check(e.t, err == nil && upTo == r.Seq && e.next == 0,
			"behind record %d came the snapshot %q of record %d: %v", e.next, r.Payload, r.Seq, err)
		e.next, e.snapshot = r.Seq, r.Seq
		return nil
	}
	e.next++
	if r.Seq != e.next || r.Kind != kindOf(r.Seq) || !bytes.Equal(r.Payload, payload(r.Seq)) {
		e.t.Helper()
		e.t.Errorf("record %d came as %d, kind %d: %.40q", e.next, r.Seq, r.Kind, r.Payload)
		return fmt.Errorf("wrong record %d", r.Seq)
	}
	return nil
}

// checkRecords reads the run and expects exactly n good records.
func checkRecords(t *testing.T, s *Store, n uint64) {
	t.Helper()
	e := expectRecords{t: t}
	rec, err := s.Read(testRun, e.each)
	testkit.Need(t, err == nil && !rec.Harmed() && e.next == n, "%d of %d records came back: %v, %+v", e.next, n, err,
		rec)
}

// The state in these tests is how many records there were, and up to which of them their lines were added to
// the event log.
func snapshotAt(upTo, told uint64) []byte { return fmt.Appendf(nil, "%d %d", upTo, told) }

func parseSnapshot(b []byte) (upTo, told uint64, err error) {
	_, err = fmt.Sscanf(string(b), "%d %d", &upTo, &told)
	return upTo, told, err
}

// linesOf are the lines of a record in the tests' event log.
func linesOf(seq uint64) (list []LogContent) {
	for i := range 1 + seq%2 {
		list = append(list,
			LogContent{Input: seq, At: time.Unix(1, 0), Record: fmt.Appendf(nil, `{"seq":%d,"part":%d}`, seq, i)})
	}
	return list
}

// resumeTest resumes a run of the tests: it verifies the records, and adds the lines that are missing in the
// event log.
func resumeTest(r *Recovered) ([]byte, error) {
	var upTo, told uint64
	err := r.Records(func(x Record) (err error) {
		if x.Kind == Snapshot {
			upTo, told, err = parseSnapshot(x.Payload)
			return err
		}
		if upTo++; x.Seq != upTo {
			return fmt.Errorf("record %d came as %d", upTo, x.Seq)
		}
		return nil
	})
	if err == nil && upTo != r.Recovery.Records {
		err = fmt.Errorf("%d records of %d came", upTo, r.Recovery.Records)
	}
	if err != nil {
		return nil, err
	}
	for seq := told + 1; seq <= upTo; seq++ {
		lines := linesOf(seq)
		switch {
		case seq < r.LastLogged.Input:
			continue
		case seq == r.LastLogged.Input:
			lines = lines[min(r.Lines, len(lines)):]
		}
		if err := r.AppendEvents(lines...); err != nil {
			return nil, err
		}
	}
	return snapshotAt(upTo, upTo), nil
}

// checkTold expects that the event log contains all lines of the first n records, once each.
func checkTold(t *testing.T, s *Store, n uint64) {
	t.Helper()
	dir := testkit.Must(s.runs.Dir(testRun))(t)
	defer dir.Close()
	f := testkit.Must(dir.Open(LogName, openRead))(t)
	log := NewLog(&logFile{file: f, dir: dir})
	defer log.Close()
	var want []LogContent
	for seq := uint64(1); seq <= n; seq++ {
		want = append(want, linesOf(seq)...)
	}
	h, err := log.Each(t.Context(), LogPosition{}, func(e LogEntry) error {
		if len(want) == 0 || e.Input != want[0].Input || !bytes.Equal(e.Record, want[0].Record) {
			return fmt.Errorf("line %d is of record %d: %s", e.N, e.Input, e.Record)
		}
		want = want[1:]
		return nil
	})
	testkit.Check(t, err == nil && len(want) == 0 && h.Damage == nil && h.Torn <= 0,
		"the event log lacks %d lines of %d records: %v, %+v", len(want), n, err, h)
}

// TestMain runs a child's role if a test asks for one; otherwise it runs the tests, and looks for goroutines
// that outlive their test.
func TestMain(m *testing.M) {
	packBlock = 64 // so that the tests' logs are packed
	if role := os.Getenv(childRole); role != "" {
		playChild(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// memFS is a disk in memory. It keeps a log of all changes, from which crashDisk computes what a power cut may
// leave, and it can simulate failures. last is the teller of the run that was created or opened last on it.
type memFS struct {
	mu    sync.Mutex
	nodes []*memNode // by id; the first is the root
	log   []diskOp
	boot  int // counts processes: handles of an ended one fail
	read  int // bytes that were read
	last  *teller

	trouble func(error) // gets the errors of a run with a teller

	// fault is called before each call, without the lock. It may block.
	fault func(call, name string) error
}

type memNode struct {
	id      int
	entries map[string]int // of a directory
	data    []byte         // of a file
	locks   int            // -1 exclusive, else the number of shared ones
}

// diskOp is an entry of the log.
type diskOp struct {
	kind  string // link, unlink, rename, write, truncate, sync, syncfail, promise
	node  int    // the directory, or the file
	name  string
	to    string
	child int
	off   int64
	data  []byte
	upTo  uint64
}

// errPartial fails a write after n bytes.
type errPartial struct {
	n   int
	err error
}

func (e *errPartial) Error() string { return e.err.Error() }
func (e *errPartial) Unwrap() error { return e.err }

var errDead = errors.New("the process is dead")

func newMemFS() *memFS {
	return &memFS{nodes: []*memNode{{entries: map[string]int{}}}}
}

// fileOf is a file of the run.
func (m *memFS) fileOf(name string) *memNode { return m.nodes[m.runDir().entries[name]] }

func (m *memFS) runDir() *memNode {
	return m.nodes[m.nodes[m.nodes[0].entries[runsName]].entries[testRun]]
}

func (m *memFS) root() directory { return &memDir{memHandle{m: m, boot: m.boot, path: "/state"}} }

// reboot ends all processes: their handles are closed and unlocked.
func (m *memFS) reboot() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boot++
	for _, n := range m.nodes {
		n.locks = 0
	}
}

// promise logs that records were reported as durable.
func (m *memFS) promise(upTo uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, diskOp{kind: "promise", upTo: upTo})
}

func (m *memFS) setFault(f func(call, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault = f
}

type memHandle struct {
	m    *memFS
	id   int
	boot int
	name string
	path string
}

// begin calls fault, and takes the lock.
func (h *memHandle) begin(call, name string) (*memNode, error) {
	h.m.mu.Lock()
	fault := h.m.fault
	h.m.mu.Unlock()
	var err error
	if fault != nil {
		err = fault(call, name)
	}
	h.m.mu.Lock()
	if h.boot != h.m.boot {
		err = errDead
	}
	return h.m.nodes[h.id], err
}

func (h *memHandle) record(o diskOp) {
	o.node = h.id
	h.m.log = append(h.m.log, o)
}

// do makes a change, unless it is to fail.
func (h *memHandle) do(call, name string, change func(n *memNode) error) error {
	n, err := h.begin(call, name)
	defer h.m.mu.Unlock()
	if err != nil {
		return err
	}
	return change(n)
}

// change logs a change of a node, and makes it.
func (h *memHandle) change(o diskOp) {
	h.record(o)
	h.m.nodes[h.id].apply(o, o.data)
}

type memDir struct{ memHandle }

func nothing(*memNode) error { return nil }

func (d *memDir) Path() string                 { return d.path }
func (d *memDir) Close() error                 { return nil }
func (d *memDir) Holds(n string, _ file) error { return d.do("holds", n, nothing) }
func (d *memDir) Present() error               { return d.do("present", d.name, nothing) }

func (d *memDir) child(n *memNode, name string) (memHandle, error) {
	id, ok := n.entries[name]
	if !ok {
		return memHandle{}, &fs.PathError{Op: "open", Path: d.path + "/" + name, Err: fs.ErrNotExist}
	}
	return memHandle{m: d.m, id: id, boot: d.boot, name: name, path: d.path + "/" + name}, nil
}

func (d *memDir) Dir(name string) (sub directory, err error) {
	err = d.do("opendir", name, func(n *memNode) error {
		h, err := d.child(n, name)
		sub = &memDir{h}
		return err
	})
	return sub, err
}

func (d *memDir) add(name string, c *memNode) {
	c.id = len(d.m.nodes)
	d.m.nodes = append(d.m.nodes, c)
	d.change(diskOp{kind: "link", name: name, child: c.id})
}

func (d *memDir) Mkdir(name string) error {
	return d.do("mkdir", name, func(n *memNode) error {
		if _, there := n.entries[name]; there {
			return fs.ErrExist
		}
		d.add(name, &memNode{entries: map[string]int{}})
		return nil
	})
}

func (d *memDir) Open(name string, how openMode) (f file, err error) {
	err = d.do("open", name, func(n *memNode) error {
		_, there := n.entries[name]
		switch {
		case there && how == openCreate:
			return fs.ErrExist
		case !there && (how == openCreate || how == openLock):
			d.add(name, &memNode{})
		}
		h, err := d.child(n, name)
		f = &memFile{memHandle: h}
		return err
	})
	return f, err
}

func (d *memDir) Names() ([]string, error) {
	n, err := d.begin("names", d.name)
	defer d.m.mu.Unlock()
	return slices.Sorted(maps.Keys(n.entries)), err
}

func (d *memDir) Rename(from, to string) error {
	return d.do("rename", to, func(n *memNode) error {
		h, err := d.child(n, from)
		if err == nil {
			d.change(diskOp{kind: "rename", name: from, to: to, child: h.id})
		}
		return err
	})
}

func (d *memDir) Unlink(name string) error {
	return d.do("unlink", name, func(n *memNode) error {
		_, err := d.child(n, name)
		if err == nil {
			d.change(diskOp{kind: "unlink", name: name})
		}
		return err
	})
}

func (d *memDir) RemoveAll(name string) error {
	c, err := d.Dir(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	names, err := c.Names()
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := c.Unlink(n); err != nil {
			return err
		}
	}
	return d.Unlink(name)
}

func (d *memDir) Sync() error { return d.sync("syncdir") }

func (h *memHandle) sync(call string) error {
	_, err := h.begin(call, h.name)
	defer h.m.mu.Unlock()
	kind := "sync"
	if err != nil {
		kind = "syncfail"
	}
	if !errors.Is(err, errDead) {
		h.record(diskOp{kind: kind})
	}
	return err
}

type memFile struct {
	memHandle
	locked int
}

func (f *memFile) OS() *os.File { return nil }
func (f *memFile) Sync() error  { return f.sync("sync") }

func (f *memFile) ReadAt(b []byte, off int64) (got int, err error) {
	err = f.do("read", f.name, func(n *memNode) (err error) {
		got, err = bytes.NewReader(n.data).ReadAt(b, off)
		f.m.read += got
		return err
	})
	return got, err
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	_, err := f.begin("write", f.name)
	defer f.m.mu.Unlock()
	var partial *errPartial
	if errors.As(err, &partial) {
		b = b[:min(partial.n, len(b))]
	} else if err != nil {
		return 0, err
	}
	f.change(diskOp{kind: "write", off: off, data: bytes.Clone(b)})
	return len(b), err
}

func (f *memFile) Truncate(size int64) error {
	return f.do("truncate", f.name, func(*memNode) error {
		f.change(diskOp{kind: "truncate", off: size})
		return nil
	})
}

func (f *memFile) Free(at, length int64) error {
	return f.do("free", f.name, func(*memNode) error {
		f.change(diskOp{kind: "free", off: at, data: make([]byte, length)})
		return nil
	})
}

func (f *memFile) Stat() (fileInfo, error) {
	n, err := f.begin("stat", f.name)
	defer f.m.mu.Unlock()
	return fileInfo{Size: int64(len(n.data)), Used: int64(len(n.data))}, err
}

func (f *memFile) TryLock(exclusive bool) error {
	return f.do("lock", f.name, func(n *memNode) error {
		switch {
		case n.locks < 0, exclusive && n.locks > 0:
			return errLocked
		case exclusive:
			n.locks, f.locked = -1, -1
		default:
			n.locks, f.locked = n.locks+1, 1
		}
		return nil
	})
}

func (f *memFile) Close() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if f.boot == f.m.boot {
		f.m.nodes[f.id].locks -= f.locked
		f.locked = 0
	}
	return nil
}

// apply makes a change, a write with any data.
func (n *memNode) apply(o diskOp, data []byte) {
	switch o.kind {
	case "link":
		n.entries[o.name] = o.child
	case "unlink":
		delete(n.entries, o.name)
	case "rename":
		if n.entries[o.name] == o.child {
			delete(n.entries, o.name)
		}
		n.entries[o.to] = o.child
	case "write":
		n.data = writeAt(n.data, data, o.off)
	case "truncate":
		if int64(len(n.data)) >= o.off {
			n.data = n.data[:o.off:o.off]
		}
		n.data = writeAt(n.data, nil, o.off)
	case "free":
		size := int64(len(n.data))
		clear(n.data[min(o.off, size):min(o.off+int64(len(o.data)), size)])
	}
}

func writeAt(data, b []byte, off int64) []byte {
	if end := off + int64(len(b)); int64(len(data)) < end {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[off:], b)
	return data
}

var (
	_ directory = (*memDir)(nil)
	_ file      = (*memFile)(nil)
	_ io.Closer = (*memFile)(nil)
)

func (o diskOp) String() string {
	return fmt.Sprintf("%s node %d %s→%s off %d len %d upTo %d", o.kind, o.node, o.name, o.to, o.off, len(o.data),
		o.upTo)
}
