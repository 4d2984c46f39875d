package runconfig

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) time.Time { return noon.Add(d) }

// was is an attempt of orch-1 that ended ago before noon and was started again after the delay; a negative
// delay means that it was not.
func was(c RestartClass, ago, delay time.Duration) RestartAttempt {
	a := RestartAttempt{Agent: "orch-1", Class: c, At: at(-ago)}
	if delay >= 0 {
		a.StartAt = a.At.Add(delay)
	}
	return a
}

// others are attempts of as many other agents, due at noon plus the delay.
func others(n int, c RestartClass, delay time.Duration) RestartHistory {
	var h RestartHistory
	for i := range n {
		h = append(h, RestartAttempt{Agent: "orch-" + string(rune('a'+i)), Class: c, At: noon, StartAt: at(delay)})
	}
	return h
}

func TestDecide(t *testing.T) {
	const s, m = time.Second, time.Minute
	type past = RestartHistory
	end := func(c RestartClass, reason string) RestartExit {
		return RestartExit{Class: c, At: noon, Reason: reason}
	}
	limit := func(resets time.Time) RestartExit { return RestartExit{Class: UsageLimit, At: noon, ResetsAt: resets} }
	policies := map[string]func(*RestartPolicy){
		"limit unknown, waited enough":    func(p *RestartPolicy) { p.LimitBase = 16 * m },
		"limits are not waited for":       func(p *RestartPolicy) { p.WaitForLimits = false },
		"limits are staggered":            func(p *RestartPolicy) { p.ResetJitter = 0 },
		"a gap among the starts is used":  func(p *RestartPolicy) { p.ResetJitter = 0 },
		"crashes are staggered less":      func(p *RestartPolicy) { p.Base = 0 },
		"too many starts are slowed down": func(p *RestartPolicy) { p.Healthy = 10 * s },
	}
	for _, tt := range []struct {
		name     string
		history  RestartHistory
		exit     RestartExit
		action   RestartAction
		min, max time.Duration // of the delay
		attempt  int
		reason   string // part of it
	}{
		{"first crash", nil, end(RestartCrash, "signal: killed"), RestartSession, 0, s, 1,
			"ended unasked (signal: killed), failure 1 of 5"},
		{"hung", nil, end(RestartHung, ""), RestartSession, 0, s, 1, "no sign of life"},
		{"resource", nil, end(RestartResource, "2.1 GB"), RestartSession, 0, s, 1, "over its limits (2.1 GB)"},
		{"unknown class", nil, end("new", ""), RestartSession, 0, s, 1, ""},
		{"fourth crash", past{was(RestartCrash, 30*s, s), was(RestartHung, 20*s, s), was(RestartResource, 10*s, s)},
			end(RestartCrash, ""), RestartSession, 0, 8 * s, 4, "failure 4 of 5"},
		{"fifth within a minute",
			past{was(RestartCrash, 59*s, 0), was(RestartCrash, 30*s, s), was(RestartHung, 20*s, s),
				was(RestartResource, 10*s, s)},
			end(RestartCrash, "exit 1"), RestartPark, 0, 0, 5, "parked: 5 failures in 1m0s: exit 1"},
		{"fifth, the first a minute ago",
			past{was(RestartCrash, 60*s, 0), was(RestartCrash, 30*s, s), was(RestartHung, 20*s, s),
				was(RestartResource, 10*s, s)},
			end(RestartCrash, ""), RestartSession, 0, 16 * s, 5, ""},
		{"crashes of others do not count", others(10, RestartCrash, -m), end(RestartCrash, ""), RestartSession, 0, s,
			1, ""},
		{"a long run forgets", past{was(RestartCrash, 9*m, s), was(RestartCrash, 8*m, s), was(RestartCrash, 7*m, s)},
			end(RestartCrash, ""), RestartSession, 0, s, 1, ""},
		{"a short run does not",
			past{was(RestartCrash, 9*m, s), was(RestartCrash, 6*m, s), was(RestartCrash, 3*m, s)},
			end(RestartCrash, ""), RestartSession, 0, 8 * s, 4, ""},
		{"slow failures in a row", slowly(19), end(RestartCrash, ""), RestartPark, 0, 0, 20,
			"parked: 20 failures in a row"},
		{"backoff is capped", slowly(18), end(RestartCrash, ""), RestartSession, 0, 5 * m, 19, ""},
		{"could not start", nil, end(CouldNotStart, "exit 3"), RestartPark, 0, 0, 1,
			"parked: could not start: exit 3"},
		{"invalid resume", nil, end(InvalidResume, ""), RestartFresh, 0, 0, 1, "begun afresh"},
		{"invalid resume again", past{was(InvalidResume, m, 0)}, end(InvalidResume, ""), RestartPark, 0, 0, 2,
			"parked: session refused again"},
		{"invalid resume again after a crash", past{was(InvalidResume, m, 0), was(RestartCrash, 30*s, s)},
			end(InvalidResume, ""), RestartPark, 0, 0, 2, ""},
		{"invalid resume of a session that had answered", past{was(InvalidResume, m, 0)}.Answered("orch-1"),
			end(InvalidResume, ""), RestartFresh, 0, 0, 2, ""},
		{"hook", nil, end(HookRefused, "no"), RestartPark, 0, 0, 1,
			"parked: a hook of the settings refuses its messages: no"},
		{"invalid resume after a long run", past{was(InvalidResume, 6*m, 0)}, end(InvalidResume, ""), RestartFresh, 0,
			0, 1, ""},
		{"overload", nil, end(RestartOverload, ""), RestartSession, 5 * s, 10 * s, 1, "the API is overloaded"},
		{"overload, third", past{was(RestartOverload, m, 10*s), was(RestartOverload, 30*s, 20*s)},
			end(RestartOverload, ""), RestartSession, 20 * s, 40 * s, 3, ""},
		{"overload just before the horizon", past{was(RestartOverload, 10*m-s, 5*m), was(RestartOverload, 2*m, 10*s)},
			end(RestartOverload, ""), RestartSession, 20 * s, 40 * s, 3, ""},
		{"overload beyond the horizon", past{was(RestartOverload, 10*m, 6*m), was(RestartOverload, 2*m, 10*s)},
			end(RestartOverload, ""), RestartPark, 0, 0, 3, "overloaded, still after 10m"},
		{"overload is not a crash",
			past{was(RestartOverload, 50*s, s), was(RestartOverload, 40*s, s), was(RestartOverload, 30*s, s),
				was(RestartOverload, 20*s, s)},
			end(RestartCrash, ""), RestartSession, 0, s, 1, ""},
		{"host out of reach", nil, end(HostUnreachable, "refused"), RestartSession, s / 2, s, 1,
			"out of reach (refused)"},
		{"host out of reach after many attempts", slices.Repeat(past{was(HostUnreachable, m, 30*s)}, 40),
			end(HostUnreachable, ""), RestartSession, 150 * s, 5 * m, 41, ""},
		{"host out of reach beyond the horizon",
			past{was(HostUnreachable, 6*time.Hour, 6*time.Hour-3*m), was(HostUnreachable, 2*m, s)},
			end(HostUnreachable, "refused"), RestartPark, 0, 0, 3, "parked: out of reach, still after 6h0m: refused"},
		{"limit with reset", nil, limit(at(3 * time.Hour)), RestartSession, 3 * time.Hour, 3*time.Hour + 15*s, 1,
			"usage limit, resets at 15:00 UTC"},
		{"limit with reset in a moment", nil, limit(at(1)), RestartSession, 0, 15*s + 1, 1, ""},
		{"limit with reset at the edge", nil, limit(at(6 * time.Hour)), RestartSession, 6 * time.Hour, 6 * time.Hour, 1,
			""},
		{"limit with reset too late", nil, limit(at(6*time.Hour + 1)), RestartPark, 0, 0, 1,
			"parked: usage limit, resets at 18:00 UTC"},
		{"limit nine days ahead", nil, limit(at(9 * 24 * time.Hour)), RestartPark, 0, 0, 1,
			"resets at 2026-11-30 12:00 UTC"},
		{"limit, reset absurd", nil, limit(time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)), RestartPark, 0, 0, 1, ""},
		{"limit, reset in the past", nil, limit(at(-time.Hour)), RestartSession, 5 * s, 20 * s, 1, ""},
		{"limit, reset in the past again", past{was(UsageLimit, m, 10*s)}, limit(at(-time.Hour)), RestartSession, 10 * m,
			10*m + 15*s, 2, ""},
		{"limit unknown", nil, end(UsageLimit, ""), RestartSession, 5 * m, 5*m + 15*s, 1, "usage limit"},
		{"limit unknown, third", past{was(UsageLimit, 16*m, 5*m), was(UsageLimit, 11*m, 10*m)}, end(UsageLimit, ""),
			RestartSession, 20 * m, 20*m + 15*s, 3, ""},
		{"limit unknown, waited enough",
			past{was(UsageLimit, 5*time.Hour, 2*time.Hour), was(UsageLimit, 3*time.Hour, 3*time.Hour)},
			end(UsageLimit, ""), RestartPark, 0, 0, 3, "usage limit for 5h0m"},
		{"limits are not waited for", nil, limit(at(m)), RestartPark, 0, 0, 1,
			"parked: usage limit, resets at 12:01 UTC"},
		{"limit is not a crash",
			past{was(UsageLimit, 50*s, s), was(UsageLimit, 40*s, s), was(UsageLimit, 30*s, s), was(UsageLimit, 20*s, s)},
			end(RestartCrash, ""), RestartSession, 0, s, 1, ""},
		{"limits are staggered", staggered(5, at(3*time.Hour)), limit(at(3 * time.Hour)), RestartSession,
			3*time.Hour + 25*s, 3*time.Hour + 25*s, 1, ""},
		{"a gap among the starts is used", append(others(1, UsageLimit, m), others(1, UsageLimit, m+10*s)...),
			limit(at(m)), RestartSession, m + 5*s, m + 5*s, 1, ""},
		{"crashes are staggered less", others(1, RestartCrash, 0), end(RestartCrash, ""), RestartSession,
			500 * time.Millisecond, 500 * time.Millisecond, 1, ""},
		{"too many starts are slowed down",
			past{was(InvalidResume, 50*s, 0), was(RestartOverload, 40*s, 0), was(RestartOverload, 30*s, 0),
				was(UsageLimit, 20*s, 0), was(RestartOverload, 10*s, 0)},
			limit(at(-1)), RestartSession, 10 * s, 20 * s, 1, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := DefaultRestarts()
			if change := policies[tt.name]; change != nil {
				change(&p)
			}
			tt.exit.Agent, tt.exit.At, tt.exit.Seed = "orch-1", noon, "run"
			d := DecideRestart(p, tt.history, tt.exit)
			testkit.Check(t, d.Action == tt.action && d.Delay >= tt.min && d.Delay <= tt.max &&
				d.Attempt == tt.attempt && strings.Contains(d.Reason, tt.reason),
				"%+v, want %s within %s to %s, attempt %d, %q", d, tt.action, tt.min, tt.max, tt.attempt, tt.reason)
			testkit.Same(t, "not the same twice", d, DecideRestart(p, tt.history, tt.exit))
		})
	}
}

// slowly are failures two minutes apart: neither a storm nor healthy process runs.
func slowly(n int) RestartHistory {
	var h RestartHistory
	for i := n; i > 0; i-- {
		h = append(h, was(RestartCrash, time.Duration(i)*2*time.Minute, 0))
	}
	return h
}

func staggered(n int, from time.Time) RestartHistory {
	h := others(n, UsageLimit, 0)
	for i := range h {
		h[i].StartAt = from.Add(time.Duration(i) * 5 * time.Second)
	}
	return h
}

// TestJitterIsSpread: different agents with the same exits do not start at the same time, and the whole range
// is used.
func TestJitterIsSpread(t *testing.T) {
	p := DefaultRestarts()
	p.Base, p.Cap = time.Minute, time.Minute
	var low, high int
	for i := range 100 {
		d := DecideRestart(p, nil, RestartExit{Agent: "orch-1", Class: RestartCrash, Seed: string(rune('a' + i)), At: noon})
		if d.Delay < 15*time.Second {
			low++
		}
		if d.Delay > 45*time.Second {
			high++
		}
	}
	testkit.Check(t, low >= 10 && high >= 10, "%d of 100 in the first quarter, %d in the last", low, high)
}

// TestClockWentBack: a history in the future gives delays as if it had happened just now, and it ages from
// there.
func TestClockWentBack(t *testing.T) {
	p := DefaultRestarts()
	for _, back := range []time.Duration{time.Second, time.Hour, 300 * 24 * time.Hour, 200 * 365 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			h := RestartHistory{
				was(RestartCrash, 2*time.Second, time.Second),
				was(RestartCrash, time.Second, time.Second),
			}
			h = append(h, others(3, UsageLimit, time.Hour)...)
			now := noon.Add(-back)
			for _, c := range []RestartClass{RestartCrash, RestartOverload, UsageLimit, InvalidResume} {
				d := DecideRestart(p, h, RestartExit{Agent: "orch-1", Class: c, At: now, Seed: "run"})
				testkit.Check(t, d.Starts() && d.Delay >= 0 && d.Delay <= 11*time.Minute, "%s: %+v", c, d)
			}
			d := DecideRestart(p, h, RestartExit{Agent: "orch-1", Class: RestartCrash, At: now})
			testkit.Same(t, fmt.Sprintf("%+v: the failures are forgotten", d), 3, d.Attempt)
			h = h.Add(p, d.Entry(RestartExit{Agent: "orch-1", Class: RestartCrash, At: now}))
			for _, a := range h {
				testkit.Check(t, !a.At.After(now), "still in the future: %+v", a)
			}
			later := now.Add(p.retention() + 2*time.Hour)
			h = h.Trim(p, later)
			testkit.Check(t, len(h) == 0, "never forgotten: %+v", h)
		})
	}
}

func TestHistoryIsBounded(t *testing.T) {
	p := DefaultRestarts()
	var h RestartHistory
	for i := range maxHistory + 1000 {
		now := at(time.Duration(i) * time.Millisecond)
		h = h.Add(p, RestartAttempt{Agent: "orch-1", Class: RestartCrash, At: now})
	}
	testkit.Same(t, "attempts are kept", maxHistory, len(h))
	testkit.Check(t, h[len(h)-1].At.Equal(at((maxHistory+999)*time.Millisecond)), "the newest is lost")
}

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
	d := DecideRestart(w.p, w.h, e)
	w.check(e, d)
	entry := d.Entry(e)
	w.h = w.h.Add(w.p, entry)
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
	testkit.Need(w.t, d.Delay >= 0 && d.Delay <= limit && (d.Starts() || d.Delay == 0),
		"%+v after %+v: the limit is %s", d, e, limit)
	testkit.Need(w.t, d.Reason != "" && d.Action != "", "%+v after %+v", d, e)
}

// intensity checks the starts of each agent against the policy's Intensity.
func (w *world) intensity() {
	by := map[string][]time.Time{}
	for _, s := range w.starts {
		by[s.agent] = append(by[s.agent], s.at)
	}
	for agent, at := range by {
		for i := w.p.Intensity; i < len(at); i++ {
			d := at[i].Sub(at[i-w.p.Intensity])
			testkit.Need(w.t, d >= w.p.Window, "%s was started %d times in %s", agent, w.p.Intensity+1, d)
		}
	}
}

// distance checks the distance of starts after limits against Stagger.
func (w *world) distance() {
	byTime := slices.Clone(w.starts)
	slices.SortStableFunc(byTime, func(a, b launch) int { return a.at.Compare(b.at) })
	var limit, last launch
	for _, s := range byTime {
		testkit.Need(w.t, last.at.IsZero() || s.at.Sub(last.at) >= w.p.CrashStagger, "%v follows %v too soon", s, last)
		last = s
		if s.class.traits().limit {
			testkit.Need(w.t, limit.at.IsZero() || s.at.Sub(limit.at) >= w.p.Stagger,
				"%v follows %v too soon", s, limit)
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
	testkit.Check(t, starts == 5 && w.parked == 1 && w.agents[0].next.IsZero(),
		"%d starts, parked %d times, next at %s; want 5 starts and one parking", starts, w.parked, w.agents[0].next)
	d := w.now.Sub(noon)
	testkit.Check(t, d <= time.Minute, "it took %s to see the storm", d)
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
		d := w.now.Sub(noon)
		testkit.Check(t, d >= p.Horizon && d <= p.Horizon+2*p.Cap, "%d agents were parked after %s", len(w.agents), d)
		for _, a := range w.agents {
			testkit.Check(t, a.starts >= 5 && a.starts <= 25, "%d starts in %s", a.starts, w.now.Sub(noon))
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
	d := w.now.Sub(noon)
	testkit.Check(t, d >= p.MaxWait/3 && d <= p.MaxWait, "parked after %s", d)
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
	f.Add(int64(0), int64(0), []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(int64(-1<<62), int64(1<<62), []byte{200, 1, 2, 255, 4, 5, 6, 7, 8, 9, 0, 0})
	f.Fuzz(func(t *testing.T, clock, reset int64, raw []byte) {
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
			e := RestartExit{Agent: name(0), Class: c, At: now, Seed: "run"}
			if reset != 0 {
				e.ResetsAt = noon.Add(time.Duration(reset))
			}
			d := DecideRestart(p, h, e)
			// The place in the queue: after all starts in the history.
			limit := max(p.Cap, p.Window) + time.Duration(len(h)+1)*2*p.Stagger
			if c == UsageLimit {
				limit = p.MaxWait
			}
			testkit.Need(t, d.Delay >= 0 && (!d.Starts() || len(h) >= 5 || d.Delay <= limit),
				"%s: %+v, the limit is %s", c, d, limit)
			testkit.Need(t, slices.Equal(kept, h), "the history was changed")
			h2 := slices.Clone(h).Add(p, d.Entry(e))
			testkit.Need(t, len(h2) <= len(h)+1, "the history grew by more than one")
		}
	})
}
