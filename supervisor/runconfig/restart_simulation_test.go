package runconfig

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var allClasses = slices.Sorted(maps.Keys(classes))

// world simulates agents that run, end, and are started again as decided.
type world struct {
	t      *testing.T
	p      RestartPolicy
	now    time.Time
	h      RestartHistory
	agents []agent
	starts []launch
	parked int
}

type agent struct {
	next   time.Time // of the next event; zero: parked
	alive  bool
	starts int
}

type launch struct {
	agent string
	class RestartClass
	at    time.Time
}

func newWorld(t *testing.T, p RestartPolicy, agents int) *world {
	w := &world{t: t, p: p, now: noon, agents: make([]agent, agents)}
	for i := range w.agents {
		w.agents[i].next = noon
	}
	return w
}

func name(i int) string { return fmt.Sprintf("orch-%d", i+1) }

// step performs the next event: a start, or the end of a process. lifetime returns the process's length, ends its
// exit. step returns false when all are parked.
func (w *world) step(lifetime func(agent int) time.Duration, ends func(agent int) RestartExit) bool {
	i := -1
	for k, a := range w.agents {
		if !a.next.IsZero() && (i < 0 || a.next.Before(w.agents[i].next)) {
			i = k
		}
	}
	if i < 0 {
		return false
	}
	a := &w.agents[i]
	w.now = a.next
	if !a.alive {
		a.alive, a.starts, a.next = true, a.starts+1, w.now.Add(lifetime(i))
		return true
	}
	e := ends(i)
	e.Agent, e.At, e.Seed = name(i), w.now, fmt.Sprint("run", name(i), a.starts)
	d := DecideRestart(w.p, w.h, e, w.now)
	w.check(e, d)
	entry := d.Entry(e, w.now)
	w.h = w.h.Add(w.p, entry, w.now)
	a.alive, a.next = false, entry.StartAt
	if d.Starts() {
		w.starts = append(w.starts, launch{e.Agent, e.Class, entry.StartAt})
	} else {
		w.parked++
	}
	return true
}

// check checks a decision against its bounds.
func (w *world) check(e RestartExit, d RestartDecision) {
	limit := w.p.Cap + time.Duration(len(w.agents))*w.p.CrashStagger
	switch {
	case e.Class == UsageLimit:
		limit = w.p.MaxWait
	case e.Class == RestartOverload:
		limit = w.p.Cap + time.Duration(len(w.agents))*w.p.Stagger*2
	}
	if d.Delay < 0 || d.Delay > limit || !d.Starts() && d.Delay != 0 {
		w.t.Fatalf("%+v after %+v: the limit is %s", d, e, limit)
	}
	if d.Reason == "" || d.Action == "" {
		w.t.Fatalf("%+v after %+v", d, e)
	}
}

// intensity checks the starts of each agent against the policy's Intensity.
func (w *world) intensity() {
	by := map[string][]time.Time{}
	for _, s := range w.starts {
		by[s.agent] = append(by[s.agent], s.at)
	}
	for agent, at := range by {
		for i := w.p.Intensity; i < len(at); i++ {
			if d := at[i].Sub(at[i-w.p.Intensity]); d < w.p.Window {
				w.t.Fatalf("%s was started %d times in %s", agent, w.p.Intensity+1, d)
			}
		}
	}
}

// distance checks the distance of starts after limits against Stagger.
func (w *world) distance() {
	byTime := slices.Clone(w.starts)
	slices.SortStableFunc(byTime, func(a, b launch) int { return a.at.Compare(b.at) })
	var limit, last launch
	for _, s := range byTime {
		if !last.at.IsZero() && s.at.Sub(last.at) < w.p.CrashStagger {
			w.t.Fatalf("%v follows %v too soon", s, last)
		}
		last = s
		if s.class.limit() {
			if !limit.at.IsZero() && s.at.Sub(limit.at) < w.p.Stagger {
				w.t.Fatalf("%v follows %v too soon", s, limit)
			}
			limit = s
		}
	}
}

// TestStormIsParked: an agent that ends 100 ms after each start is started five times within a minute, and then
// not at all.
func TestStormIsParked(t *testing.T) {
	w := newWorld(t, DefaultRestarts(), 1)
	for range 2 * 20 {
		if !w.step(func(int) time.Duration { return 100 * time.Millisecond },
			func(int) RestartExit { return RestartExit{Class: RestartCrash} }) {
			break
		}
	}
	starts := w.agents[0].starts
	if starts != 5 || w.parked != 1 || !w.agents[0].next.IsZero() {
		t.Errorf("%d starts, parked %d times, next at %s; want 5 starts and one parking", starts, w.parked,
			w.agents[0].next)
	}
	if d := w.now.Sub(noon); d > time.Minute {
		t.Errorf("it took %s to see the storm", d)
	}
}

// TestOverloadIsWaitedOut: nine overloads in a row, each noticed at once, are waited for at least ten minutes
// before the agent is parked.
func TestOverloadIsWaitedOut(t *testing.T) {
	p := DefaultRestarts()
	for i := range 50 {
		w := newWorld(t, p, i%20+1)
		for w.step(func(int) time.Duration { return time.Millisecond },
			func(int) RestartExit { return RestartExit{Class: RestartOverload} }) {
			w.intensity()
		}
		w.distance()
		if d := w.now.Sub(noon); d < p.Horizon || d > p.Horizon+2*p.Cap {
			t.Errorf("%d agents were parked after %s", len(w.agents), d)
		}
		for _, a := range w.agents {
			if a.starts < 5 || a.starts > 25 {
				t.Errorf("%d starts in %s", a.starts, w.now.Sub(noon))
			}
		}
	}
}

// TestLimitsWithoutResetAreBounded: the waits in a row are MaxWait in total at most.
func TestLimitsWithoutResetAreBounded(t *testing.T) {
	p := DefaultRestarts()
	w := newWorld(t, p, 3)
	for w.step(func(int) time.Duration { return time.Second },
		func(int) RestartExit { return RestartExit{Class: UsageLimit, ResetsAt: noon} }) {
	}
	w.distance()
	if d := w.now.Sub(noon); d < p.MaxWait/3 || d > p.MaxWait {
		t.Errorf("parked after %s", d)
	}
}

// random simulates agents whose process lengths and ends are drawn from a seed, and checks every guarantee of
// the package.
func random(t *testing.T, seed uint64, steps int) {
	r := rand.New(rand.NewPCG(seed, 1))
	p := DefaultRestarts()
	w := newWorld(t, p, 1+r.IntN(20))
	mix := []RestartClass{RestartCrash}
	for _, i := range r.Perm(len(allClasses))[:r.IntN(len(allClasses))] {
		mix = append(mix, allClasses[i])
	}
	most := time.Duration(1) << (20 + r.IntN(24)) // 1 ms … 4.9 h
	lifetime := func(int) time.Duration { return time.Duration(r.Int64N(int64(most))) }
	ends := func(int) RestartExit {
		e := RestartExit{Class: mix[r.IntN(len(mix))]}
		if e.Class == UsageLimit && r.IntN(3) > 0 {
			e.ResetsAt = w.now.Add(time.Duration(r.Int64N(int64(16*time.Hour))) - 4*time.Hour)
		}
		return e
	}
	for range steps {
		if !w.step(lifetime, ends) {
			// A person restarts one, some time later.
			k := r.IntN(len(w.agents))
			w.agents[k].next = w.now.Add(time.Hour)
		}
	}
	w.intensity()
	w.distance()
}

func TestRandomProcessRuns(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { random(t, seed, 1000) })
	}
}

func FuzzRandomRuns(f *testing.F) {
	f.Add(uint64(1), uint16(300))
	f.Fuzz(func(t *testing.T, seed uint64, steps uint16) { random(t, seed, int(steps)) })
}

// FuzzDecide passes histories and clocks to Decide that no world produces.
func FuzzDecide(f *testing.F) {
	f.Add(int64(0), int64(0), int64(0), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(int64(-1<<62), int64(1<<62), int64(1), []byte{200, 1, 2, 255, 4, 5, 6, 7, 8, 9, 0, 0})
	f.Fuzz(func(t *testing.T, clock, reset, ended int64, raw []byte) {
		p := DefaultRestarts()
		classes := append([]RestartClass{"new"}, allClasses...)
		now := noon.Add(time.Duration(clock))
		var h RestartHistory
		for ; len(raw) >= 4; raw = raw[4:] {
			a := RestartAttempt{Agent: name(int(raw[0] % 3)), Class: classes[int(raw[1])%len(classes)],
				At: noon.Add(time.Duration(int8(raw[2])) * time.Minute << (raw[2] % 16))}
			if raw[3] > 20 {
				a.StartAt = a.At.Add(time.Duration(int8(raw[3])) * time.Minute << (raw[3] % 16))
			}
			h = append(h, a)
		}
		kept := slices.Clone(h)
		for _, c := range classes {
			e := RestartExit{Agent: name(0), Class: c, At: noon.Add(time.Duration(ended)), Seed: "run"}
			if reset != 0 {
				e.ResetsAt = noon.Add(time.Duration(reset))
			}
			d := DecideRestart(p, h, e, now)
			// The place in the queue: after all starts in the history.
			limit := max(p.Cap, p.Window) + time.Duration(len(h)+1)*2*p.Stagger
			if c == UsageLimit {
				limit = p.MaxWait
			}
			if d.Delay < 0 || d.Starts() && len(h) < 5 && d.Delay > limit {
				t.Fatalf("%s: %+v, the limit is %s", c, d, limit)
			}
			if c == UserStop && d.Action != RestartNone {
				t.Fatalf("%+v after a user's stop", d)
			}
			if !slices.Equal(kept, h) {
				t.Fatal("the history was changed")
			}
			h2 := slices.Clone(h).Add(p, d.Entry(e, now), now)
			if len(h2) > len(h)+1 {
				t.Fatal("the history grew by more than one")
			}
		}
	})
}
