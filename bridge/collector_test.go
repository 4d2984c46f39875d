package bridge

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// fakeCollector returns what it was asked, or what check returns.
type fakeCollector struct {
	check func(ctx context.Context, of Owner, p CheckParams) (CheckResult, error)
}

func (w *fakeCollector) Check(ctx context.Context, of Owner, p CheckParams) (CheckResult, error) {
	if w.check != nil {
		return w.check(ctx, of, p)
	}
	switch p.Command {
	case "hang":
		<-ctx.Done()
		return CheckResult{}, ctx.Err()
	case "nowhere":
		return CheckResult{}, errors.New("no such directory: " + p.CWD)
	}
	return CheckResult{Exit: 1, Signal: "terminated", TimedOut: true, DurationMS: 7, Bytes: 3, SHA256: "ab12",
		Output: of.Run + ": " + p.Command + " in " + p.CWD + p.Env["X"]}, nil
}

func (w *fakeCollector) Inspect(_ context.Context, p InspectParams) (InspectResult, error) {
	return InspectResult{
		Git: &GitState{Branch: "main", Head: "c0ffee", Commits: []string{"c0ffee one"},
			Status: []string{" M a.go"}, Stat: "a.go | 2 +-"},
		Texts:    []string{"of " + p.SessionID},
		Files:    []string{"/w/a.go"},
		Commands: []RanCommand{{Command: "go test", Outcome: "failed", Subagent: true}},
		Problems: []string{"git log: no commits yet"},
	}, nil
}

var (
	oneCheck      = CheckParams{Command: "make", CWD: "/w", TimeoutMS: 5, Env: map[string]string{"X": "!"}}
	oneInspection = InspectParams{SessionID: "s-1", CWD: "/w", Env: map[string]string{"HOME": "/h"}}
)

func collectorRig(t *testing.T, w EvidenceCollector) *rig {
	t.Helper()
	return newRigWith(t, &fakeLauncher{}, &recorder{}, w)
}

// However the connection ends, a running check and a query end with it, at once; agents that stop slowly do not delay
// that.
func TestCheckEndsWithTheConversation(t *testing.T) {
	ends := map[string]func(*rig){
		"client closes":    func(r *rig) { r.Close() },
		"context is ended": func(r *rig) { r.stop() },
		"shutdown":         func(r *rig) { r.Shutdown(r.ctx, ShutdownParams{}) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := &fakeCollector{}
				cancelled := make(chan time.Duration, 2)
				begun := time.Now()
				swept := -1
				w.check = func(ctx context.Context, _ Owner, _ CheckParams) (CheckResult, error) {
					<-ctx.Done()
					cancelled <- time.Since(begun)
					time.Sleep(300 * time.Millisecond) // its processes end
					return CheckResult{}, ctx.Err()
				}
				r := collectorRig(t, w)
				r.l.query = func(ctx context.Context, _ QueryParams) (QueryResult, error) {
					<-ctx.Done()
					cancelled <- time.Since(begun)
					return QueryResult{}, ctx.Err()
				}
				over, queried := make(chan error, 1), make(chan error, 1)
				go func() { over <- errOf(r.Check(r.ctx, oneCheck)) }()
				go func() { queried <- errOf(r.Query(r.ctx, oneQuery)) }()
				slow := r.spawn(t, "slow", 1)
				slow.stop = func(ctx context.Context, now bool) error {
					time.Sleep(100 * time.Millisecond)
					slow.end()
					return nil
				}
				r.l.sweep = func(string) int {
					if swept < 0 {
						swept = int(time.Since(begun) / time.Millisecond)
					}
					return 0
				}
				synctest.Wait()
				end(r)
				for range 2 {
					testkit.Same(t, "cancelled after", 0, <-cancelled)
				}
				testkit.Fails(t, "the query", <-queried)
				if err := <-over; err == nil {
					t.Error("the check succeeded")
				} else if name == "shutdown" && codeOf(err) != CodeShuttingDown {
					t.Errorf("the check: %v", err)
				}
				if name == "shutdown" {
					_, err := r.Check(r.ctx, oneCheck)
					testkit.Check(t, codeOf(err) == CodeShuttingDown, "a check after shutdown: %v", err)
				}
				r.Close()
				err := <-r.served
				testkit.Check(t, err == nil || name == "context is ended", "Serve: %v", err)
				testkit.Same(t, "swept after ms; the check's own processes are not strays", 300, swept)
				r.stop()
			})
		})
	}
}

// TestCheckThatTheSweepEnds: a check that hangs because of its processes is not reported as still running
// after the sweep has ended them.
func TestCheckThatTheSweepEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var once sync.Once
		swept := make(chan struct{})
		w := &fakeCollector{check: func(context.Context, Owner, CheckParams) (CheckResult, error) {
			<-swept
			time.Sleep(50 * time.Millisecond)
			return CheckResult{}, nil
		}}
		r := collectorRig(t, w)
		r.l.sweep = func(string) int {
			once.Do(func() { close(swept) })
			return 1
		}
		go r.Check(r.ctx, oneCheck)
		synctest.Wait()
		r.Close()
		err := <-r.served
		testkit.Check(t, err == nil, "Serve: %v", err)
		r.stop()
	})
}
