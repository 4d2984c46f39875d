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

// expectRecords checks that records come as 1, 2, 3 … with the payloads that add gave them.
type expectRecords struct {
	t    *testing.T
	next uint64
}

func (e *expectRecords) each(r Record) error {
	if r.Kind == Snapshot {
		upTo, _, err := parseSnapshot(r.Payload)
		testkit.Check(e.t, err == nil && upTo == r.Seq && e.next == 0,
			"behind record %d came the snapshot %q of record %d: %v", e.next, r.Payload, r.Seq, err)
		e.next = r.Seq
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
func checkRecords(t *testing.T, read func(func(Record) error) error, n uint64) {
	t.Helper()
	e := expectRecords{t: t}
	testkit.OK(t, read(e.each))
	testkit.Same(t, "records came back", n, e.next)
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

func reader(s *Store, id string) func(func(Record) error) error {
	return func(each func(Record) error) error {
		_, err := s.Read(id, each)
		return err
	}
}

// TestMain runs a child's role if a test asks for one; otherwise it runs the tests, and looks for goroutines
// that outlive their test.
func TestMain(m *testing.M) {
	packBlock = 64 // so that the tests' logs are packed
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}

// memFS is a disk in memory. It keeps a log of all changes, from which crashDisk computes what a power cut may
// leave, and it can simulate failures.
type memFS struct {
	mu    sync.Mutex
	nodes []*memNode // by id; the first is the root
	log   []diskOp
	boot  int // counts processes: handles of an ended one fail
	read  int // bytes that were read

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

type memDir struct{ memHandle }

func (d *memDir) Path() string                 { return d.path }
func (d *memDir) Close() error                 { return nil }
func (d *memDir) Holds(n string, _ file) error { return d.check("holds", n) }
func (d *memDir) Present() error               { return d.check("present", d.name) }

func (d *memDir) check(call, name string) error {
	_, err := d.begin(call, name)
	d.m.mu.Unlock()
	return err
}

func (d *memDir) child(n *memNode, name string) (*memNode, error) {
	id, ok := n.entries[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: d.path + "/" + name, Err: fs.ErrNotExist}
	}
	return d.m.nodes[id], nil
}

func (d *memDir) handle(n *memNode, name string) memHandle {
	return memHandle{m: d.m, id: n.id, boot: d.boot, name: name, path: d.path + "/" + name}
}

func (d *memDir) Dir(name string) (directory, error) {
	n, err := d.begin("opendir", name)
	defer d.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c, err := d.child(n, name)
	if err != nil {
		return nil, err
	}
	return &memDir{d.handle(c, name)}, nil
}

func (d *memDir) add(n *memNode, name string, c *memNode) *memNode {
	c.id = len(d.m.nodes)
	d.m.nodes = append(d.m.nodes, c)
	n.entries[name] = c.id
	d.record(diskOp{kind: "link", name: name, child: c.id})
	return c
}

func (d *memDir) Mkdir(name string) error {
	n, err := d.begin("mkdir", name)
	defer d.m.mu.Unlock()
	if _, there := n.entries[name]; err == nil && there {
		err = fs.ErrExist
	}
	if err == nil {
		d.add(n, name, &memNode{entries: map[string]int{}})
	}
	return err
}

func (d *memDir) Open(name string, how openMode) (file, error) {
	n, err := d.begin("open", name)
	defer d.m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c, err := d.child(n, name)
	switch {
	case err == nil && how == openCreate:
		return nil, fs.ErrExist
	case err != nil && how != openCreate && how != openLock:
		return nil, err
	case err != nil:
		c = d.add(n, name, &memNode{})
	}
	return &memFile{memHandle: d.handle(c, name)}, nil
}

func (d *memDir) Names() ([]string, error) {
	n, err := d.begin("names", d.name)
	defer d.m.mu.Unlock()
	return slices.Sorted(maps.Keys(n.entries)), err
}

func (d *memDir) Rename(from, to string) error {
	n, err := d.begin("rename", to)
	defer d.m.mu.Unlock()
	id, ok := n.entries[from]
	if err == nil && !ok {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	delete(n.entries, from)
	n.entries[to] = id
	d.record(diskOp{kind: "rename", name: from, to: to, child: id})
	return nil
}

func (d *memDir) Unlink(name string) error {
	n, err := d.begin("unlink", name)
	defer d.m.mu.Unlock()
	if _, ok := n.entries[name]; err == nil && !ok {
		err = fs.ErrNotExist
	}
	if err != nil {
		return err
	}
	delete(n.entries, name)
	d.record(diskOp{kind: "unlink", name: name})
	return nil
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

func (f *memFile) ReadAt(b []byte, off int64) (int, error) {
	n, err := f.begin("read", f.name)
	defer f.m.mu.Unlock()
	if err != nil {
		return 0, err
	}
	got, err := bytes.NewReader(n.data).ReadAt(b, off)
	f.m.read += got
	return got, err
}

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	n, err := f.begin("write", f.name)
	defer f.m.mu.Unlock()
	var partial *errPartial
	if errors.As(err, &partial) {
		b = b[:min(partial.n, len(b))]
	} else if err != nil {
		return 0, err
	}
	n.data = writeAt(n.data, b, off)
	f.record(diskOp{kind: "write", off: off, data: bytes.Clone(b)})
	return len(b), err
}

func writeAt(data, b []byte, off int64) []byte {
	if end := off + int64(len(b)); int64(len(data)) < end {
		data = append(data, make([]byte, end-int64(len(data)))...)
	}
	copy(data[off:], b)
	return data
}

func (f *memFile) Truncate(size int64) error {
	n, err := f.begin("truncate", f.name)
	defer f.m.mu.Unlock()
	if err != nil {
		return err
	}
	n.data = truncate(n.data, size)
	f.record(diskOp{kind: "truncate", off: size})
	return nil
}

func (f *memFile) Free(at, length int64) error {
	n, err := f.begin("free", f.name)
	defer f.m.mu.Unlock()
	if err != nil {
		return err
	}
	free(n.data, at, length)
	f.record(diskOp{kind: "free", off: at, data: make([]byte, length)})
	return nil
}

func free(data []byte, at, length int64) {
	size := int64(len(data))
	clear(data[min(at, size):min(at+length, size)])
}

func truncate(data []byte, size int64) []byte {
	if int64(len(data)) >= size {
		return data[:size:size]
	}
	return writeAt(data, nil, size)
}

func (f *memFile) Stat() (fileInfo, error) {
	n, err := f.begin("stat", f.name)
	defer f.m.mu.Unlock()
	return fileInfo{Size: int64(len(n.data)), Used: int64(len(n.data))}, err
}

func (f *memFile) TryLock(exclusive bool) error {
	n, err := f.begin("lock", f.name)
	defer f.m.mu.Unlock()
	switch {
	case err != nil:
		return err
	case n.locks < 0, exclusive && n.locks > 0:
		return errLocked
	case exclusive:
		n.locks, f.locked = -1, -1
	default:
		n.locks, f.locked = n.locks+1, 1
	}
	return nil
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

var (
	_ directory = (*memDir)(nil)
	_ file      = (*memFile)(nil)
	_ io.Closer = (*memFile)(nil)
)

func (o diskOp) String() string {
	return fmt.Sprintf("%s node %d %s→%s off %d len %d upTo %d", o.kind, o.node, o.name, o.to, o.off, len(o.data),
		o.upTo)
}
