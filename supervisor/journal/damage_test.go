package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// journalOf returns the bytes of a journal without seals in one segment with batches of
// the given sizes, and where each record ends.
func journalOf(batches ...int) (b []byte, ends []int64) {
	seed := seedOf(testRun)
	b = newHeader(testRun, 1, 0, seed, 0).encode()
	ends = []int64{headerSize}
	prev, seq := seed, uint64(0)
	for _, n := range batches {
		var batch []byte
		at := int64(len(b))
		for range n {
			seq++
			batch = appendFrame(batch, seq, kindOf(seq), payload(seq))
			ends = append(ends, at+int64(len(batch)))
		}
		prev = chainBatch(batch, seed, prev)
		b = append(b, batch...)
	}
	return b, ends
}

// memRun is a run in memory with the segments given.
func memRun(segments ...[]byte) (*memFS, *Store) {
	m := newMemFS()
	s := must(openStore(m.root()))
	check(s.runs.Mkdir(testRun))
	dir := must(s.runs.Dir(testRun))
	for i, b := range segments {
		must(must(dir.Open(segmentName(i+1), openCreate)).WriteAt(b, 0))
	}
	return m, s
}

// recordsBefore counts the records that end at or before off.
func recordsBefore(ends []int64, off int64) uint64 {
	i, exact := slices.BinarySearch(ends, off)
	if exact {
		i++
	}
	return uint64(max(i-1, 0))
}

func TestTruncatedAnywhere(t *testing.T) {
	testkit.WithoutRace(t)
	whole, ends := journalOf(1, 4, 10, 3)
	for size := range int64(len(whole)) + 1 {
		_, s := memRun(whole[:size])
		want := recordsBefore(ends, size)
		r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
		testkit.Need(t, err == nil, "%d bytes: %v", size, err)
		testkit.Check(t, rec.Records == want && (size < headerSize || !rec.Harmed()),
			"%d bytes: %+v, want %d records and no alarm", size, rec, want)
		torn := len(rec.Damage) > 0
		testkit.Check(t, size < headerSize || torn != slices.Contains(ends, size), "%d bytes: damage %+v", size,
			rec.Damage)
		add(t, r, want+1, want+3)
		closeRun(t, r)
		checkRecords(t, s, want+3)
		testkit.Need(t, !t.Failed(), "%d bytes", size)
	}
}

// TestEveryBitFlipped flips each bit of a journal of 64 KB. The records before the damaged one are not
// affected, so reading begins there, and only for some bits at the start.
func TestEveryBitFlipped(t *testing.T) {
	testkit.WithoutRace(t)
	var batches []int
	for n := 0; n < 528; n += 8 {
		batches = append(batches, 1, 4, 3)
	}
	whole, ends := journalOf(batches...)
	testkit.Need(t, len(whole) >= 64<<10, "only %d bytes", len(whole))
	seed := seedOf(testRun)
	links := []link{{crc: seed}}
	for i := range len(ends) - 1 {
		f, err := parseFrame(whole[ends[i]:ends[i+1]], seed)
		next := links[i]
		if err == nil {
			err = next.follow(&f)
		}
		testkit.OK(t, err)
		links = append(links, next)
	}
	var wg sync.WaitGroup
	parts := runtime.GOMAXPROCS(0)
	for part := range parts {
		wg.Go(func() {
			b := bytes.Clone(whole)
			for at := part; at < len(b); at += parts {
				for bit := range 8 {
					b[at] ^= 1 << bit
					checkFlip(t, b, ends, links, at)
					if (at*8+bit)%1999 == 0 || at < headerSize && bit == at%8 {
						checkFlipOpens(t, b, ends, at)
					}
					b[at] ^= 1 << bit
				}
			}
		})
	}
	wg.Wait()
}

// checkFlip reads the damaged record, in its place.
func checkFlip(t *testing.T, b []byte, ends []int64, links []link, at int) {
	if at < headerSize {
		return
	}
	n := int(recordsBefore(ends, int64(at)))
	head := b[ends[n]:]
	size, err := frameLength(head, int64(len(head)))
	if err != nil {
		return
	}
	f, err := parseFrame(head[:size], links[0].crc)
	if err == nil {
		l := links[n]
		err = l.follow(&f)
	}
	testkit.Fails(t, fmt.Sprintf("a flip in byte %d is not seen", at), err)
}

func checkFlipOpens(t *testing.T, b []byte, ends []int64, at int) {
	want := recordsBefore(ends, int64(at))
	if at < headerSize {
		want = uint64(len(ends)) - 1 // the other copy of the header is used
	}
	_, s := memRun(b)
	r, rec, err := s.Open(testRun, 0, Options{}, resumeTest)
	if err != nil {
		t.Errorf("byte %d: %v", at, err)
		return
	}
	testkit.Check(t, rec.Records == want && len(rec.Damage) == 1, "byte %d: %+v, want %d records and one damage", at,
		rec, want)
	// All but the last batch are known to have been durable.
	testkit.Check(t, rec.Harmed() == (want < uint64(len(ends))-4), "byte %d: harmed is %t: %+v", at, rec.Harmed(), rec)
	closeRun(t, r)
	resumes(t, s, want)
}

// TestMetaBitFlipped: a changed description is never accepted.
func TestMetaBitFlipped(t *testing.T) {
	m := Meta{Run: testRun, CWD: "/", Title: "a title", Finished: true, Status: "complete", Closed: 7}
	whole := testkit.Must(encodeSmall(metaVersion, m))(t)
	for at := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[at] ^= 1 << bit
			var got Meta
			err := decodeSmall(b, metaName, metaVersion, &got)
			testkit.Check(t, err != nil || got == m, "bit %d of byte %d makes it %+v", bit, at, got)
		}
	}
}

// TestDamageIsSetAside: on a real disk the prefix is kept, the rest is copied, existing files are not changed,
// and nothing is reported twice.
func TestDamageIsSetAside(t *testing.T) {
	s, r := newRun(t)
	addBatches(t, r, 40, 8)
	closeRun(t, r)
	_, ends := journalOf(8, 8, 8, 8, 8)
	path := filepath.Join(r.Dir(), segmentName(1))
	b := testkit.Must(os.ReadFile(path))(t)
	b[ends[16]+60] ^= 4
	testkit.OK(t, os.WriteFile(path, b, 0o600))
	testkit.OK(t, os.WriteFile(filepath.Join(r.Dir(), "damaged-1"), []byte("older"), 0o600))
	r, rec := openRun(t, s, testRun, Options{})
	testkit.Need(t, rec.Records == 16 && len(rec.Damage) == 1 && rec.Harmed(), "%+v", rec)
	d := rec.Damage[0]
	testkit.Check(t, d.Segment == segmentName(1) && d.Offset == ends[16] && d.Bytes == int64(len(b))-ends[16] &&
		d.Readable == 23 && d.SetAside == "damaged-2", "%+v", d)
	aside, err := os.ReadFile(filepath.Join(r.Dir(), "damaged-2"))
	testkit.Check(t, err == nil && bytes.Equal(aside, b[ends[16]:]), "set aside %d bytes, %v", len(aside), err)
	older, _ := os.ReadFile(filepath.Join(r.Dir(), "damaged-1"))
	testkit.Check(t, string(older) == "older", "an older file was replaced")
	now, _ := os.ReadFile(path)
	testkit.Check(t, bytes.Equal(now, b), "the damaged segment was changed")
	add(t, r, 17, 30)
	closeRun(t, r)
	resumes(t, s, 30)
}

// TestShortened: a journal that ends before the place where it was closed is damaged, though everything in it
// is good.
func TestShortened(t *testing.T) {
	s, r := newRun(t)
	addBatches(t, r, 20, 5)
	closeRun(t, r)
	_, ends := journalOf(5, 5, 5, 5)
	for i, size := range []int64{ends[19], ends[17] + 3, ends[12]} {
		testkit.OK(t, os.Truncate(filepath.Join(r.Dir(), segmentName(1)), size))
		rec, err := s.Read(testRun, nil)
		testkit.Check(t, err == nil && rec.Harmed() && rec.Records == []uint64{19, 17, 12}[i], "%d bytes: %+v, %v",
			size, rec, err)
	}
	testkit.OK(t, opening(s, testRun, 0))
	resumes(t, s, 12)
}

func TestMetaLost(t *testing.T) {
	for name, content := range map[string][]byte{
		"missing": nil, "empty": {}, "object": []byte("{}"), "array": []byte("[]"), "null": []byte("null"),
		"random": randomBytes(1 << 20),
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newRun(t)
			cwd := r.Meta().CWD
			add(t, r, 1, 5)
			closeRun(t, r)
			path := filepath.Join(r.Dir(), metaName)
			testkit.OK(t, os.Remove(path))
			if content != nil {
				testkit.OK(t, os.WriteFile(path, content, 0o600))
			}
			all, err := s.List()
			testkit.Check(t, err == nil && len(all) == 1 && all[0].Damaged && all[0].Unfinished && all[0].Problem != "",
				"list: %+v, %v", all, err)
			r, rec := openRun(t, s, testRun, Options{})
			testkit.Check(t, rec.Records == 5 && rec.MetaLost != "" && r.Meta().CWD == cwd, "%+v, %+v", rec, r.Meta())
			closeRun(t, r)
			info, err := s.Latest(cwd, nil)
			testkit.Check(t, err == nil && info.Run == testRun && !info.Damaged, "latest: %+v, %v", info, err)
		})
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(rnd.Uint32())
	}
	return b
}

// TestSparseSegment: a file of 1 TB without content costs neither memory nor minutes, and counts with the space
// that it takes on disk.
func TestSparseSegment(t *testing.T) {
	s, r := newRun(t)
	add(t, r, 1, 5)
	closeRun(t, r)
	path := filepath.Join(r.Dir(), segmentName(1))
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skipf("the file system has no sparse files: %v", err)
	}
	r, rec := openRun(t, s, testRun, Options{})
	testkit.Check(t, rec.Records == 5 && len(rec.Damage) == 1, "%+v", rec)
	testkit.Works(t, "the empty space is counted", testkit.Err(r.Append(Input, nil)))
	closeRun(t, r)
	info, err := s.Find(testRun)
	testkit.Check(t, err == nil && info.Bytes <= 1<<20, "%+v, %v", info, err)
}

func TestImpossibleLengthAllocatesNothing(t *testing.T) {
	whole, ends := journalOf(3)
	binary.LittleEndian.PutUint32(whole[ends[2]+4:], 1<<32-1)
	_, s := memRun(whole)
	allocs := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if rec, err := s.Read(testRun, nil); err != nil || rec.Records != 2 {
				b.Fatal(rec, err)
			}
		}
	}).AllocedBytesPerOp()
	testkit.Check(t, allocs <= 4<<20, "reading a journal of %d bytes allocates %d", len(whole), allocs)
}

func TestFormatsOfOthers(t *testing.T) {
	older, newer := &VersionError{Found: formatVersion - 1, Known: formatVersion},
		&VersionError{Found: formatVersion + 1, Known: formatVersion}
	testkit.Check(t, !older.Newer() && newer.Newer(), "which is newer")
	none := &ForeignError{Reason: "it is not a journal"}
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"older": {ofVersion(formatVersion - 1), older}, "newer": {ofVersion(formatVersion + 1), newer},
		"of another run": {segmentWith(newHeader("other-run", 1, 0, 0, 0), 1),
			&ForeignError{Run: "other-run", Reason: `it belongs to run "other-run"`}},
		"text": {bytes.Repeat([]byte("not a journal\n"), 99), none}, "random": {randomBytes(1 << 20), none},
	} {
		t.Run(name, func(t *testing.T) {
			s, r := newRun(t)
			closeRun(t, r)
			file := filepath.Join(r.Dir(), segmentName(1))
			testkit.OK(t, os.WriteFile(file, c.content, 0o600))
			reflect.ValueOf(c.want).Elem().FieldByName("File").SetString(file)
			before := listing(t, r.Dir())
			for _, err := range []error{opening(s, testRun, 0), testkit.Err(s.Read(testRun, nil))} {
				full := err
				for err != nil && !reflect.DeepEqual(err, c.want) {
					err = errors.Unwrap(err)
				}
				testkit.Check(t, err != nil, "%v, want %v", full, c.want)
			}
			testkit.Same(t, "files were touched", before, listing(t, r.Dir()))
			all, err := s.List()
			testkit.Check(t, err == nil && len(all) == 1 && all[0].Damaged, "list: %+v, %v", all, err)
		})
	}
}

// listing is the names and sums of all files of a directory.
func listing(t *testing.T, dir string) []string {
	t.Helper()
	entries := testkit.Must(os.ReadDir(dir))(t)
	var all []string
	for _, e := range entries {
		b := testkit.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		all = append(all, e.Name()+" "+smallSum(len(b), b))
	}
	return all
}
