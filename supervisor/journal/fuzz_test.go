package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// recoverSeed is a seed of FuzzRecover: the bytes of one or two segments, how many records are recovered from them, and
// whether damage is reported.
type recoverSeed struct {
	first, second []byte
	records       int // refused: it is no journal of this run
	harmed        bool
}

const refused = -1

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

// ofVersion is a segment of another version.
func ofVersion(v int) []byte {
	h := headerAt(1, seedOf(testRun))
	h.version = v
	return segmentWith(h, 1)
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
	snapped := segmentWithSnapshot(4, crcAfter(long, 3), 4, 5)
	return map[string]recoverSeed{
		"good":               {good, nil, 6, false},
		"empty":              {[]byte{}, nil, 0, true},
		"object":             {[]byte("{}"), nil, refused, false},
		"array":              {[]byte("[]"), nil, refused, false},
		"null":               {[]byte("null"), nil, refused, false},
		"zeros":              {make([]byte, 1000), nil, 0, true},
		"random":             {randomBytes(4 << 10), nil, refused, false},
		"header only":        {good[:headerSize], nil, 0, false},
		"half a header":      {good[:headerCopy], nil, 0, false},
		"valid then garbage": {join(good, randomBytes(999)), nil, 6, false},
		"valid then zeros":   {join(good, make([]byte, 999)), nil, 6, false},
		"garbage then valid": {join(randomBytes(headerSize), good[headerSize:]), nil, 6, false},
		"garbage in between": {join(good[:ends[3]], randomBytes(77), good[ends[3]:]), nil, 3, true},
		"torn":               {good[:ends[4]+50], nil, 4, false},
		"crc off by one":     {edit(func(b []byte) { b[ends[2]]++ }), nil, 2, true},
		"crc of chain off":   {edit(func(b []byte) { b[ends[2]+8]++ }), nil, 2, true},
		"length 2^32-1":      {edit(func(b []byte) { copy(b[ends[3]+4:], "\xff\xff\xff\xff") }), nil, 3, true},
		"length 0":           {edit(func(b []byte) { clear(b[ends[3]+4 : ends[3]+8]) }), nil, 3, true},
		"version 0":          {ofVersion(0), nil, refused, false},
		"version 999":        {ofVersion(999), nil, refused, false},
		"another run":        {segmentWith(newHeader("another", 1, 0, 0, 0), 1), nil, refused, false},
		"sequence gap":       {segmentWith(start, 1, 2, 4, 5), nil, 2, true},
		"sequence repeat":    {segmentWith(start, 1, 2, 2, 3), nil, 2, true},
		"sequence reversed":  {segmentWith(start, 3, 2, 1), nil, 0, true},
		"sequence overflow":  {segmentWith(start, 1, 1<<64-1), nil, 1, true},
		"frame left out":     {join(good[:ends[2]], good[ends[3]:]), nil, 2, true},
		"frame doubled":      {join(good[:ends[3]], frame(3), good[ends[3]:]), nil, 3, true},
		"frames swapped":     {join(good[:ends[1]], frame(3), frame(2), good[ends[3]:]), nil, 1, true},
		"overlap":            {long, segmentWith(headerAt(4, crcAfter(long, 3)), 4, 5), 5, false},
		"overlap, replaced":  {long, segmentWith(headerAt(1, seedOf(testRun)), 1, 2), 2, false},
		"overlap, no chain":  {long, segmentWith(headerAt(4, 12345), 4, 5), 3, true},
		"segments apart":     {long, segmentWith(headerAt(9, 12345), 9, 10), 6, true},
		"base 0":             {segmentWith(headerAt(0, 0), 1), nil, 0, true},
		"base 2^64-1":        {segmentWith(headerAt(1<<64-1, 0), 1<<64-1), nil, 0, true},
		"second is garbage":  {long, randomBytes(999), refused, false},
		"second is empty":    {long, []byte{}, 6, true},
		"control bytes":      {controlBytes(), nil, 1, false},
		"snapshot":           {snapped, nil, 5, false},
		"snapshot, torn":     {snapped[:len(snapped)-7], nil, 4, false},
		"snapshot behind":    {long, snapped, 5, false},
		"snapshot damaged":   {long, flipped(snapped, headerSize+frameHead+1), 5, false},
		"snapshot, no more":  {flipped(snapped, headerSize+frameHead+1), nil, 0, true},
		"snapshot cut off":   {long, snapped[:headerSize+frameHead+1], 3, true},
		"snapshot, no head":  {long, join(make([]byte, headerSize), snapped[headerSize:]), 5, false},
		"snapshot inside":    {join(good[:ends[3]], snapped[headerSize:]), nil, 3, true},
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

// TestSeedsRecover checks what is recovered from each seed, and that this format always has the same bytes.
func TestSeedsRecover(t *testing.T) {
	sum, seeds := sha256.New(), recoverSeeds()
	for _, name := range slices.Sorted(maps.Keys(seeds)) {
		want := seeds[name]
		fmt.Fprintf(sum, "%q %q %q\n", name, want.first, want.second)
		_, s := memRun(want.segments()...)
		rec, err := s.Read(testRun, nil)
		testkit.Check(t, (err != nil) == (want.records == refused) &&
			(err != nil || rec.Records == uint64(want.records) && rec.Harmed() == want.harmed),
			"%s: %v, %+v, want %d records, harmed %v", name, err, rec, want.records, want.harmed)
	}
	testkit.Same(t, fmt.Sprint("the bytes of format ", formatVersion),
		"eed34d316129686a67519f1e33ae9b2ee38bb51ec52ab26bace8f437c15ee32f", fmt.Sprintf("%x", sum.Sum(nil)))
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
	for _, s := range recoverSeeds() {
		f.Add(s.first, s.second)
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		segments := recoverSeed{first: first, second: second}.segments()
		m, s := memRun(segments...)
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
			testkit.Need(t, opening(s, testRun, 0) != nil, "it opens what it does not read")
			for n, b := range segments {
				testkit.Need(t, bytes.Equal(m.fileOf(segmentName(n+1)).data, b), "a refused file was touched")
			}
			return
		}
		for i, r := range seen {
			switch {
			case i == 0 && r.Kind == Snapshot:
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
