package journal

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// bigRun writes a journal of 100 MB, nearly all narration of 1 to 8 KB.
func bigRun(tb testing.TB, dir string) *Store {
	s := testkit.Must(OpenStore(dir))(tb)
	r := testkit.Must(s.Create(Meta{Run: "big"}, Options{MaxPending: 256 << 20}))(tb)
	text := randomBytes(8 << 10)
	for i, size := 0, 0; size < 100<<20; i++ {
		kind, n := Narration, 1<<10+i*37%(7<<10)
		if i%20 == 0 {
			kind, n = Input, 300
		}
		testkit.Must(r.Append(kind, text[:n]))(tb)
		if size += n + frameHead; i%500 == 0 {
			testkit.OK(tb, r.Sync(tb.Context()))
		}
	}
	testkit.OK(tb, r.Close())
	return s
}

// TestRead100MB: reading a journal does not allocate its size in memory again and again.
func TestRead100MB(t *testing.T) {
	testkit.WithoutRace(t)
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	s := bigRun(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	inputs := 0
	rec, err := s.Read("big", func(r Record) error {
		if r.Kind == Input {
			inputs++
		}
		return nil
	})
	if err != nil || rec.Damage != nil || inputs == 0 {
		t.Fatalf("%v, %+v, %d inputs", err, rec, inputs)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("a resume of 100 MB allocates %d MB", n>>20)
	}
}
