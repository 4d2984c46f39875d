package journal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"golang.org/x/sys/unix"
)

// Faults of real file systems. Where the system does not let us cause them, the test says so and is skipped;
// other tests simulate the same faults in memory.

// tmpfsStore is a store on a file system of a given size, which root can mount.
func tmpfsStore(t *testing.T, size string) (dir string, s *Store) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		t.Skipf("CANNOT MOUNT a file system to fill up: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	return dir, openTestStore(t, filepath.Join(dir, "state"))
}

// TestRealFullDisk fills a file system of 64 KB under a run, and frees space again.
func TestRealFullDisk(t *testing.T) {
	dir, s := tmpfsStore(t, "64k")
	told := make(chan error, 100)
	r := createRun(t, s, testRun, Options{Trouble: func(err error) { told <- err }})
	addBatches(t, r, 10, 2)
	ballast := filepath.Join(dir, "ballast")
	os.WriteFile(ballast, make([]byte, 1<<20), 0o600) // fails half way
	add(t, r, 11, 200)
	err := testkit.Receive(t, "signal", told)
	testkit.Need(t, errors.Is(err, unix.ENOSPC), "trouble: %v", err)
	d := r.Durable()
	testkit.Check(t, d <= 100, "%d records are called durable", d) // some fit into the rest of a page
	add(t, r, 201, 210)
	testkit.OK(t, os.Remove(ballast))
	syncRun(t, r)
	testkit.Works(t, "trouble went on", testkit.Receive(t, "signal", told))
	closeRun(t, r)
	checkRecords(t, s, 210)
}

// TestRealFullDiskAtStart: Create and Open return errors, and leave nothing locked.
func TestRealFullDiskAtStart(t *testing.T) {
	dir, s := tmpfsStore(t, "64k")
	r := createRun(t, s, testRun, Options{})
	addBatches(t, r, 10, 1)
	closeRun(t, r)
	b := testkit.Must(os.ReadFile(filepath.Join(r.Dir(), segmentName(1))))(t)
	b[len(b)/2] ^= 1
	testkit.OK(t, os.WriteFile(filepath.Join(r.Dir(), segmentName(1)), b, 0o600))
	ballast := filepath.Join(dir, "ballast")
	os.WriteFile(ballast, make([]byte, 1<<20), 0o600)
	testkit.Fails(t, "create", testkit.Err(s.Create(Meta{Run: "second"}, Options{})), unix.ENOSPC)
	testkit.Fails(t, "open", opening(s, testRun, 0), unix.ENOSPC)
	testkit.Same(t, "records to read", 3, testkit.Must(s.Read(testRun, nil))(t).Records)
	testkit.OK(t, os.Remove(ballast))
	_, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, rec.Records == 3 && rec.Damage[0].SetAside != "", "%+v", rec)
	createRun(t, s, "second", Options{}) // the first try left nothing
}

// TestRealReadOnly: runs of a read-only file system are read, listed and exported, not opened.
func TestRealReadOnly(t *testing.T) {
	dir, s := tmpfsStore(t, "1m")
	r := createRun(t, s, testRun, Options{})
	add(t, r, 1, 10)
	closeRun(t, r)
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skipf("CANNOT REMOUNT: %v", err)
	}
	testkit.Fails(t, "open", opening(s, testRun, 0), unix.EROFS)
	testkit.Fails(t, "create", testkit.Err(s.Create(Meta{Run: "second"}, Options{})), unix.EROFS)
	testkit.Fails(t, "remove", s.Remove(testRun), unix.EROFS)
	again := openTestStore(t, filepath.Join(dir, "state"))
	checkRecords(t, again, 10)
	all, err := again.List()
	testkit.Check(t, err == nil && len(all) == 1 && !all[0].Damaged, "list: %+v, %v", all, err)
	kept := testkit.Must(again.Keep(testRun))(t)
	defer kept.Close()
	testkit.Fails(t, "kept twice", testkit.Err(s.Keep(testRun)), "is held by")
}

// TestFileSizeLimit: with a limit on the size of a file, a write is really partial. The run continues in
// further segments.
func TestFileSizeLimit(t *testing.T) {
	if _, err := exec.LookPath("prlimit"); err != nil {
		t.Skip("NO prlimit: a torn record of a real disk is not tried")
	}
	dir := t.TempDir()
	c := startChild(t, "write", dir, "100", "prlimit", "--fsize=3000")
	before, _ := c.until("done")
	<-c.ended
	seen := 0
	for _, line := range before {
		if strings.HasPrefix(line, "trouble") && strings.Contains(line, "file too large") {
			seen++
		}
	}
	testkit.Check(t, seen >= 3, "the limit was met %d times: %v", seen, before)
	checkRecords(t, openTestStore(t, dir), 100)
}

// needStrace is for faults that strace injects into a child's calls.
func needStrace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("NO strace: errors of system calls are not injected")
	}
	if out, err := exec.Command("strace", "-o", os.DevNull, "-e", "trace=getppid",
		"true").CombinedOutput(); err != nil {
		t.Skipf("strace DOES NOT WORK here: %v: %s", err, out)
	}
}

// strace wraps a command so that calls on the first segment fail, once it has its name. It counts for each
// thread.
func strace(dir, inject string) []string {
	call, _, _ := strings.Cut(inject, ":")
	segment := filepath.Join(dir, runsName, testRun, segmentName(1))
	return []string{"strace", "-f", "-q", "-o", os.DevNull, "-P", segment, "-e", "trace=" + call, "-e",
		"inject=" + inject}
}

// TestRealFailingCalls makes calls of the kernel fail in another process, which must still write all records.
func TestRealFailingCalls(t *testing.T) {
	testkit.WithoutRace(t)
	needStrace(t)
	for _, c := range []struct{ inject, trouble string }{
		{"fdatasync:error=EIO", "input/output error"},
		{"fdatasync:error=ENOSPC", "no space left"},
		{"pwrite64:error=ENOSPC:when=1..3", "no space left"},
		{"pwrite64:error=EDQUOT:when=1..3", "quota exceeded"},
		{"pwrite64:error=EROFS:when=1..3", "read-only file system"},
		{"pwrite64:error=EIO", "input/output error"},
		{"pwrite64:error=EINTR:when=1+2", ""},
		{"fdatasync:error=EINTR:when=1+2", ""},
	} {
		t.Run(c.inject, func(t *testing.T) {
			dir := t.TempDir()
			ch := startChild(t, "write", dir, "40", strace(dir, c.inject)...)
			before, _ := ch.until("done")
			<-ch.ended
			all := strings.Join(before, "\n")
			testkit.Check(t, (c.trouble != "") == strings.Contains(all, "trouble") && strings.Contains(all, c.trouble),
				"want trouble %q:\n%s", c.trouble, all)
			checkRecords(t, openTestStore(t, dir), 40)
		})
	}
}

// TestFewDescriptors: with nearly no descriptors left, opening fails and can be retried; a journal of many
// segments needs few.
func TestFewDescriptors(t *testing.T) {
	s, r := newRun(t)
	addBatches(t, r, 3, 1)
	closeRun(t, r)
	dir := testkit.Must(s.runs.Dir(testRun))(t)
	defer dir.Close()
	for n := 2; n <= 100; n++ { // as many crashes would leave
		sc := newScanner(dir, Meta{Run: testRun})
		testkit.OK(t, sc.scan())
		seg := testkit.Must(createSegment(dir, n, newHeader(testRun, 4, 3, sc.end.crc, 0), nil))(t)
		testkit.OK(t, seg.f.Close())
	}
	c := startChild(t, "open", s.root.Path(), "", "prlimit", "--nofile=24")
	testkit.Same(t, "with 24 descriptors", "opened 3", c.next())
	c.end()
	c = startChild(t, "open", s.root.Path(), "", "prlimit", "--nofile=7")
	testkit.Includes(t, "with 7 descriptors", c.next(), "too many open files")
	c.end()
	resumes(t, s, 3)
}
