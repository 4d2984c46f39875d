package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// endRun creates a run with a record, active at a given minute, and finishes it if requested.
func endRun(t *testing.T, s *Store, id, cwd string, minute int, finished bool) {
	t.Helper()
	r := testkit.Must(s.Create(Meta{Run: id, CWD: cwd, Title: "run " + id}, Options{}))(t)
	add(t, r, 1, 1)
	if finished {
		testkit.OK(t, finish(t.Context(), r))
	}
	closeRun(t, r)
	setActive(t, r.Dir(), minute)
}

func setActive(t *testing.T, dir string, minute int) {
	t.Helper()
	at := time.Date(2026, 1, 1, 0, minute, 0, 0, time.UTC)
	for _, name := range []string{segmentName(1), metaName, LogName} {
		testkit.OK(t, os.Chtimes(filepath.Join(dir, name), at, at))
	}
}

func ids(all []Info) (out []string) {
	return testkit.Each(all, func(i Info) string { return i.Run })
}

func TestListFindLatest(t *testing.T) {
	s := newTestStore(t)
	here, there := t.TempDir(), t.TempDir()
	endRun(t, s, "aaa-1", here, 3, true)
	endRun(t, s, "aaa-2", there, 9, true)
	endRun(t, s, "aa", here, 5, false)
	endRun(t, s, "bbb", here, 1, false)
	all := testkit.Must(s.List())(t)
	testkit.Same(t, "list", []string{"aaa-2", "aa", "aaa-1", "bbb"}, ids(all))
	i := all[1]
	testkit.Check(t, i.Title == "run aa" && i.Unfinished && !i.Finished && !i.Damaged && i.Bytes != 0 &&
		i.LastActive.Minute() == 5 && !i.Empty, "%+v", i)
	i = all[0]
	testkit.Check(t, !i.Unfinished && i.Finished && i.Status == "complete", "%+v", i)
	for prefix, want := range map[string]string{"b": "bbb", "aa": "aa", "aaa-1": "aaa-1", "aaa-2": "aaa-2"} {
		testkit.Same(t, fmt.Sprintf("find %q: i.Run", prefix), want, testkit.Must(s.Find(prefix))(t).Run)
	}
	var ambiguous *AmbiguousError
	if _, err := s.Find("a"); !errors.As(err, &ambiguous) || len(ambiguous.Matches) != 3 || ambiguous.Prefix != "a" {
		t.Errorf("find a: %v", err)
	}
	for _, prefix := range []string{"", "c", "../runs/aa", "aaa-1/"} {
		testkit.Fails(t, fmt.Sprintf("find %q", prefix), testkit.Err(s.Find(prefix)), ErrNotFound)
	}
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(here, link))
	testkit.Same(t, "latest", "aa", testkit.Must(s.Latest(link, nil))(t).Run)
	testkit.Fails(t, "latest of another directory", testkit.Err(s.Latest(t.TempDir(), nil)), ErrNotFound)
}

// TestWhatIsOpenedToFindRuns: one run is found without opening another, the live ones without opening those that are
// over, and a list opens the description of each, and nothing else.
func TestWhatIsOpenedToFindRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s := freshStore(t, m)
		var live *Run
		for i := range 20 {
			r := testkit.Must(s.Create(Meta{Run: fmt.Sprintf("run-%02d", i), CWD: "/"}, Options{}))(t)
			add(t, r, 1, 1)
			syncRun(t, r)
			if live = r; i < 19 {
				closeRun(t, r)
			}
		}
		opened := map[string]int{}
		m.setFault(func(call, name string) error {
			if call == "open" || call == "opendir" {
				opened[name]++
			}
			return nil
		})
		calls := func() (all int) {
			for _, n := range opened {
				all += n
			}
			clear(opened)
			return all
		}
		info, err := s.Find("run-07")
		testkit.Check(t, err == nil && info.Run == "run-07" && opened["run-07"] == 1 && opened["run-08"] == 0,
			"find: %v, %v, opened %v", info.Run, err, opened)
		one := calls()
		list, err := s.Live("")
		if n := calls(); err != nil || len(list) != 1 || list[0].Run != "run-19" || n > one+1 {
			t.Errorf("live: %v, %v, %d files were opened, and %d to find one run", ids(list), err, n, one)
		}
		if list, err = s.Live("run-0"); err != nil || len(list) != 0 || calls() > 0 {
			t.Errorf("live runs that are over: %v, %v", ids(list), err)
		}
		list, err = s.List()
		testkit.Check(t, err == nil && len(list) == 20 && opened[metaName] <= 19+2 && opened[segmentName(1)] <= 2,
			"list: %d runs, %v, opened %v", len(list), err, opened)
		for _, i := range list {
			testkit.Check(t, i.Live == (i.Run == "run-19") && i.Unfinished && !i.Empty && i.Bytes != 0, "%+v", i)
		}
		closeRun(t, live)
		clear(opened)
		list, err = s.Live("")
		testkit.Check(t, err == nil && len(list) == 0 && calls() == 0, "no run is live: %v, %v", ids(list), err)
	})
}

// TestARunWhoseProcessWasKilled looks live until somebody looks, and can be live again.
func TestARunWhoseProcessWasKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _, r := runInMemory(t, Options{})
		add(t, r, 1, 3)
		syncRun(t, r)
		m.reboot()
		r.Close()
		s := freshStore(t, m)
		for range 2 {
			list, err := s.Live("")
			all, allErr := s.List()
			testkit.Check(t, err == nil && len(list) == 0 && allErr == nil && len(all) == 1 && !all[0].Live &&
				all[0].Unfinished, "live: %+v, %v; all: %+v, %v", list, err, all, allErr)
			names, err := s.live.Names()
			testkit.Check(t, err == nil && len(names) == 0, "its mark is left: %v, %v", names, err)
		}
		r, _ = openRun(t, s, testRun, Options{})
		list, err := s.Live("")
		testkit.Check(t, err == nil && len(list) == 1 && list[0].Live, "resumed: %+v, %v", list, err)
		closeRun(t, r)
	})
}

// TestUnreadableRun: a run that cannot be read does not hide the others.
func TestUnreadableRun(t *testing.T) {
	s := newTestStore(t)
	endRun(t, s, "good", "", 1, true)
	runs := filepath.Join(s.root.Path(), runsName)
	testkit.OK(t, os.Mkdir(filepath.Join(runs, "empty"), 0o700), os.WriteFile(filepath.Join(runs, "file"), nil, 0o600),
		os.Symlink("/etc", filepath.Join(runs, "link")),
		os.MkdirAll(filepath.Join(runs, "strange", segmentName(1)), 0o700))
	all := testkit.Must(s.List())(t)
	testkit.Same(t, "list", []string{"good", "empty", "file", "link", "strange"}, ids(all))
	for _, i := range all {
		want := i.Run != "good" && i.Run != "empty"
		testkit.Check(t, i.Damaged == want && (i.Problem != "") == want, "%+v", i)
	}
	r, rec := openRun(t, s, "empty", Options{}) // this is what a crash in Create leaves
	testkit.Check(t, rec.Records == 0 && !rec.Harmed(), "%+v", rec)
	add(t, r, 1, 1)
	syncRun(t, r)
}

func TestInvalidIDs(t *testing.T) {
	s := newTestStore(t)
	for _, id := range []string{"nobody", "", ".", "..", "../x", "a/b", ".removed-x", "-x", "a b", "a\n", "a\x00", "ä",
		string(make([]byte, 65))} {
		if id != "nobody" {
			testkit.Fails(t, fmt.Sprintf("create %q works", id), testkit.Err(s.Create(Meta{Run: id}, Options{})))
		}
		testkit.Fails(t, fmt.Sprintf("open %q", id), opening(s, id, 0), ErrNotFound)
		testkit.Fails(t, fmt.Sprintf("read %q", id), testkit.Err(s.Read(id, nil)), ErrNotFound)
		testkit.Fails(t, fmt.Sprintf("remove %q", id), s.Remove(id), ErrNotFound)
	}
}

// TestNamesCollide: when many runs with one name begin at the same instant, one gets the name, and no
// file is replaced.
func TestNamesCollide(t *testing.T) {
	s := newTestStore(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var won []*Run
	for range 20 {
		wg.Go(func() {
			r, err := s.Create(Meta{Run: testRun}, Options{})
			testkit.Check(t, err == nil || errors.Is(err, ErrExists), "%v", err)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				won = append(won, r)
			}
		})
	}
	wg.Wait()
	testkit.Need(t, len(won) == 1, "%d runs have the same name", len(won))
	add(t, won[0], 1, 3)
	closeRun(t, won[0])
	testkit.Fails(t, "s.Create", testkit.Err(s.Create(Meta{Run: testRun}, Options{})), ErrExists)
	checkRecords(t, s, 3)
}

func TestRemove(t *testing.T) {
	s := newTestStore(t)
	endRun(t, s, "gone", "", 1, false)
	endRun(t, s, "kept", "", 1, false)
	dir := filepath.Join(s.root.Path(), runsName, "gone")
	outside := filepath.Join(t.TempDir(), "outside")
	testkit.OK(t, os.MkdirAll(filepath.Join(dir, "logs", "deep"), 0o755), os.WriteFile(outside, nil, 0o600),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "logs", "link")), s.Remove("gone"))
	testkit.Works(t, "a link was followed", testkit.Err(os.Stat(outside)))
	testkit.Same(t, "left", []string{"kept"}, testkit.Must(s.runs.Names())(t))
}

func TestPrune(t *testing.T) {
	s := newTestStore(t)
	for i := range 6 {
		endRun(t, s, fmt.Sprint("run-", i), "", i, i != 1)
	}
	live := testkit.Must(s.Create(Meta{Run: "live"}, Options{}))(t)
	defer live.Close()
	setActive(t, live.Dir(), -5)
	testkit.OK(t, os.MkdirAll(filepath.Join(s.root.Path(), runsName, trashPrefix+"x", "y"), 0o700))
	testkit.Empty(t, "removed without a limit", testkit.Must(s.Prune(Retention{}))(t))
	work := filepath.Join(s.root.Path(), runsName, "run-2", WorkName, "orch-1")
	testkit.OK(t, os.MkdirAll(work, 0o700))
	var refused *WorkError
	err := s.Remove("run-2")
	testkit.Check(t, errors.As(err, &refused) && refused.Run == "run-2", "over the directory of an agent: %v", err)
	testkit.Same(t, "removed", []string{"run-0"}, testkit.Must(s.Prune(Retention{Runs: 6}))(t))
	testkit.Same(t, "removed", []string{"run-3"}, testkit.Must(s.Prune(Retention{Runs: 5}))(t))
	testkit.OK(t, os.Remove(work))
	testkit.Same(t, "removed", []string{"run-2"}, testkit.Must(s.Prune(Retention{Runs: 4}))(t))
	testkit.Same(t, "removed", []string{"run-4", "run-5"}, testkit.Must(s.Prune(Retention{Bytes: 1}))(t))
	left := testkit.Must(s.runs.Names())(t)
	slices.Sort(left)
	testkit.Same(t, "left", []string{"live", "run-1"}, left)
}

func TestReadWhileLive(t *testing.T) {
	s, r := newRun(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for seq := uint64(1); seq <= 2000; seq += 4 {
			add(t, r, seq, seq+3)
			syncRun(t, r)
		}
	})
	for last := uint64(0); ; {
		e := expectRecords{t: t}
		rec, err := s.Read(testRun, e.each)
		testkit.Need(t, err == nil && !rec.Harmed() && e.next >= last, "%+v, %v, %d records after %d", rec, err, e.next,
			last)
		last = e.next
		select {
		case <-stop:
			wg.Wait()
			checkRecords(t, s, 2000)
			return
		default:
		}
	}
}

func TestWriteCloseOpen(t *testing.T) {
	s := newTestStore(t)
	var committed atomic.Uint64
	r := createRun(t, s, testRun, Options{Committed: func(upTo uint64) { committed.Store(upTo) }})
	add(t, r, 1, 100)
	syncRun(t, r)
	testkit.Same(t, "durable up to", 100, r.Durable())
	testkit.OK(t, r.Update(t.Context(), func(m *Meta) { m.Title, m.Run, m.Closed = "new", "other", 99 }))
	m := r.Meta()
	testkit.Check(t, m.Title == "new" && m.Run == testRun && m.Closed == 0, "%+v", m)
	add(t, r, 101, 150)
	closeRun(t, r)
	testkit.Same(t, "committed up to", 150, committed.Load())
	testkit.Fails(t, "append after close", testkit.Err(r.Append(Input, nil)), ErrClosed)
	testkit.Fails(t, "finish after close", finish(context.Background(), r), ErrClosed)
	checkRecords(t, s, 150)

	r, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, rec.Records == 150 && rec.Damage == nil && rec.MetaLost == "" && r.Meta().Title == "new",
		"recovery: %+v, %+v", rec, r.Meta())
	add(t, r, 151, 200)
	syncRun(t, r)
	checkRecords(t, s, 200)
	testkit.Check(t, r.Dir() != "" && r.ID() == testRun && r.LockFile() != nil, "a run without a place")
}

// TestReadTo reads from the last snapshot before an input: the newest one, or the previous one, which is kept.
func TestReadTo(t *testing.T) {
	s, r := newRun(t)
	for n := uint64(10); n <= 30; n += 10 {
		add(t, r, n-9, n)
		syncRun(t, r)
		testkit.Need(t, r.Snapshot(func() ([]byte, error) { return snapshotAt(n, n), nil }), "no snapshot was begun")
		testkit.OK(t, r.Update(t.Context(), func(*Meta) {})) // it comes after the snapshot, or beside it
		closeRun(t, r)
		r, _ = openRun(t, s, testRun, Options{})
	}
	add(t, r, 31, 35)
	closeRun(t, r)
	for upTo, want := range map[uint64]struct{ records, snapshot uint64 }{
		35: {35, 30}, 32: {32, 30}, 30: {30, 30}, 29: {}, 100: {35, 30},
	} {
		e := expectRecords{t: t}
		rec, err := s.ReadTo(testRun, upTo, e.each)
		testkit.Check(t, err == nil && rec.Records == want.records && e.snapshot == want.snapshot &&
			rec.Damage == nil && e.next == want.records, "up to %d: %v, %+v, want %+v", upTo, err, rec, want)
	}
}

// TestALongRunIsResumedLikeAShortOne: a resume reads as much of a run with a large event log as of one with a small
// one, and all of both can be read.
func TestALongRunIsResumedLikeAShortOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		short, long := resumedBytes(t, 2), resumedBytes(t, 200)
		testkit.Check(t, long <= short+1000, "to resume a long run %d bytes were read, and %d for a short one", long,
			short)
	})
}

// resumedBytes writes a run with so many snapshots, and returns how many bytes its resume reads.
func resumedBytes(t *testing.T, snapshots int) int {
	t.Helper()
	m, o, upTo := newMemFS(), Options{MaxBytes: 100_000}, uint64(0)
	s := freshStore(t, m)
	r := testkit.Must(s.Create(Meta{Run: testRun}, o))(t)
	for range snapshots {
		add(t, r, upTo+1, upTo+100)
		syncRun(t, r)
		for range 100 {
			upTo++
			testkit.OK(t, r.AppendEvents(linesOf(upTo)...))
		}
		testkit.Need(t, r.Snapshot(func() ([]byte, error) { return snapshotAt(upTo, upTo), nil }),
			"no snapshot was begun")
		synctest.Wait()
	}
	closeRun(t, r)
	m.read = 0
	r, rec := openRun(t, s, testRun, o)
	read := m.read
	testkit.Check(t, rec.Records == upTo && rec.Damage == nil, "%d records: %+v", upTo, rec)
	closeRun(t, r)
	checkTold(t, s, upTo)
	return read
}

// TestRefusedResumeChangesNothing: for example because of a state of another version. A torn end of the event
// log is kept, too: in that version it may not be torn.
func TestRefusedResumeChangesNothing(t *testing.T) {
	s, r := newRun(t)
	add(t, r, 1, 10)
	closeRun(t, r)
	log := filepath.Join(r.Dir(), LogName)
	testkit.Append(t, log, "{\"another\":\"form\"}\n{\"torn")
	before := listing(t, r.Dir())
	refusal := errors.New("another version")
	_, _, err := s.Open(testRun, 0, Options{}, func(*Recovered) ([]byte, error) { return nil, refusal })
	testkit.Check(t, errors.Is(err, refusal), "open: %v", err)
	testkit.Same(t, "files were touched", before, listing(t, r.Dir()))
	r, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, !rec.Harmed() && len(rec.Damage) == 1 && rec.Damage[0].SetAside != "", "%+v", rec)
	closeRun(t, r)
	checkTold(t, s, 10)
}

// exported returns the files of a run with so many records, as Keep returns them.
func exported(t *testing.T, records uint64) map[string][]byte {
	t.Helper()
	s, r := newRun(t)
	add(t, r, 1, records)
	syncRun(t, r)
	_, err := s.Keep(testRun)
	testkit.Check(t, isHeld(err), "keep a live run: %v", err)
	closeRun(t, r)
	k := testkit.Must(s.Keep(testRun))(t)
	defer k.Close()
	err = s.Remove(testRun)
	testkit.Check(t, isHeld(err), "remove a run that is kept: %v", err)
	names := testkit.Must(k.Files())(t)
	files := map[string][]byte{}
	for _, name := range names {
		content, size, err := k.Open(name)
		testkit.OK(t, err)
		b, err := io.ReadAll(content)
		testkit.Check(t, err == nil && int64(len(b)) == size, "%s: %d of %d bytes, %v", name, len(b), size, err)
		content.Close()
		files[name] = b
	}
	testkit.Need(t, len(files) >= 3 && files[lockName] == nil, "files: %v", names)
	return files
}

func stageAll(t *testing.T, s *Store, files map[string][]byte) *Staged {
	t.Helper()
	g := testkit.Must(s.Stage(testRun))(t)
	t.Cleanup(func() { g.Close() })
	for name, b := range files {
		testkit.OK(t, g.Add(name, bytes.NewReader(b)))
	}
	return g
}

// hidden fails if a run is visible.
func hidden(t *testing.T, s *Store) {
	t.Helper()
	list, err := s.List()
	testkit.Check(t, err == nil && len(list) == 0, "runs: %v, %v", list, err)
}

func TestImport(t *testing.T) {
	files := exported(t, 7)
	s := newTestStore(t)
	g := stageAll(t, s, files)
	testkit.OK(t, g.Add("beside/-some-project/x.jsonl", strings.NewReader("x")))
	hidden(t, s)
	here := t.TempDir()
	failed := errors.New("not yet")
	testkit.Fails(t, "committed", g.Commit(func(*Meta) {}, func() error { return failed }), failed)
	hidden(t, s)
	testkit.OK(t, g.Commit(func(m *Meta) { m.CWD = here }, func() error { return nil }), g.Close())
	info, err := s.Latest(here, nil)
	testkit.Check(t, err == nil && info.Run == testRun && info.Imported && !info.Damaged && !info.Live, "%+v, %v", info,
		err)
	b := testkit.Must(os.ReadFile(filepath.Join(s.runs.Path(), testRun, "beside", "-some-project", "x.jsonl")))(t)
	testkit.Same(t, "the file beside it", "x", string(b))
	testkit.Fails(t, "imported twice", testkit.Err(s.Stage(testRun)), ErrExists)
	r, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, !rec.Harmed() && rec.Records == 7 && r.Meta().Imported, "%+v, %+v", rec, r.Meta())
}

// A killed import is invisible, and removed by the next one or when runs are pruned.
func TestImportCutShort(t *testing.T) {
	files := exported(t, 3)
	s := newTestStore(t)
	left := func(when string, n int) {
		t.Helper()
		names := testkit.Must(s.runs.Names())(t)
		testkit.Check(t, len(names) == n, "left %s: %v, want %d", when, names, n)
	}
	for _, next := range []string{"runs are pruned", "another import"} {
		g := stageAll(t, s, files)
		testkit.Must(s.Prune(Retention{}))(t)
		left("while it is under way", 1)
		g.lock.Close() // as the kernel does
		hidden(t, s)
		if next == "another import" {
			g = stageAll(t, s, files)
			left("beside "+next, 1)
			testkit.OK(t, g.Close())
		} else {
			testkit.Must(s.Prune(Retention{}))(t)
		}
		left("after "+next, 0)
	}
}

func TestImportIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(files map[string][]byte){
		"no records":     func(files map[string][]byte) { delete(files, segmentName(1)) },
		"no events":      func(files map[string][]byte) { delete(files, "events.ndjson") },
		"no description": func(files map[string][]byte) { delete(files, metaName) },
		"damaged records": func(files map[string][]byte) {
			files[segmentName(1)][headerSize+150] ^= 1
		},
		"a description of another run": func(files map[string][]byte) {
			files[metaName], _ = encodeSmall(metaVersion, Meta{Run: "another"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			files := exported(t, 7)
			spoil(files)
			s := newTestStore(t)
			g := stageAll(t, s, files)
			last := func() error { t.Error("it was believed"); return nil }
			testkit.Fails(t, "it was taken", g.Commit(func(*Meta) {}, last))
			hidden(t, s)
		})
	}
	s := newTestStore(t)
	g := stageAll(t, s, nil)
	for _, name := range []string{"", "..", "../x", "a/../../x", "/x", "a//b", ".hidden", "a/.b", "a\x00", "ä",
		strings.Repeat("x", 256)} {
		testkit.Fails(t, fmt.Sprintf("%q was written", name), g.Add(name, strings.NewReader("x")))
	}
	testkit.OK(t, g.Add("x", strings.NewReader("1")))
	testkit.Fails(t, "a file was replaced", g.Add("x", strings.NewReader("2")))
}

// TestLockWorkspace: a directory has one lock, by every path to it, and the lock leaves no file in it. The lock
// is released when its owner ends.
func TestLockWorkspace(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(dir, link))
	first, err := LockWorkspace(dir)
	if errors.Is(err, ErrNoDirLock) {
		t.Skip(err)
	}
	testkit.OK(t, err)
	_, err = LockWorkspace(link)
	var held *HeldError
	testkit.Check(t, errors.As(err, &held) && (runtime.GOOS != "linux" || held.PID == os.Getpid() || held.PID == 0),
		"a second lock: %v, by process %d", err, held.PID)
	testkit.OK(t, first.Close())
	again := testkit.Must(LockWorkspace(link))(t)
	again.Close()
	list, err := os.ReadDir(dir)
	testkit.Check(t, err == nil && len(list) == 0, "left in the workspace: %v, %v", list, err)
	testkit.Fails(t, "of a directory that is not there", testkit.Err(LockWorkspace(filepath.Join(dir, "none"))),
		ErrNoDirLock)
}
