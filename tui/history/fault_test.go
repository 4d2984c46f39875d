package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// notices adds n notices of about 1 KB, numbered from the first entry on.
func notices(c *Store, n int) {
	for range n {
		addAll(c, "orch-1", contract.Notice{Text: fmt.Sprintf("%d %s", c.len(), strings.Repeat("x", 1000))})
	}
}

// readable counts the entries that can be read, and checks them.
func readable(t *testing.T, th *Thread) (n int) {
	t.Helper()
	for i := range th.Len() {
		e, ok := th.Entry(i)
		if !ok {
			continue
		}
		n++
		if b, is := e.Event.Body.(contract.Notice); !is || !strings.HasPrefix(b.Text, fmt.Sprint(e.N, " x")) {
			t.Fatalf("entry %d is %.20q", e.N, b.Text)
		}
	}
	return n
}

// TestFullDisk: the store loses the oldest of the new entries, and reports how many. When there is room
// again, the store uses it.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := []*memFile{{}, {}, {}}
		c := begin(disk{events: files[0], index: files[1], lists: files[2]}, nil, leastMemory)
		check := func(kept, lost int, problem error) {
			t.Helper()
			if n := readable(t, c.All()); n < kept || n+lost < c.len() {
				t.Errorf("%d of %d can be read", n, c.len())
			}
			for _, th := range []*Thread{c.Talk(), c.Agent("orch-1")} {
				if n := readable(t, th); n < kept-listChunk/numberSize {
					t.Errorf("%d of %d can be read in a thread", n, c.len())
				}
			}
			n, err := c.Lost()
			if n != c.len()-readable(t, c.All()) || lost == 0 && n > 0 || !errors.Is(err, problem) ||
				err == nil != (problem == nil) {
				t.Errorf("lost %d of %d, of which %d can be read: %v", n, c.len(), readable(t, c.All()), err)
			}
		}
		notices(c, 3000)
		check(3000, 0, nil)
		for _, f := range files {
			f.set(max(len(f.b), 1), false)
		}
		notices(c, 3000)
		check(4000, 2000, errFull)
		notices(c, 3000)
		check(4000, 5000, errFull)
		for _, f := range files {
			f.set(0, false)
		}
		time.Sleep(again)
		notices(c, 3000)
		check(7000, 5000, nil)
		before, _ := c.Lost()
		notices(c, 3000)
		check(10_000, before, nil)
	})
}

func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no device that is always full: ", err)
	}
	defer full.Close()
	c := begin(disk{events: full, index: full, lists: full}, nil, leastMemory)
	notices(c, 5000)
	n := readable(t, c.All())
	if lost, err := c.Lost(); n < 1000 || lost != 5000-n || err == nil ||
		!strings.Contains(err.Error(), "no space left") {
		t.Errorf("%d can be read, %d lost: %v", n, lost, err)
	}
}

// TestMemoryOnly: without a directory the newest entries are kept, and no problem is reported.
func TestMemoryOnly(t *testing.T) {
	c := open(t, Options{})
	notices(c, 10_000)
	n := readable(t, c.All())
	if lost, err := c.Lost(); n < 2000 || lost != 10_000-n || err != nil {
		t.Errorf("%d can be read, %d lost: %v", n, lost, err)
	}
	if e, ok := c.All().Entry(9999); !ok || e.N != 9999 {
		t.Error("the last one is lost")
	}
	if e, ok := c.All().Entry(0); ok || e.N != 0 {
		t.Error("the first one is not lost")
	}
}

// TestDiskUseIsBounded: a flood does not fill the disk.
func TestDiskUseIsBounded(t *testing.T) {
	c := open(t, Options{Dir: t.TempDir(), Disk: 1 << 20})
	notices(c, 10_000)
	n := readable(t, c.All())
	if lost, err := c.Lost(); n < 3000 || lost != 10_000-n || !errors.Is(err, errEnough) {
		t.Errorf("%d can be read, %d lost: %v", n, lost, err)
	}
	if s, err := eventsFile(c).Stat(); err != nil || s.Size() > 1<<20 || s.Size() < 1<<19 {
		t.Errorf("%d bytes, %v", s.Size(), err)
	}
	for _, at := range []int{0, 9999} {
		if _, ok := c.All().Entry(at); !ok {
			t.Errorf("entry %d is lost", at)
		}
	}
}

func eventsFile(c *Store) *os.File { return c.disk.events.(capped).file.(*os.File) }

func TestInvalidDirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := open(t, Options{Dir: filepath.Join(name, "below")})
	notices(c, 10)
	if lost, err := c.Lost(); readable(t, c.All()) != 10 || lost != 0 || err == nil {
		t.Errorf("%d lost: %v", lost, err)
	}
	for _, o := range []Options{{Memory: -1}, {Disk: -1}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

// TestDeletedDirectory: the files have no names anyway.
func TestDeletedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c := open(t, Options{Dir: dir})
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	notices(c, 5000)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	notices(c, 5000)
	filtered := c.Filter(Filter{Kinds: []string{"notice"}})
	filtered.Follow(t.Context())
	if n := readable(t, filtered); n != 10_000 || readable(t, c.All()) != 10_000 {
		t.Errorf("%d of 10000 can be read", n)
	}
	if lost, err := c.Lost(); lost != 0 || err != nil {
		t.Errorf("lost %d: %v", lost, err)
	}
}

// TestTornFiles truncates the files, and changes bytes in them, without the store's knowledge: damaged
// entries are missing, no others are, and nothing is wrong.
func TestTornFiles(t *testing.T) {
	for name, damage := range map[string]func(c *Store) error{
		"events cut": func(c *Store) error { return eventsFile(c).Truncate(1 << 20) },
		"index cut":  func(c *Store) error { return c.disk.index.(*os.File).Truncate(20_000) },
		"all cut": func(c *Store) error {
			return errors.Join(eventsFile(c).Truncate(0), c.disk.index.(*os.File).Truncate(0))
		},
		"events change": func(c *Store) error { _, err := c.disk.events.WriteAt([]byte("rubbish"), 5000); return err },
		"index changes": func(c *Store) error { _, err := c.disk.index.WriteAt([]byte("rubbish"), 5000); return err },
		"files closed":  func(c *Store) error { return c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Options{Dir: t.TempDir(), Memory: leastMemory})
			notices(c, 12_000)
			if err := damage(c); err != nil {
				t.Fatal(err)
			}
			n := readable(t, c.All())
			if n < 1000 || n == 12_000 || strings.HasSuffix(name, "s") && name != "files closed" && n < 11_990 {
				t.Errorf("%d of 12000 can be read", n)
			}
			if _, err := c.Lost(); err == nil {
				t.Error("no word of it")
			}
			if i, ok := c.Find(t.Context(), c.All(), "11999 X", 0, false); !ok || i != 11_999 {
				t.Errorf("found at %d, %v", i, ok)
			}
			c.Filter(Filter{Text: "x"}).Follow(t.Context())
		})
	}
}

// TestAfterClose: late calls do nothing.
func TestAfterClose(t *testing.T) {
	c := open(t, Options{Dir: t.TempDir()})
	notices(c, 3)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	v := c.Version()
	notices(c, 3)
	addAll(c, "o", contract.Delta{Text: "x"})
	c.Add(someTime, contract.Event{ID: "o"})
	if _, ok := c.Live("o"); ok || c.len() != 3 || c.Version() != v {
		t.Error("something was added")
	}
}
