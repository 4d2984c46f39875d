package host

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// gatedWriter is a reader that does not read until its gate opens.
type gatedWriter struct {
	gate chan struct{}
	bytes.Buffer
}

func (w *gatedWriter) Write(p []byte) (int, error) {
	<-w.gate
	return w.Buffer.Write(p)
}

func TestSlowReaderNeverHoldsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		l := NewWriter(w, 500, func(err error) { t.Errorf("lost: %v", err) })
		put := func(b contract.Body) { l.Put(time.Now(), contract.Event{ID: "arbiter", Body: b}) }
		put(contract.Question{Text: "first"})
		synctest.Wait() // now the writer is stuck on it, or has it in its buffer
		const flood = 1500
		for range flood {
			put(contract.Assistant{Text: "on and on"})
		}
		put(contract.Question{Text: "still there?"})
		put(contract.Result{Status: contract.StatusComplete})
		close(w.gate)
		testkit.OK(t, l.Close(time.Minute))
		kept := strings.Count(w.String(), `"event":"assistant"`)
		if kept >= flood || kept < 490 {
			t.Errorf("%d of %d kept", kept, flood)
		}
		for _, want := range []string{`"event":"question"`, `"event":"result"`, "events left out here"} {
			if !strings.Contains(w.String(), want) {
				t.Errorf("%s was left out", want)
			}
		}
		// Lines are numbered as they are written, so the numbers have no gaps.
		n := uint64(0)
		for line := range strings.Lines(w.String()) {
			n++
			testkit.OK(t, contract.NewValidator().ValidateEventLine([]byte(strings.TrimSuffix(line, "\n"))))
			if l, err := contract.DecodeLine([]byte(line)); err != nil || l.Seq != n || l.V != contract.Version {
				t.Fatalf("line %d has v %d, seq %d: %v", n, l.V, l.Seq, err)
			}
		}
	})
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }

func TestLostReaderIsReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []error
		l := NewWriter(failingWriter{errors.New("gone")}, 500, func(err error) { told = append(told, err) })
		for range 10 {
			l.Put(time.Now(), contract.Event{ID: "arbiter", Body: contract.Question{Text: "?"}})
		}
		if err := l.Close(time.Minute); err == nil || err.Error() != "gone" {
			t.Errorf("close: %v", err)
		}
		if len(told) != 1 {
			t.Errorf("told %d times", len(told))
		}
	})
}

func TestStuckReaderDoesNotHoldTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &gatedWriter{gate: make(chan struct{})}
		l := NewWriter(w, 500, func(error) {})
		l.Put(time.Now(), contract.Event{ID: "arbiter", Body: contract.Question{Text: strings.Repeat("?", 100_000)}})
		began := time.Now()
		if err := l.Close(10 * time.Second); !errors.Is(err, errStuck) || time.Since(began) != 10*time.Second {
			t.Errorf("close: %v after %s", err, time.Since(began))
		}
		close(w.gate)
		<-l.done
	})
}
