//go:build linux || darwin

package journal

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestCrashPointsAreListed compares the list with the calls in the source.
func TestCrashPointsAreListed(t *testing.T) {
	names := testkit.Must(filepath.Glob("*.go"))(t)
	var called []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file := testkit.Must(parser.ParseFile(token.NewFileSet(), name, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "crash" {
				point, err := strconv.Unquote(call.Args[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Error(err)
				}
				called = append(called, point)
			}
			return true
		})
	}
	slices.Sort(called)
	if diff := cmp.Diff(slices.Sorted(slices.Values(CrashPoints)), called); diff != "" {
		t.Errorf("points (-listed +called):\n%s", diff)
	}
}

// TestKilledAtEachPoint kills a process at the first, second and third time that it passes each point, and then
// checks that everything it reported as durable exists.
func TestKilledAtEachPoint(t *testing.T) {
	testkit.WithoutRace(t)
	times := 2
	if testkit.AtNight() {
		times = 5
	}
	hit := hitPoints(t)
	for _, point := range CrashPoints {
		if hit[point] == 0 {
			t.Errorf("%s is never passed", point)
		}
		for nth := 1; nth <= min(times, hit[point]); nth++ {
			t.Run(fmt.Sprintf("%s/%d", point, nth), func(t *testing.T) { killAt(t, point, nth) })
		}
	}
}

// hitPoints runs one process without a kill, and counts the points it passes.
func hitPoints(t *testing.T) map[string]int {
	c := startChild(t, "process run", filepath.Join(t.TempDir(), "state"), "")
	hit := map[string]int{}
	before, _ := c.until("done")
	for _, line := range before {
		if point, ok := strings.CutPrefix(line, "hit "); ok {
			hit[point]++
		}
	}
	for point := range maps.Keys(hit) {
		if !slices.Contains(CrashPoints, point) {
			t.Errorf("%s is not listed", point)
		}
	}
	return hit
}

func killAt(t *testing.T, point string, nth int) {
	dir := filepath.Join(t.TempDir(), "state")
	c := startChild(t, "process run", dir, fmt.Sprintf("%s %d", point, nth))
	<-c.ended
	var promised uint64
	for line := range c.lines {
		if line == "done" || strings.HasPrefix(line, "error") {
			t.Fatalf("it was not killed: %s", line)
		}
		fmt.Sscanf(line, "committed %d", &promised)
	}
	s := openTestStore(t, dir)
	if _, err := s.List(); err != nil {
		t.Error(err)
	}
	r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
	if err != nil {
		if promised > 0 || !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
		return
	}
	if rec.Records < promised || rec.Harmed() {
		t.Errorf("%+v, want at least %d records", rec, promised)
	}
	closeRun(t, r)
	if strings.Contains(point, ".remove.") {
		s.Remove("hurt")
		if _, err := s.Prune(Retention{Runs: 1}); err != nil {
			t.Error(err)
		}
		if entries, err := os.ReadDir(filepath.Join(dir, runsName)); err != nil || len(entries) != 1 {
			t.Errorf("left: %v, %v", entries, err)
		}
	}
	c = startChild(t, "process run", dir, "") // and it continues from there
	c.until("done")
	<-c.ended
	checkRecords(t, reader(s, testRun), rec.Records+25)
}

// playProcessRun passes all crash points, once or more, and kills itself at the requested one.
func playProcessRun(dir string, say func(string, ...any)) error {
	point, nth := "", 0
	fmt.Sscan(os.Getenv(childArg), &point, &nth)
	CrashPoint = func(name string) {
		say("hit %s", name)
		if name == point {
			if nth--; nth == 0 {
				unix.Kill(os.Getpid(), unix.SIGKILL)
				select {}
			}
		}
	}
	s, err := OpenStore(dir)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := liveMain(s, say); err != nil {
		return err
	}
	return liveHurt(s)
}

// tellAndSnapshot adds lines to the event log, and then requests a snapshot. It returns when the lines and the
// snapshot are written, so that a process passes the same crash points each time, however the writer groups its
// work.
func tellAndSnapshot(r *Run) error {
	upTo := r.Durable()
	if err := r.AppendEvents(linesOf(upTo)...); err != nil {
		return err
	}
	for made := false; !made; {
		r.Snapshot(func() ([]byte, error) { made = true; return snapshotAt(upTo, upTo), nil })
		for underWay(r) { // the writer handles an update between two steps
			if err := r.Update(context.Background(), func(*Meta) {}); err != nil {
				return err
			}
		}
	}
	return nil
}

func underWay(r *Run) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.st.snapshots > 0
}

func liveMain(s *Store, say func(string, ...any)) error {
	o := Options{Committed: func(upTo uint64) { say("committed %d", upTo) }}
	r, _, err := s.Open(testRun, failAfter, o, resumeTest)
	if errors.Is(err, ErrNotFound) {
		r, err = s.Create(Meta{Run: testRun}, o)
	}
	if err != nil {
		return err
	}
	say("committed %d", r.Durable())
	for range 3 {
		if err := addSome(r, 5); err != nil {
			return err
		}
	}
	if err := fileLimit(r, func() error { return addSome(r, 5) }); err != nil {
		return err
	}
	for range 3 { // the third removes a segment
		if err := tellAndSnapshot(r); err != nil {
			return err
		}
		if err := r.Update(context.Background(), func(*Meta) {}); err != nil {
			return err
		}
	}
	if err := r.Update(context.Background(), func(m *Meta) { m.Title = "still alive" }); err != nil {
		return err
	}
	if err := addSome(r, 5); err != nil {
		return err
	}
	return r.Close()
}

func addSome(r *Run, n uint64) error {
	for seq := r.Durable() + 1; n > 0; seq, n = seq+1, n-1 {
		if _, err := r.Append(kindOf(seq), payload(seq)); err != nil {
			return err
		}
	}
	return r.Sync(context.Background())
}

// fileLimit lets the current segment grow by only 300 bytes, as on a full disk.
func fileLimit(r *Run, do func() error) error {
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		return err
	}
	var size int64
	err := filepath.WalkDir(r.Dir(), func(path string, d fs.DirEntry, err error) error {
		if _, ok := segmentNumber(d.Name()); err == nil && ok {
			info, err := d.Info()
			if err != nil {
				return err
			}
			size = info.Size() // of the last one
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(size) + 300, Max: old.Max}); err != nil {
		return err
	}
	return errors.Join(do(), unix.Setrlimit(unix.RLIMIT_FSIZE, &old))
}

// liveHurt creates a run, damages it, opens it, and removes it.
func liveHurt(s *Store) error {
	if err := s.Remove("hurt"); err != nil && !errors.Is(err, ErrNotFound) {
		return err
	}
	r, err := s.Create(Meta{Run: "hurt"}, Options{})
	if err != nil {
		return err
	}
	if err := errors.Join(addSome(r, 10), r.Close()); err != nil {
		return err
	}
	path := filepath.Join(r.Dir(), segmentName(1))
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	b[len(b)/2] ^= 1
	if err := errors.Join(os.WriteFile(path, b, 0o600),
		os.WriteFile(filepath.Join(r.Dir(), metaName+scratchSuffix), nil, 0o600),
		os.WriteFile(filepath.Join(r.Dir(), LogName), []byte(`{"torn":`), 0o600)); err != nil {
		return err
	}
	r, _, err = s.Open("hurt", 0, Options{}, resumeTest)
	if err != nil {
		return err
	}
	return errors.Join(r.Close(), s.Remove("hurt"))
}

// TestKilledOften kills a process that writes without a pause, after some commit, and lets the next one
// continue: nothing that was reported as durable is ever missing.
func TestKilledOften(t *testing.T) {
	testkit.WithoutRace(t)
	kills := 40
	if *long {
		kills = 1000
	}
	dir := filepath.Join(t.TempDir(), "state")
	s := openTestStore(t, dir)
	rnd := rand.New(rand.NewPCG(3, 4))
	var promised uint64
	for kill := range kills {
		c := startChild(t, "stream", dir, "")
		for range 1 + rnd.IntN(30) {
			_, line := c.until("committed")
			fmt.Sscanf(line, "committed %d", &promised)
		}
		c.cmd.Process.Kill()
		for line := range c.lines {
			fmt.Sscanf(line, "committed %d", &promised)
		}
		<-c.ended
		e := expectRecords{t: t}
		rec, err := s.Read(testRun, e.each)
		if err != nil || rec.Harmed() || e.next < promised {
			t.Fatalf("after kill %d: %v, %+v, want %d records", kill+1, err, rec, promised)
		}
	}
	r, _ := openRun(t, s, testRun, Options{})
	closeRun(t, r)
	t.Logf("%d kills, %d records", kills, r.Durable())
}
