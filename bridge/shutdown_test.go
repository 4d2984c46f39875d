package bridge

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestShutdownStopsAllAndNamesTheRest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{sweep: func(string) int { return 2 }}
		r := newRig(t, l, &recorder{})
		r.spawn(t, "good", 1)
		slow := r.spawn(t, "slow", 1)
		slow.stop = func(ctx context.Context, now bool) error {
			if !now {
				<-ctx.Done()
				return ctx.Err()
			}
			slow.end()
			return nil
		}
		stuck := r.spawn(t, "stuck", 1)
		stuck.stop = func(ctx context.Context, _ bool) error { <-ctx.Done(); return ctx.Err() }
		begun := time.Now()
		res, err := r.Shutdown(r.ctx, ShutdownParams{GraceMS: 500})
		want := ShutdownResult{Stopped: 2, Swept: 4, Unstopped: []string{"stuck#1"}}
		if diff := cmp.Diff(want, res); err != nil || diff != "" {
			t.Errorf("shutdown: %v, -want +got:\n%s", err, diff)
		}
		if took, most := time.Since(begun), 500*time.Millisecond+shutdownHard; took != most {
			t.Errorf("took %v, want %v", took, most)
		}
		if _, err := r.Spawn(r.ctx, spawnParams("late", 1)); codeOf(err) != CodeShuttingDown {
			t.Errorf("spawn after shutdown: %v", err)
		}
		r.Close()
		var unstopped *UnstoppedError
		if err := <-r.served; !errors.As(err, &unstopped) || !cmp.Equal(unstopped.Names, []string{"stuck#1"}) {
			t.Errorf("Serve: %v", err)
		}
		r.stop()
	})
}

func TestShutdownWhileSpawning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &fakeLauncher{launch: func(ctx context.Context, _ SpawnParams, _ Host) (Agent, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		r := newRig(t, l, &recorder{})
		defer r.leave(t)
		spawned := make(chan error)
		go func() { spawned <- errOf(r.Spawn(r.ctx, spawnParams("a", 1))) }()
		synctest.Wait()
		if res, err := r.Shutdown(r.ctx, ShutdownParams{}); err != nil || len(res.Unstopped) > 0 {
			t.Errorf("shutdown: %+v, %v", res, err)
		}
		if err := <-spawned; codeOf(err) != CodeEnded {
			t.Errorf("spawn: %v", err)
		}
	})
}

// TestServeEndsWithinTwoSeconds: however the connection ends, Serve returns within two seconds, and names
// the agents that did not stop.
func TestServeEndsWithinTwoSeconds(t *testing.T) {
	ends := map[string]func(*rig){
		"client closes":    func(r *rig) { r.Close() },
		"context is ended": func(r *rig) { r.stop() },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := &fakeLauncher{}
				r := newRig(t, l, &recorder{})
				r.spawn(t, "good", 1)
				killed := make(chan time.Duration, 10)
				stuck := r.spawn(t, "stuck", 1)
				release := make(chan struct{})
				begun := time.Now()
				stuck.stop = func(_ context.Context, now bool) error {
					if now {
						killed <- time.Since(begun)
					}
					<-release // ignores its context, too
					return nil
				}
				hung := make(chan error, 1)
				l.launch = func(context.Context, SpawnParams, Host) (Agent, error) {
					<-release
					return nil, errors.New("late")
				}
				go func() { hung <- errOf(r.Spawn(r.ctx, spawnParams("hung", 1))) }()
				synctest.Wait()
				end(r)
				err := <-r.served
				if took := time.Since(begun); took > 2*time.Second {
					t.Errorf("took %v", took)
				}
				var unstopped *UnstoppedError
				want := []string{"hung#1", "stuck#1", "a request"}
				if !errors.As(err, &unstopped) || !cmp.Equal(unstopped.Names, want) {
					t.Errorf("Serve: %v, want %v unstopped", err, want)
				}
				if after := <-killed; after != endGrace || l.sweepCount() != 2 {
					t.Errorf("killed after %v, want after %v; swept %d times, want 2", after, endGrace, l.sweepCount())
				}
				if err := <-hung; !errors.Is(err, ErrClosed) {
					t.Errorf("spawn at the end of the connection: %v", err)
				}
				close(release)
				r.Close()
				r.stop()
			})
		})
	}
}
