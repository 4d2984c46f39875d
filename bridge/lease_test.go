package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLeaseOverSlowNetworks: with any delay up to a sixth of the lease, both sides keep the lease, and
// calls work.
func TestLeaseOverSlowNetworks(t *testing.T) {
	for _, delay := range []time.Duration{0, 50 * time.Millisecond, time.Second, 5 * time.Second} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRemoteRig(t, time.Minute, &recorder{})
				r.net.slow(delay)
				a := r.spawn(t, "orch-1", 1)
				time.Sleep(time.Hour)
				if err := r.Message(r.ctx, MessageParams{AgentRef{"orch-1", 1}, "m", "hi", false, nil}); err != nil {
					t.Errorf("after an hour: %v", err)
				}
				by, certain := r.Stopped()
				if left := time.Until(by); certain || left < time.Minute/2 || left > time.Minute+LeaseGrace {
					t.Errorf("while it lives it has stopped for certain in %v: %v", left, certain)
				}
				select {
				case <-a.done:
					t.Error("the agent has ended")
				default:
				}
				r.Close()
				r.net.reset()
				<-r.served
				r.stop()
			})
		})
	}
}

// TestLeaseEndsBothSides: after any failure of the connection, the bridge ends its agents before the client reports it.
func TestLeaseEndsBothSides(t *testing.T) {
	const length = 20 * time.Second
	for name, tc := range map[string]struct {
		happen func(*remoteRig)
		notice time.Duration // the client's maximum time to notice
	}{
		"a black hole": {func(r *remoteRig) { r.net.swallow() }, length/2 + time.Second},
		"a black hole on a slow network": {func(r *remoteRig) {
			r.net.slow(2 * time.Second)
			time.Sleep(time.Minute)
			r.net.swallow()
		}, length/2 + 3*time.Second}, // a tick that was under way still arrives
		"a reset": {func(r *remoteRig) { r.net.reset() }, time.Second},
		"the far side sleeps": {func(r *remoteRig) {
			r.net.swallow()
			time.Sleep(length / 8)
			r.awake.sleep(time.Hour)
		}, length/2 + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRemoteRig(t, length, &recorder{})
				a := r.spawn(t, "orch-1", 1)
				time.Sleep(time.Minute)
				tc.happen(r)
				began := time.Now()
				<-r.Done()
				if took := time.Since(began); took > tc.notice {
					t.Errorf("the client noticed after %v", took)
				}
				by, certain := r.Stopped()
				if certain {
					t.Error("it is certain that all has ended in the moment of the loss")
				}
				<-a.done
				if late := time.Since(by); late > 0 {
					t.Errorf("the agent ended %v after the time from which on it was certain", late)
				}
				if time.Until(by) > length+LeaseGrace {
					t.Errorf("it is certain in %v only", time.Until(by))
				}
				r.net.reset()
				<-r.served
				r.Close()
				r.stop()
			})
		})
	}
}

// TestNothingContinuesAfterTheLease: a bridge that was stopped, or whose machine slept, checks the clock
// first when it continues. Answers from that time do not renew its lease.
func TestNothingContinuesAfterTheLease(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		h := &recorder{judge: func(context.Context, JudgeParams) (JudgeResult, error) {
			<-release
			return JudgeResult{Behavior: Pass}, nil
		}}
		r := newRemoteRig(t, time.Minute, h)
		a := r.spawn(t, "orch-1", 1)
		judged := make(chan JudgeResult, 1)
		go func() {
			got, _ := a.host.Judge(r.ctx, JudgeParams{Tool: "Bash", Input: json.RawMessage(`{}`)})
			judged <- got
		}()
		synctest.Wait()
		r.awake.sleep(time.Hour)
		close(release)
		if got := <-judged; got.Behavior != Deny || !strings.Contains(got.Message, "lease") {
			t.Errorf("a tool call that was allowed an hour ago: %+v", got)
		}
		if _, err := r.Spawn(r.ctx, spawnParams("orch-2", 1)); !errors.Is(err, ErrClosed) {
			t.Errorf("a spawn after the lease: %v", err)
		}
		<-a.done
		if err := <-r.served; !errors.Is(err, errLeaseOver) {
			t.Errorf("the bridge ended with %v", err)
		}
		r.Close()
		r.net.reset()
		r.stop()
	})
}

// TestAnsweredAfterTheEnd: an answer that arrives after the lease has expired changes nothing, however new
// its tick is.
func TestAnsweredAfterTheEnd(t *testing.T) {
	now := time.Duration(1)
	l := newLease(time.Minute, func() time.Duration { return now }, nil, nil)
	now += 59 * time.Second
	l.renew(now)
	if now += 59 * time.Second; !l.holds() {
		t.Error("a renewed lease does not hold")
	}
	l.renew(now - 59*time.Second) // an older answer
	now += 2 * time.Second
	l.renew(now)
	if l.holds() || l.check() == nil {
		t.Error("it was renewed after its end")
	}
	if (*lease)(nil).check() != nil {
		t.Error("the bridge ended without a lease")
	}
}

// TestClientSleeps: the client's machine slept for an hour. The client gives up the bridge, which has
// ended.
func TestClientSleeps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		near := &drowsy{now: sinceStart()}
		c := &contact{now: near.Now, begun: make(chan struct{})}
		c.begin(time.Minute)
		lost := make(chan error, 1)
		go c.watch(nil, func(err error) { lost <- err })
		if _, err := c.tick(t.Context(), TickParams{}); err != nil {
			t.Error(err)
		}
		near.sleep(time.Hour)
		var silent *SilentError
		if err := <-lost; !errors.As(err, &silent) || silent.For < time.Hour {
			t.Errorf("got %v", err)
		}
		testkit.Same(t, "the bridge ends in only", 0, c.left())
		if _, err := c.tick(t.Context(), TickParams{}); codeOf(err) != CodeShuttingDown {
			t.Errorf("a tick after it was given up: %v", err)
		}
	})
}

// TestShutdownIsCertain: the client does not wait for a bridge that reports that it stopped everything.
func TestShutdownIsCertain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRemoteRig(t, time.Minute, &recorder{})
		r.spawn(t, "orch-1", 1)
		if _, err := r.Shutdown(r.ctx, ShutdownParams{}); err != nil {
			t.Error(err)
		}
		if _, certain := r.Stopped(); !certain {
			t.Error("it is not certain")
		}
		r.end(t)
	})
	bubble(t, func(t *testing.T) { // a bridge on this machine ends with its connection
		r := newRig(t, &fakeLauncher{}, &recorder{})
		if _, certain := r.Stopped(); certain {
			t.Error("a bridge that lives has stopped")
		}
		r.leave(t)
		if _, certain := r.Stopped(); !certain {
			t.Error("a bridge that has ended has not stopped")
		}
	})
}

// TestTickAfterSilence: ticks that waited in the pipe while the client was stopped are refused. They do not
// change the time at which everything on the host has stopped.
func TestTickAfterSilence(t *testing.T) {
	var now time.Duration
	c := &contact{now: func() time.Duration { return now }, begun: make(chan struct{})}
	c.begin(2 * time.Second)
	now = 900 * time.Millisecond
	if _, err := c.tick(t.Context(), TickParams{}); err != nil {
		t.Fatalf("a tick in time: %v", err)
	}
	now += 2*time.Second + LeaseGrace
	if _, err := c.tick(t.Context(), TickParams{}); err == nil || c.left() != 0 {
		t.Errorf("a tick that was read late: %v, %v left", err, c.left())
	}
	if _, gaveUp := c.silent(); !gaveUp {
		t.Error("the bridge was not given up")
	}
}

// TestNow: Now advances like Go's own clock while the machine is awake.
func TestNow(t *testing.T) {
	before, at := time.Now(), BootTime()
	if at <= 0 {
		t.Fatalf("it shows %v", at)
	}
	for BootTime() <= at { // until the clock's next step
	}
	if passed, by := BootTime()-at, time.Since(before); passed > by+time.Second {
		t.Errorf("%v have passed, by Go's clock %v", passed, by)
	}
}
