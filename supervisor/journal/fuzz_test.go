package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write the seed corpora")

// A seed of FuzzRecover is the bytes of one or two segments.
type recoverSeed struct{ first, second []byte }

// segmentWith is a segment with any header and frames that are a chain from prev, one per batch.
func segmentWith(h header, seqs ...uint64) []byte {
	b, prev := h.encode(), h.prev
	for _, seq := range seqs {
		f := appendFrame(nil, seq, kindOf(seq), payload(seq))
		prev = chainBatch(f, seedOf(testRun), prev)
		b = append(b, f...)
	}
	return b
}

func headerAt(base uint64, prev uint32) header {
	return newHeader(testRun, base, 0, prev, 0)
}

// crcAfter is the crc of the last frame of a segment of equal frames.
func crcAfter(b []byte, frames int) uint32 {
	return binary.LittleEndian.Uint32(b[headerSize+(frames-1)*(frameHead+100):])
}

// recoverSeeds are the states in which the files of a run may be found.
func recoverSeeds() map[string]recoverSeed {
	start := headerAt(1, seedOf(testRun))
	good, ends := journalOf(2, 3, 1)
	edit := func(change func(b []byte)) []byte {
		b := bytes.Clone(good)
		change(b)
		return b
	}
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	frame := func(n int) []byte { return good[ends[n-1]:ends[n]] }
	long := segmentWith(start, 1, 2, 3, 4, 5, 6)
	withVersion := func(v int) header {
		h := headerAt(1, seedOf(testRun))
		h.version = v
		return h
	}
	snapped := segmentWithSnapshot(4, crcAfter(long, 3), 4, 5)
	return map[string]recoverSeed{
		"good":               {first: good},
		"empty":              {first: []byte{}},
		"object":             {first: []byte("{}")},
		"array":              {first: []byte("[]")},
		"null":               {first: []byte("null")},
		"zeros":              {first: make([]byte, 1000)},
		"random":             {first: randomBytes(4 << 10)},
		"header only":        {first: good[:headerSize]},
		"half a header":      {first: good[:headerCopy]},
		"valid then garbage": {first: join(good, randomBytes(999))},
		"valid then zeros":   {first: join(good, make([]byte, 999))},
		"garbage then valid": {first: join(randomBytes(headerSize), good[headerSize:])},
		"garbage in between": {first: join(good[:ends[3]], randomBytes(77), good[ends[3]:])},
		"torn":               {first: good[:ends[4]+50]},
		"crc off by one":     {first: edit(func(b []byte) { b[ends[2]]++ })},
		"crc of chain off":   {first: edit(func(b []byte) { b[ends[2]+8]++ })},
		"length 2^32-1":      {first: edit(func(b []byte) { binary.LittleEndian.PutUint32(b[ends[3]+4:], 1<<32-1) })},
		"length 0":           {first: edit(func(b []byte) { binary.LittleEndian.PutUint32(b[ends[3]+4:], 0) })},
		"version 0":          {first: segmentWith(withVersion(0), 1)},
		"version 999":        {first: segmentWith(withVersion(999), 1)},
		"another run":        {first: segmentWith(newHeader("another", 1, 0, 0, 0), 1)},
		"sequence gap":       {first: segmentWith(start, 1, 2, 4, 5)},
		"sequence repeat":    {first: segmentWith(start, 1, 2, 2, 3)},
		"sequence reversed":  {first: segmentWith(start, 3, 2, 1)},
		"sequence overflow":  {first: segmentWith(start, 1, 1<<64-1)},
		"frame left out":     {first: join(good[:ends[2]], good[ends[3]:])},
		"frame doubled":      {first: join(good[:ends[3]], frame(3), good[ends[3]:])},
		"frames swapped":     {first: join(good[:ends[1]], frame(3), frame(2), good[ends[3]:])},
		"overlap":            {long, segmentWith(headerAt(4, crcAfter(long, 3)), 4, 5)},
		"overlap, replaced":  {long, segmentWith(headerAt(1, seedOf(testRun)), 1, 2)},
		"overlap, no chain":  {long, segmentWith(headerAt(4, 12345), 4, 5)},
		"segments apart":     {long, segmentWith(headerAt(9, 12345), 9, 10)},
		"base 0":             {first: segmentWith(headerAt(0, 0), 1)},
		"base 2^64-1":        {first: segmentWith(headerAt(1<<64-1, 0), 1<<64-1)},
		"second is garbage":  {long, randomBytes(999)},
		"second is empty":    {long, []byte{}},
		"control bytes":      {first: controlBytes()},
		"snapshot":           {first: snapped},
		"snapshot, torn":     {first: snapped[:len(snapped)-7]},
		"snapshot behind":    {long, snapped},
		"snapshot damaged":   {long, flipped(snapped, headerSize+frameHead+1)},
		"snapshot, no more":  {first: flipped(snapped, headerSize+frameHead+1)},
		"snapshot cut off":   {long, snapped[:headerSize+frameHead+1]},
		"snapshot, no head":  {long, join(make([]byte, headerSize), snapped[headerSize:])},
		"snapshot inside":    {first: join(good[:ends[3]], snapped[headerSize:])},
	}
}

// segmentWithSnapshot begins with a snapshot of what comes before base.
func segmentWithSnapshot(base uint64, prev uint32, seqs ...uint64) []byte {
	snapshot := snapshotAt(base-1, base-1)
	h := newHeader(testRun, base, base-1, prev, len(snapshot))
	return slices.Concat(h.encode(), snapshotFrame(snapshot, h), segmentWith(h, seqs...)[headerSize:])
}

func flipped(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 1
	return b
}

// controlBytes has a record with each C0 and C1 byte.
func controlBytes() []byte {
	var text []byte
	for c := range rune(0xa0) {
		text = append(text, string(c)...)
	}
	f := appendFrame(nil, 1, Input, text)
	chainBatch(f, seedOf(testRun), seedOf(testRun))
	return append(headerAt(1, seedOf(testRun)).encode(), f...)
}

// TestSeedCorpus compares the checked-in seeds with the code, or writes them with -update.
func TestSeedCorpus(t *testing.T) {
	want := map[string]string{}
	for name, s := range recoverSeeds() {
		file := filepath.Join("testdata", "fuzz", "FuzzRecover",
			strings.NewReplacer(" ", "-", ",", "", "^", "").Replace(name))
		want[file] = fmt.Sprintf("go test fuzz v1\n[]byte(%q)\n[]byte(%q)\n", s.first, s.second)
	}
	for file, content := range want {
		if *update {
			testkit.OK(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o755),
				os.WriteFile(file, []byte(content), 0o644)))
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != content {
			t.Errorf("%s is not what the code makes (go test -run TestSeedCorpus -update): %v", file, err)
		}
	}
}

// TestSeedsRecover checks how many records are recovered from each seed, and whether damage is reported.
func TestSeedsRecover(t *testing.T) {
	seeds := recoverSeeds()
	for name, want := range map[string]struct {
		records uint64
		harmed  bool
	}{
		"good": {6, false}, "header only": {0, false}, "half a header": {0, false},
		"empty": {0, true}, "zeros": {0, true},
		"valid then garbage": {6, false}, "valid then zeros": {6, false}, "torn": {4, false},
		"garbage then valid": {6, false}, "garbage in between": {3, true},
		"crc off by one": {2, true}, "crc of chain off": {2, true}, "length 2^32-1": {3, true}, "length 0": {3, true},
		"sequence gap": {2, true}, "sequence repeat": {2, true}, "sequence reversed": {0, true},
		"sequence overflow": {1, true}, "frame left out": {2, true}, "frame doubled": {3, true},
		"frames swapped": {1, true}, "overlap": {5, false}, "overlap, replaced": {2, false},
		"overlap, no chain": {3, true}, "segments apart": {6, true}, "base 0": {0, true}, "base 2^64-1": {0, true},
		"second is empty": {6, true}, "control bytes": {1, false}, "snapshot": {5, false}, "snapshot, torn": {4, false},
		"snapshot behind": {5, false}, "snapshot damaged": {5, false}, "snapshot, no more": {0, true},
		"snapshot cut off": {3, true}, "snapshot, no head": {5, false}, "snapshot inside": {3, true},
	} {
		_, s := memRun(seeds[name].segments()...)
		rec, err := s.Read(testRun, nil)
		testkit.Check(t, err == nil && rec.Records == want.records && rec.Harmed() == want.harmed,
			"%s: %v, %+v, want %+v", name, err, rec, want)
	}
}

func (s recoverSeed) segments() [][]byte {
	if s.second == nil {
		return [][]byte{s.first}
	}
	return [][]byte{s.first, s.second}
}

// FuzzRecover: with any segments, either the run is refused and unchanged, or it opens with a prefix without
// gaps, accepts more records, and opens again with all of them.
func FuzzRecover(f *testing.F) {
	f.Fuzz(func(t *testing.T, first, second []byte) {
		m, s := memRun(recoverSeed{first, second}.segments()...)
		var seen []Record
		before := len(m.log)
		rec, err := s.Read(testRun, func(r Record) error {
			seen = append(seen, Record{r.Seq, r.Kind, bytes.Clone(r.Payload)})
			return nil
		})
		testkit.Need(t, len(m.log) == before, "reading changes the disk")
		if err != nil {
			var version *VersionError
			var foreign *ForeignError
			testkit.Need(t, errors.As(err, &version) || errors.As(err, &foreign), "%v", err)
			if _, _, err := s.Open(testRun, 0, Options{}, resumeTest); err == nil {
				t.Fatal("it opens what it does not read")
			}
			for n, b := range (recoverSeed{first, second}).segments() {
				testkit.Need(t, bytes.Equal(segmentNode(m, n+1).data, b), "a refused file was touched")
			}
			return
		}
		for i, r := range seen {
			switch {
			case i == 0 && r.Kind == Snapshot && r.Seq == rec.Snapshot:
			case i == 0 && r.Seq != 1 || i > 0 && r.Seq != seen[i-1].Seq+1 || r.Kind == Snapshot:
				t.Fatalf("record %d has number %d and kind %d", i+1, r.Seq, r.Kind)
			}
		}
		if n := len(seen); n > 0 && rec.Records != seen[n-1].Seq || n == 0 && rec.Records != 0 {
			t.Fatalf("%d records, and %d seen", rec.Records, len(seen))
		}
		goOn(t, s, rec, seen)
	})
}

// goOn opens a run, adds a record and reads all records again.
func goOn(t *testing.T, s *Store, found Recovery, seen []Record) {
	var again []Record
	r, rec, err := s.Open(testRun, 0, Options{}, func(r *Recovered) ([]byte, error) {
		return []byte("state"), r.Records(func(r Record) error {
			again = append(again, Record{r.Seq, r.Kind, bytes.Clone(r.Payload)})
			return nil
		})
	})
	if errors.Is(err, ErrNoSnapshot) && found.Harmed() && found.Records == 0 {
		return
	}
	testkit.Need(t, err == nil && rec.Records == found.Records && reflect.DeepEqual(seen, again), "%v, %+v", err, rec)
	seq, err := r.Append(Input, []byte("more"))
	testkit.Need(t, err == nil && seq == found.Records+1, "append: %d, %v", seq, err)
	testkit.OK(t, r.Close())
	want := []Record{{found.Records, Snapshot, []byte("state")}, {seq, Input, []byte("more")}}
	if found.Records == 0 {
		want = want[1:]
	}
	rec, err = s.Read(testRun, func(r Record) error {
		testkit.Need(t, len(want) != 0 && reflect.DeepEqual(r, want[0]), "record %d has changed", r.Seq)
		want = want[1:]
		return nil
	})
	testkit.Need(t, err == nil && rec.Records == seq && len(want) == 0, "the second time: %v, %+v", err, rec)
}

// FuzzFrame: a written frame reads back unchanged, and a frame that can be read encodes to the same
// bytes.
func FuzzFrame(f *testing.F) {
	good := segmentWith(headerAt(1, seedOf(testRun)), 1)[headerSize:]
	f.Add(good, uint64(1), uint8(1))
	f.Add([]byte{}, uint64(1<<64-1), uint8(2))
	f.Add(good[:frameHead], uint64(0), uint8(0))
	f.Add(bytes.Repeat([]byte{0xff}, 64), uint64(7), uint8(3))
	f.Fuzz(func(t *testing.T, b []byte, seq uint64, kind uint8) {
		seed := seedOf(testRun)
		made := appendFrame(nil, seq, Kind(kind), b)
		crc := chainBatch(made, seed, 42)
		got, err := parseFrame(made, seed)
		testkit.Need(t, (Kind(kind) >= Input && Kind(kind) <= Snapshot) == (err == nil), "kind %d: %v", kind, err)
		testkit.Need(t, err != nil || got.Seq == seq && got.Kind == Kind(kind) && bytes.Equal(got.Payload, b) &&
			got.crc == crc && got.prev == 42 && got.nth == 0, "%+v", got)
		if len(b) < frameHead {
			return
		}
		n, err := frameLength(b, int64(len(b)))
		if err != nil {
			return
		}
		if got, err := parseFrame(b[:n], seed); err == nil && got.nth == 0 {
			again := appendFrame(nil, got.Seq, got.Kind, got.Payload)
			chainBatch(again, seed, got.prev)
			testkit.Need(t, bytes.Equal(again, b[:n]), "%x reads well and is written as %x", b[:n], again)
		}
	})
}
