package journal

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var long = flag.Bool("long", false, "try ten times as many crash states")

// scenario is what happens to a run on a disk. Then a crash is simulated at every moment of it.
type scenario struct {
	name string
	play func(t *testing.T, m *memFS, s *Store, r *Run)
}

// teller records on the disk what a run reported as durable, and adds the lines for it to the event log.
type teller struct {
	m    *memFS
	mu   sync.Mutex
	r    *Run
	told uint64
}

func (tl *teller) options() Options {
	return Options{Trouble: tl.m.trouble, Committed: func(upTo uint64) {
		tl.m.promise(upTo)
		tl.mu.Lock()
		defer tl.mu.Unlock()
		for tl.told < upTo && tl.r.AppendEvents(linesOf(tl.told+1)...) == nil {
			tl.told++
		}
	}}
}

func (tl *teller) begin(r *Run) *Run {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	tl.r, tl.told = r, r.Durable()
	return r
}

// snapshot requests a snapshot of everything that was appended, and waits for it.
func (tl *teller) snapshot(t *testing.T) {
	t.Helper()
	tl.mu.Lock()
	r := tl.r
	r.mu.Lock()
	upTo := r.st.next - 1
	r.mu.Unlock()
	b := snapshotAt(upTo, tl.told)
	taken := r.Snapshot(func() ([]byte, error) { return b, nil })
	tl.mu.Unlock()
	testkit.Check(t, taken, "no snapshot was begun")
	synctest.Wait()
}

func createOn(t *testing.T, m *memFS, s *Store) *Run {
	t.Helper()
	m.last = &teller{m: m}
	return m.last.begin(testkit.Must(s.Create(Meta{Run: testRun, CWD: "/"}, m.last.options()))(t))
}

func openOn(t *testing.T, m *memFS, s *Store) *Run {
	t.Helper()
	m.last = &teller{m: m}
	r, _, err := s.Open(testRun, 0, m.last.options(), resumeTest)
	testkit.OK(t, err)
	m.promise(r.Durable())
	return m.last.begin(r)
}

// addBatches appends up to last, n records at a time, each batch complete and durable before the next: the
// writer cannot take a part of a batch that is still being appended.
func addBatches(t *testing.T, r *Run, last, n uint64) {
	t.Helper()
	for seq := r.Durable() + 1; seq <= last; seq += n {
		addBatch(t, r, seq, min(seq+n-1, last))
		syncRun(t, r)
	}
}

// addLogged is addBatches, and lets the lines of each batch be written to the event log before the next one.
func addLogged(t *testing.T, r *Run, last, n uint64) {
	t.Helper()
	for seq := r.Durable() + 1; seq <= last; seq += n {
		addBatches(t, r, min(seq+n-1, last), n)
		time.Sleep(SoonDelay)
	}
}

func addBatch(t *testing.T, r *Run, from, last uint64) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for seq := from; seq <= last; seq++ {
		testkit.Same(t, "number", seq, testkit.Must(r.add(kindOf(seq), payload(seq)))(t))
	}
}

var scenarios = []scenario{
	{"orderly", func(t *testing.T, m *memFS, s *Store, r *Run) {
		addLogged(t, r, 12, 3)
		addLogged(t, r, 40, 14)
		testkit.OK(t, finish(t.Context(), r))
		closeRun(t, r)
		r = openOn(t, m, s)
		addBatches(t, r, 60, 5)
		closeRun(t, r)
	}},
	{"snapshots", func(t *testing.T, m *memFS, s *Store, r *Run) {
		for n := uint64(10); n < 50; n += 10 {
			addLogged(t, r, n, 4)
			m.last.snapshot(t)
		}
		addBatch(t, r, 41, 45) // not durable when it is requested
		m.last.snapshot(t)
		addLogged(t, r, 50, 4)
		m.reboot()
		r.Close()
		r = openOn(t, m, freshStore(t, m))
		addBatches(t, r, r.Durable()+5, 4)
		m.last.snapshot(t)
		closeRun(t, r)
		closeRun(t, openOn(t, m, freshStore(t, m)))
	}},
	{"no room for a snapshot", func(t *testing.T, m *memFS, s *Store, r *Run) {
		addLogged(t, r, 10, 4)
		m.last.snapshot(t)
		for i, call := range []string{"write", "sync", "rename", "syncdir"} {
			name := segmentName(3 + i)
			if call == "syncdir" {
				name = testRun
			}
			failTimes(m, call, name, 1, syscall.ENOSPC)
			addLogged(t, r, r.Durable()+5, 5)
			m.last.snapshot(t)
			m.setFault(nil)
		}
		addBatches(t, r, r.Durable()+5, 5)
		m.last.snapshot(t)
		closeRun(t, r)
	}},
	{"event log on a bad disk", func(t *testing.T, m *memFS, s *Store, r *Run) {
		for _, f := range []struct {
			call string
			err  error
		}{{"write", &errPartial{50, syscall.ENOSPC}}, {"sync", syscall.EIO}, {"write", &errPartial{3, syscall.EIO}},
			{"sync", syscall.ENOSPC}} {
			failTimes(m, f.call, LogName, 1, f.err)
			addLogged(t, r, r.Durable()+6, 3)
			time.Sleep(3 * time.Second)
			m.setFault(nil)
		}
		failTimes(m, "sync", LogName, 1, syscall.EIO)
		addLogged(t, r, r.Durable()+6, 3)
		m.last.snapshot(t)
		addBatches(t, r, r.Durable()+6, 3)
		synctest.Wait()
		closeRun(t, r)
		checkTold(t, s, r.Durable())
	}},
	{"full disk", func(t *testing.T, m *memFS, s *Store, r *Run) {
		addLogged(t, r, 10, 5)
		failTimes(m, "write", segmentName(1), 2, &errPartial{700, syscall.ENOSPC})
		addLogged(t, r, 30, 10)
		closeRun(t, r)
	}},
	{"failed fsync", func(t *testing.T, m *memFS, s *Store, r *Run) {
		addBatches(t, r, 10, 5)
		failTimes(m, "sync", segmentName(1), 1, syscall.EIO)
		addLogged(t, r, 30, 10)
		failTimes(m, "syncdir", testRun, 1, syscall.EIO)
		failTimes(m, "sync", segmentName(2), 1, syscall.EIO)
		addLogged(t, r, 50, 10)
		closeRun(t, r)
	}},
	// The process ends after its fsync has failed and before it can react.
	{"failed fsync, then killed", func(t *testing.T, m *memFS, s *Store, r *Run) {
		addBatches(t, r, 10, 5)
		failTimes(m, "sync", segmentName(1), always, syscall.EIO)
		failTimes(m, "open", segmentName(2), always, syscall.ENOSPC)
		add(t, r, 11, 20)
		synctest.Wait()
		m.reboot()
		m.setFault(nil)
		r.Close()
		r = openOn(t, m, freshStore(t, m))
		// The writer chooses how many of them were in the batch whose fsync failed.
		got := r.Durable()
		testkit.Check(t, got >= 11 && got <= 20, "%d records after the kill, want 11 to 20", got)
		addLogged(t, r, got+10, 5)
		closeRun(t, r)
	}},
	{"killed in a batch", func(t *testing.T, m *memFS, _ *Store, r *Run) {
		for attempt := range uint64(4) {
			addLogged(t, r, r.Durable()+7, 3)
			failTimes(m, "write", "", 1, &errPartial{int(300 + 100*attempt), errDead})
			add(t, r, r.Durable()+1, r.Durable()+8)
			synctest.Wait()
			m.reboot()
			r.Close()
			r = openOn(t, m, freshStore(t, m))
		}
		closeRun(t, r)
	}},
}

const always = math.MaxInt

// failTimes makes the next n calls on a file of that name fail, besides those that fail already; if the name is empty,
// on any segment. A handle may have been opened before the file got its name.
func failTimes(m *memFS, call, name string, n int, err error) {
	others := m.fault
	m.setFault(func(c, on string) error {
		on = strings.TrimSuffix(on, scratchSuffix)
		if _, segment := segmentNumber(on); c == call && (on == name || name == "" && segment) && n > 0 {
			n--
			return err
		}
		if others != nil {
			return others(c, on)
		}
		return nil
	})
}

func freshStore(t *testing.T, m *memFS) *Store {
	t.Helper()
	return testkit.Must(openStore(m.root()))(t)
}

// TestCrashStates cuts the power at each moment of each scenario, lets parts of what was not synced reach the
// disk in many ways, and checks the result: everything that was reported as durable, a prefix of what was
// appended, no false alarm. Then it cuts the power during the recovery.
func TestCrashStates(t *testing.T) {
	testkit.WithoutRace(t)
	states := 0
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMemFS()
				s := freshStore(t, m)
				sc.play(t, m, s, createOn(t, m, s))
				states += crashEverywhere(t, newCrashDisk(), m.log, 0, 1)
			})
		})
	}
	t.Logf("%d crash states", states)
	testkit.Check(t, states >= 10_000, "only %d crash states were tried", states)
}

// crashEverywhere replays a log on a disk and cuts the power after each entry. If depth allows it, some of the
// recoveries are cut as well.
func crashEverywhere(t *testing.T, disk *crashDisk, log []diskOp, promised uint64, depth int) (states int) {
	random, recoveries := 2, 131 // one of so many recoveries is cut as well
	if testkit.AtNight() {
		random, recoveries = 24, 29
	}
	if *long {
		random *= 10
	}
	if testing.Short() {
		random = 4
	}
	if depth == 0 {
		random = 1
	}
	described := depth > 0 || promised > 0
	for i, o := range log {
		disk.follow(o)
		if o.kind == "promise" {
			promised = o.upTo
		}
		rnd := rand.New(rand.NewPCG(uint64(i), uint64(depth)))
		for j, f := range powerCuts(rnd, random) {
			m := disk.cut(f, rnd)
			before := newCrashDisk() // all of it is durable
			for _, n := range m.nodes {
				before.nodes[n.id] = &diskNode{memNode: n.clone()}
			}
			checkAfterCrash(t, m, promised, described && promised > 0)
			states++
			if depth > 0 && (i+j)%recoveries == 0 {
				states += crashEverywhere(t, before, slices.Clone(m.log), promised, depth-1)
			}
			testkit.Need(t, !t.Failed(), "after %d entries, %v, way %d", i+1, o, j)
		}
	}
	return states
}

// checkAfterCrash opens what a crash left, continues the run, and reads it again. The description must exist if
// Create had returned; it must not have been reconstructed.
func checkAfterCrash(t *testing.T, m *memFS, promised uint64, described bool) {
	s, err := openStore(m.root())
	if err != nil {
		t.Errorf("open store: %v", err)
		return
	}
	testkit.Works(t, "list", testkit.Err(s.List()))
	tl := &teller{m: m}
	r, rec, err := s.Open(testRun, 0, tl.options(), resumeTest)
	if err != nil {
		testkit.Check(t, promised <= 0 && errors.Is(err, fs.ErrNotExist), "open: %v", err)
		return
	}
	testkit.Check(t, rec.Records >= promised, "%d records are left of %d that were called durable", rec.Records,
		promised)
	testkit.Check(t, !rec.Harmed(), "a mere crash raises an alarm: %+v", rec.Damage)
	testkit.Check(t, !described || rec.MetaLost == "" && r.Meta().CWD == "/",
		"the description is lost: %q, %+v", rec.MetaLost, r.Meta())
	m.promise(rec.Records)
	tl.begin(r)
	add(t, r, rec.Records+1, rec.Records+2)
	syncRun(t, r)
	synctest.Wait()
	testkit.Works(t, "close", r.Close())
	checkRecords(t, s, rec.Records+2)
	checkTold(t, s, rec.Records+2)
}

// crashDisk follows the log of a memFS and knows what is durable at each point. What is not durable may or may
// not be on the disk after a power cut, independently for each change: syncing a file does not sync its
// directory, nor the other way round, and a write may be partial. What a failed sync did not write looks
// written and is lost permanently: no later sync makes it durable.
type crashDisk struct {
	nodes map[int]*diskNode
}

type diskNode struct {
	memNode           // durable
	loose   []looseOp // later changes, in order
}

type looseOp struct {
	diskOp
	doubtful bool
}

func newCrashDisk() *crashDisk {
	return &crashDisk{nodes: map[int]*diskNode{}}
}

func (d *crashDisk) node(id int) *diskNode {
	n := d.nodes[id]
	if n == nil {
		n = &diskNode{memNode: memNode{id: id, entries: map[string]int{}}}
		d.nodes[id] = n
	}
	return n
}

func (d *crashDisk) follow(o diskOp) {
	n := d.node(o.node)
	switch o.kind {
	case "promise":
	case "sync":
		var left []looseOp
		for _, l := range n.loose {
			if l.doubtful {
				left = append(left, l)
			} else {
				n.apply(l.diskOp, l.data)
			}
		}
		n.loose = left
	case "syncfail":
		for i := range n.loose {
			n.loose[i].doubtful = true
		}
	case "link":
		d.node(o.child)
		fallthrough
	default:
		n.loose = append(n.loose, looseOp{diskOp: o})
	}
}

// powerCut decides what happens to a change that is not durable.
type powerCut func(o diskOp) (how int)

const (
	dropped = iota
	applied
	tornByte // a part of the write, to some byte
	tornSectors
	tornZero // the file has grown and contains zeros
)

// cut returns the disk after a power cut.
func (d *crashDisk) cut(decide powerCut, rnd *rand.Rand) *memFS {
	m := &memFS{}
	for id := range len(d.nodes) {
		from := d.nodes[id]
		n := from.clone()
		for _, l := range from.loose {
			switch how := decide(l.diskOp); {
			case how == dropped:
			case l.kind != "write" || how == applied:
				n.apply(l.diskOp, l.data)
			default:
				n.tear(l.diskOp, how, rnd)
			}
		}
		m.nodes = append(m.nodes, &n)
	}
	return m
}

func (n *memNode) clone() memNode {
	return memNode{id: n.id, entries: maps.Clone(n.entries), data: bytes.Clone(n.data)}
}

func (n *memNode) tear(o diskOp, how int, rnd *rand.Rand) {
	switch how {
	case tornByte:
		n.apply(o, o.data[:rnd.IntN(len(o.data)+1)])
	case tornZero:
		n.apply(o, make([]byte, len(o.data)))
	case tornSectors:
		const sector = 512
		whole := n.data
		n.data = writeAt(slices.Clone(n.data), nil, o.off+int64(len(o.data)))
		for at := o.off; at < o.off+int64(len(o.data)); {
			end := min((at/sector+1)*sector, o.off+int64(len(o.data)))
			if rnd.IntN(2) == 0 {
				n.data = writeAt(n.data, o.data[at-o.off:end-o.off], at)
			} else if at < int64(len(whole)) {
				copy(n.data[at:end], whole[at:])
			}
			at = end
		}
	}
}

// powerCuts are the simulated effects of a power cut: the plain ones, and as many random ones as requested.
func powerCuts(rnd *rand.Rand, random int) []powerCut {
	all := []powerCut{
		func(diskOp) int { return dropped },
		func(diskOp) int { return applied },
		func(o diskOp) int { // names before data
			if o.kind == "write" || o.kind == "truncate" {
				return dropped
			}
			return applied
		},
		func(o diskOp) int { // data before names
			if o.kind == "write" || o.kind == "truncate" {
				return applied
			}
			return dropped
		},
		func(diskOp) int { return tornZero },
		func(diskOp) int { return tornByte },
		func(diskOp) int { return tornSectors },
	}
	for range random {
		all = append(all, func(diskOp) int { return rnd.IntN(5) })
	}
	return all
}
