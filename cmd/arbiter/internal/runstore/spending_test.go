package runstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// TestSpendingIsReadOnce: what a run that is over has cost is noted, and only what its event log has had since is read:
// also after a resume, and if a crash took lines that had been read.
func TestSpendingIsReadOnce(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	r, id := &Runs{store, root}, "aaaa1111-spends"
	run := testkit.Must(store.Create(journal.Meta{Run: id, CWD: root}, journal.Options{}))(t)
	seq := uint64(0)
	spend := func(run *journal.Run, bodies ...contract.Body) {
		t.Helper()
		var lines []journal.LogContent
		for _, body := range bodies {
			seq++
			line := testkit.Must(contract.EncodeLine(nil, seq, time.Now(), contract.Event{ID: "orch-1", Body: body}))(t)
			lines = append(lines, journal.LogContent{At: time.Now(), Line: line})
		}
		testkit.OK(t, run.AppendEvents(lines...))
	}
	turn := contract.Turn{CostUSD: 1, Usage: bridge.Usage{Output: 1}, Outcome: "done", MessageIDs: []string{}}
	spend(run, contract.Session{Session: id}, turn, turn, contract.Cost{CostUSD: 0.5, Usage: bridge.Usage{Output: 7}})
	end := func(run *journal.Run) {
		t.Helper()
		testkit.OK(t, run.Close())
	}
	end(run)
	expect := func(when string, rows, running float64) *Spent {
		t.Helper()
		s := testkit.Must(r.Spent(t.Context(), journal.Info{Meta: journal.Meta{Run: id}}, nil))(t)
		usd := 0.0
		for _, row := range s.Rows {
			usd += row.CostUSD
		}
		testkit.Check(t, usd == rows && s.Live() == running, "%s: $%v, and $%v of running turns, want %v and %v", when,
			usd, s.Live(), rows, running)
		return s
	}
	first := expect("at first", 2, 0.5)
	stopped, cancel := context.WithCancel(t.Context())
	cancel() // nothing is read
	noted, _ := r.Spent(stopped, journal.Info{Meta: journal.Meta{Run: id}}, nil)
	testkit.Same(t, "what was noted", first, noted)
	before := testkit.Must(os.ReadFile(filepath.Join(r.Dir(id), journal.LogName)))(t)
	resume := func(bodies ...contract.Body) {
		t.Helper()
		run, _, err := store.Open(id, 0, journal.Options{}, func(*journal.Recovered) ([]byte, error) { return nil, nil })
		testkit.OK(t, err)
		spend(run, bodies...)
		end(run)
	}
	resume(contract.Session{Session: id, Resumed: true}, turn)
	expect("after a resume, the running turn is lost", 3.5, 0)
	testkit.OK(t, os.WriteFile(filepath.Join(r.Dir(id), journal.LogName), before, 0o600))
	expect("after a crash that took lines", 2, 0.5)
	resume(turn, turn, turn, turn)
	expect("and another resume", 6, 0)
	testkit.OK(t, os.WriteFile(filepath.Join(root, spendingName, id+".json"), []byte("{"), 0o600))
	expect("without the note", 6, 0)
	known, log := expect("before it cannot be read", 6, 0), filepath.Join(r.Dir(id), journal.LogName)
	testkit.OK(t, os.Rename(log, log+".away"))
	testkit.OK(t, os.Mkdir(log, 0o700))
	now, err := r.Spent(t.Context(), journal.Info{Meta: journal.Meta{Run: id}}, known)
	testkit.Check(t, err != nil && now.Sum() == 6, "while it cannot be read: %v, $%v", err, now.Sum())
}
