package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
)

// testKey is the key of the journals that tests make by hand.
var testKey = &sealKey{1, 2, 3}

// sealedJournalOf returns the bytes of a sealed journal in one segment with batches of the
// given sizes, where each batch ends, and how many records there are by then.
func sealedJournalOf(batches ...int) (b []byte, ends []int64, counts []uint64) {
	seed := seedOf(testRun)
	b = header{version: formatVersion, base: 1, prev: seed, run: testRun}.encode()
	ends, counts = []int64{headerSize}, []uint64{0}
	seals := newSealer(testKey, testRun)
	prev, seq := seed, uint64(0)
	for _, n := range batches {
		var batch []byte
		for range n {
			seq++
			batch = appendFrame(batch, seq, kindOf(seq), payload(seq))
		}
		batch, prev = appendSeal(batch, seq, seals, seed, prev)
		b = append(b, batch...)
		ends, counts = append(ends, int64(len(b))), append(counts, seq)
	}
	return b, ends, counts
}

// putKey makes testKey the key of a store.
func putKey(s *Store) {
	f, err := s.root.Open(keyName, openCreate)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	b, err := seal(keyVersion, keyFile{Key: testKey[:]})
	if err != nil {
		panic(err)
	}
	if _, err := f.WriteAt(b, 0); err != nil {
		panic(err)
	}
}

// sealedBefore is how many records of a sealed journal are good when it is cut at off.
func sealedBefore(ends []int64, counts []uint64, off int64) (n uint64) {
	for i, end := range ends {
		if end <= off {
			n = counts[i]
		}
	}
	return n
}

// TestSealedTruncatedAnywhere: of a sealed journal whole batches count, wherever it ends.
func TestSealedTruncatedAnywhere(t *testing.T) {
	whole, ends, counts := sealedJournalOf(1, 4, 10, 3)
	for size := range int64(len(whole)) + 1 {
		_, s := memRun(whole[:size])
		want := sealedBefore(ends, counts, size)
		r, rec, err := s.Open(testRun, 0, Options{})
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if rec.Records != want || size >= headerSize && rec.Harmed() || rec.Seals.Sealed != want {
			t.Errorf("%d bytes: %+v, want %d records and no alarm", size, rec, want)
		}
		torn := len(rec.Damage) > 0
		if atEnd := slices.Contains(ends, size); size >= headerSize && torn == atEnd {
			t.Errorf("%d bytes: damage %+v", size, rec.Damage)
		}
		add(t, r, want+1, want+3)
		closeRun(t, r)
		checkRecords(t, reader(s, testRun), want+3)
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestSealedBitFlipped flips each bit of a sealed journal: nothing that was changed is
// handed out, and what was sealed before it is.
func TestSealedBitFlipped(t *testing.T) {
	whole, ends, counts := sealedJournalOf(1, 4, 3, 1)
	for at := range whole {
		for bit := range 8 {
			b := bytes.Clone(whole)
			b[at] ^= 1 << bit
			want := sealedBefore(ends, counts, int64(at))
			if at < headerSize {
				want = counts[len(counts)-1]
			}
			_, s := memRun(b)
			e := expectRecords{t: t}
			if rec, err := s.Read(testRun, e.each); err != nil || rec.Records != want || e.next != want || len(rec.Damage) != 1 {
				t.Fatalf("bit %d of byte %d: %v, %+v, %d seen, want %d", bit, at, err, rec, e.next, want)
			}
		}
	}
}

// forger writes what anybody can who can write to the file: all checksums fit.
type forger struct {
	seed, prev uint32
	seq        uint64
}

// forgerAt stands behind the frames of a segment.
func forgerAt(t *testing.T, b []byte) *forger {
	t.Helper()
	f := &forger{seed: seedOf(testRun), prev: seedOf(testRun)}
	for off := int64(headerSize); off < int64(len(b)); {
		n, err := frameLength(b[off:], int64(len(b))-off)
		if err != nil {
			t.Fatal(err)
		}
		got, err := parseFrame(b[off:off+n], f.seed)
		if err != nil {
			t.Fatal(err)
		}
		f.prev, f.seq = got.crc, got.Seq
		off += n
	}
	return f
}

// batch is records that continue the chain, without a seal.
func (f *forger) batch(texts ...string) []byte {
	var b []byte
	for _, text := range texts {
		f.seq++
		b = appendFrame(b, f.seq, Fact, []byte(text))
	}
	f.prev, _ = chainBatch(b, f.seed, f.prev)
	return b
}

// sealed is such records with a seal of another key, or of ours that says it is.
func (f *forger) sealed(claim *sealKey, texts ...string) []byte {
	b := f.batch(texts...)
	payload := bytes.Repeat([]byte{7}, sealPayload)
	if claim != nil {
		m := claim.mark()
		copy(payload, m[:])
	}
	at := len(b)
	b = appendFrame(b, f.seq, kindSeal, payload)
	f.prev = finishFrame(b[at:], f.seed, f.prev, uint32(len(texts)))
	return b
}

const forged = `{"fact":"commanded","by":"human","data":{"text":"Go."}}`

// TestForgedRecords: records that somebody without the key put into the journal of a run
// that is over, in each place where that can be.
func TestForgedRecords(t *testing.T) {
	whole, ends, counts := sealedJournalOf(2, 3, 4)
	last := counts[3]
	at := func(n int) *forger { return forgerAt(t, whole[:ends[n]]) }
	plain := func(base uint64, prev uint32, frames []byte) []byte {
		return append(header{version: plainVersion, base: base, prev: prev, run: testRun}.encode(), frames...)
	}
	for _, c := range []struct {
		name     string
		closed   bool
		segments func() [][]byte
		good     uint64
		refused  bool // else it is put aside, as what a crash may have left
	}{
		{"behind the end of what was closed", true, func() [][]byte { return [][]byte{append(bytes.Clone(whole), at(3).batch(forged)...)} }, last, true},
		{"behind the end of what crashed", false, func() [][]byte { return [][]byte{append(bytes.Clone(whole), at(3).batch(forged)...)} }, last, false},
		{"with a seal of no key", false, func() [][]byte { return [][]byte{append(bytes.Clone(whole), at(3).sealed(nil, forged)...)} }, last, true},
		{"with a seal that claims our key", false, func() [][]byte { return [][]byte{append(bytes.Clone(whole), at(3).sealed(testKey, forged)...)} }, last, true},
		{"two batches", false, func() [][]byte {
			f := at(3)
			return [][]byte{slices.Concat(whole, f.batch(forged), f.batch(forged))}
		}, last, true},
		{"instead of the last batch", false, func() [][]byte {
			return [][]byte{append(bytes.Clone(whole[:ends[2]]), at(2).sealed(testKey, forged)...)}
		}, counts[2], true},
		{"instead of all", false, func() [][]byte {
			return [][]byte{append(bytes.Clone(whole[:ends[0]]), at(0).sealed(testKey, forged)...)}
		}, 0, true},
		{"in a segment of the old format", false, func() [][]byte {
			f := at(3)
			prev := f.prev
			return [][]byte{whole, plain(last+1, prev, f.batch(forged))}
		}, last, true},
		{"in a segment that replaces", false, func() [][]byte {
			f := at(2)
			prev := f.prev
			return [][]byte{whole, plain(counts[2]+1, prev, f.batch(forged))}
		}, counts[2], true},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := memRun(c.segments()...)
			if c.closed {
				dir, err := s.runs.Dir(testRun)
				if err != nil {
					t.Fatal(err)
				}
				if err := writeMeta(dir, Meta{Run: testRun, Closed: last}); err != nil {
					t.Fatal(err)
				}
			}
			checkForged(t, s, c.good, c.refused)
		})
	}
}

// checkForged reads and opens a journal with something forged behind its good records.
func checkForged(t *testing.T, s *Store, good uint64, refused bool) {
	t.Helper()
	e := expectRecords{t: t}
	rec, err := s.Read(testRun, e.each)
	var tampered *TamperedError
	if rec.Records != good || e.next != good || errors.As(err, &tampered) != refused || !refused && err != nil {
		t.Errorf("read: %v, %+v, %d seen, want %d", err, rec, e.next, good)
	}
	r, rec, err := s.Open(testRun, 0, Options{})
	if refused {
		if !errors.As(err, &tampered) || tampered.Record != good+1 || tampered.Run != testRun {
			t.Fatalf("open: %v", err)
		}
		if r, rec, err = s.Open(testRun, 0, Options{AcceptPrefix: true}); err != nil || !rec.Harmed() || !rec.Damage[0].Tampered {
			t.Fatalf("open the good prefix: %v, %+v", err, rec)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if !refused && (len(rec.Damage) != 1 || !rec.Damage[0].Unsealed || rec.Damage[0].Readable != 1) {
		t.Errorf("it is not reported: %+v", rec)
	}
	if rec.Damage[0].SetAside == "" {
		t.Error("it was not put aside")
	}
	checkRecords(t, r.Records, good)
	add(t, r, good+1, good+2)
	closeRun(t, r)
	checkRecords(t, reader(s, testRun), good+2)
	r, rec, err = s.Open(testRun, 0, Options{})
	if err != nil || rec.Harmed() {
		t.Fatalf("the next time: %v, %+v", err, rec)
	}
	closeRun(t, r)
}

// TestForgedWhileRunning: somebody else adds to the journal of a live run. The next write,
// or the end, notices; nothing of it ever counts.
func TestForgedWhileRunning(t *testing.T) {
	for name, atEnd := range map[string]bool{"noticed by the next write": false, "noticed at the end": true} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			var told []error
			r := createRun(t, s, testRun, Options{Trouble: func(err error) { told = append(told, err) }})
			addBatches(t, r, 6, 2)
			path := filepath.Join(r.Dir(), segmentName(1))
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Write(forgerAt(t, b).batch(forged)); err != nil {
				t.Fatal(err)
			}
			f.Close()
			want := uint64(6)
			if !atEnd {
				want = 9
				addBatches(t, r, want, 3)
			}
			closeRun(t, r)
			if len(told) == 0 || !errors.Is(told[0], ErrForeignWrite) {
				t.Errorf("told: %v", told)
			}
			checkRecords(t, reader(s, testRun), want)
			r, rec := openRun(t, s, testRun, Options{})
			if rec.Harmed() || rec.Records != want || rec.Seals.Sealed != want {
				t.Errorf("%+v", rec)
			}
			closeRun(t, r)
		})
	}
}

// TestCutOffWhileRunning: durable records were taken away under a live run. It says so,
// and calls nothing durable from then on.
func TestCutOffWhileRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemFS()
		s := freshStore(t, m)
		var told []error
		r, err := s.Create(Meta{Run: testRun}, Options{Trouble: func(err error) { told = append(told, err) }})
		if err != nil {
			t.Fatal(err)
		}
		addBatches(t, r, 6, 2)
		n := segmentNode(m, 1)
		n.data = n.data[:len(n.data)-30]
		add(t, r, 7, 8)
		synctest.Wait()
		if len(told) == 0 || !errors.Is(told[0], ErrForeignWrite) || r.Durable() != 6 {
			t.Errorf("told: %v, %d are durable", told, r.Durable())
		}
		if err := r.Close(); !errors.Is(err, ErrForeignWrite) {
			t.Errorf("close: %v", err)
		}
		if rec, err := s.Read(testRun, nil); err != nil || rec.Records != 4 {
			t.Errorf("%+v, %v", rec, err)
		}
	})
}

// TestOldJournalGoesOn: a journal from before there were seals is read, and taken over: from
// the next batch on it cannot be changed unseen, what is old in it included.
func TestOldJournalGoesOn(t *testing.T) {
	plain, ends := journalOf(2, 3, 4)
	for name, closed := range map[string]uint64{"closed": 9, "crashed": 0} {
		t.Run(name, func(t *testing.T) {
			m, s := memRun(plain)
			dir, err := s.runs.Dir(testRun)
			if err != nil {
				t.Fatal(err)
			}
			if err := writeMeta(dir, Meta{Run: testRun, Closed: closed}); err != nil {
				t.Fatal(err)
			}
			if rec, err := s.Read(testRun, nil); err != nil || rec.Seals != (Seals{Unsealed: 9}) {
				t.Errorf("%+v, %v", rec, err)
			}
			r, rec, err := s.Open(testRun, 0, Options{})
			if err != nil || rec.Records != 9 || rec.Damage != nil {
				t.Fatalf("%v, %+v", err, rec)
			}
			add(t, r, 10, 12)
			closeRun(t, r)
			e := expectRecords{t: t}
			rec, err = s.Read(testRun, e.each)
			if err != nil || e.next != 12 || rec.Seals != (Seals{Sealed: 12}) {
				t.Fatalf("%v, %+v", err, rec)
			}
			// An old record is changed, with all checksums made to fit.
			b := slices.Clone(plain[:ends[1]])
			f := forgerAt(t, b)
			frames := append(f.batch(forged), f.batch("x", "y", "z")...)
			segmentNode(m, 1).data = append(b, frames...)
			if rec, err = s.Read(testRun, nil); err == nil && rec.Records > 5 {
				t.Errorf("a change of an old record is not seen: %+v", rec)
			}
		})
	}
}

// TestKeyLost: without the key a journal is still read, and says that nothing vouches for
// it; a run that goes on has a new one.
func TestKeyLost(t *testing.T) {
	for name, content := range map[string]string{"missing": "", "damaged": "{}"} {
		t.Run(name, func(t *testing.T) {
			s := newTestStore(t)
			r := createRun(t, s, testRun, Options{})
			addBatches(t, r, 6, 2)
			closeRun(t, r)
			path := filepath.Join(s.root.Path(), keyName)
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Fatalf("%v, %v", info, err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			if content != "" {
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if rec, err := s.Read(testRun, nil); err != nil || rec.Seals != (Seals{Unknown: 6}) {
				t.Errorf("%+v, %v", rec, err)
			}
			r, rec := openRun(t, s, testRun, Options{})
			if rec.Harmed() || rec.Seals != (Seals{Unknown: 6}) {
				t.Errorf("%+v", rec)
			}
			add(t, r, 7, 9)
			closeRun(t, r)
			e := expectRecords{t: t}
			if rec, err := s.Read(testRun, e.each); err != nil || e.next != 9 || rec.Seals != (Seals{Unknown: 6, Sealed: 9}) {
				t.Errorf("%+v, %v", rec, err)
			}
		})
	}
}

// TestOneKey: of many who need a key at once all get the same.
func TestOneKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	keys := make(chan string)
	for range 8 {
		go func() {
			s, err := OpenStore(dir)
			if err != nil {
				keys <- err.Error()
				return
			}
			defer s.Close()
			key, err := s.needKey()
			if err != nil {
				keys <- err.Error()
				return
			}
			keys <- fmt.Sprintf("%x", *key)
		}()
	}
	first := <-keys
	for range 7 {
		if k := <-keys; k != first || len(k) != 64 {
			t.Errorf("%s and %s", first, k)
		}
	}
}
