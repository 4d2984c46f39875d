package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// defaultGrace is the time that `shutdown` gives agents to stop in order: a little more than the stop
	// ladder of an agent takes (interrupt, end of input, TERM).
	defaultGrace = 10 * time.Second
	shutdownHard = 2 * time.Second
	// killTimeout bounds one kill; the stop ladder takes far less.
	killTimeout = 30 * time.Second
	// sweepTimeout bounds a launcher's sweep, which signals processes and reaps
	// them, and so takes milliseconds.
	sweepTimeout = 150 * time.Millisecond
)

// registry holds all incarnations of a conversation's agents. It has no goroutine: an incarnation is over
// when its `done` was emitted.
type registry struct {
	launcher Launcher
	p        *peer
	log      *slog.Logger
	others   *inquiries // end with the agents

	mu      sync.Mutex
	latest  map[string]*incarnation // by id; an entry is never removed, so that its generation stays known
	owner   Owner                   // empty before initialize
	closing bool
}

func newRegistry(l Launcher, p *peer, log *slog.Logger, others *inquiries) *registry {
	return &registry{launcher: l, p: p, log: log, others: others, latest: map[string]*incarnation{}}
}

// begin sets the owner whose processes sweep may kill.
func (r *registry) begin(of Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.owner = of
}

// claim registers a new incarnation, which the caller then starts. If two callers claim one id at the same
// time, one succeeds. Two processes on one session would write to one transcript, so a session in use
// cannot be claimed either.
func (r *registry) claim(ref AgentRef, session string) (*incarnation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		return nil, errShuttingDown()
	}
	if last := r.latest[ref.ID]; last != nil {
		if !last.ended() {
			return nil, rpcErrorf(CodeAgentExists,
				fmt.Sprintf("%s lives, in generation %d", ref.ID, last.ref.Generation))
		}
		if ref.Generation <= last.ref.Generation {
			return nil, rpcErrorf(CodeStale, fmt.Sprintf("generation %d of %s is not new: the next one must be greater",
				last.ref.Generation, ref.ID))
		}
	}
	for id, other := range r.latest {
		switch {
		case other.ended():
			r.latest[id] = other.remembered()
		case other.session == session:
			return nil, rpcErrorf(CodeAgentExists, fmt.Sprintf("session %.100s is in use by %s", session, other.ref))
		}
	}
	inc := newIncarnation(ref, session, r.p, r.log)
	r.latest[ref.ID] = inc
	return inc, nil
}

// find returns the incarnation that ref names if it has not ended.
func (r *registry) find(ref AgentRef) (*incarnation, error) {
	r.mu.Lock()
	inc := r.latest[ref.ID]
	r.mu.Unlock()
	switch {
	case inc == nil:
		return nil, rpcErrorf(CodeUnknownAgent, fmt.Sprintf("there is no agent %.100q", ref.ID))
	case inc.ref.Generation != ref.Generation:
		return nil, rpcErrorf(CodeStale, fmt.Sprintf("%s is in generation %d, not %d", ref.ID, inc.ref.Generation,
			ref.Generation))
	case inc.ended():
		return nil, inc.endedError()
	}
	return inc, nil
}

// live closes the registry for claims and returns the incarnations that have not ended.
func (r *registry) live() (incs []*incarnation, of Owner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closing = true
	for _, inc := range r.latest {
		if !inc.ended() {
			incs = append(incs, inc)
		}
	}
	slices.SortFunc(incs, func(a, b *incarnation) int { return strings.Compare(a.ref.ID, b.ref.ID) })
	return incs, r.owner
}

// stopAll ends all agents: in order within grace, then forcibly within hard. Checks are ended at once. Then
// it sweeps the processes that escaped. Two calls may run at the same time, when the connection ends during
// a shutdown; the shorter grace then applies.
func (r *registry) stopAll(grace, hard time.Duration) ShutdownResult {
	all, of := r.live()
	begun := time.Now()
	r.others.end()
	left := r.stopEach(all, grace, false)
	checks := r.others.wait(max(endFlush, grace-time.Since(begun))) // what is swept later has escaped
	swept := 0
	if len(left) > 0 {
		killed := make(chan []*incarnation)
		go func() { killed <- r.stopEach(left, hard, true) }()
		swept = r.sweep(of) // an escaped process may keep an agent from ending
		left = <-killed
	}
	swept += r.sweep(of)
	if len(checks) > 0 { // the sweep has ended the processes they waited for
		checks = r.others.wait(max(endFlush, grace+hard-time.Since(begun)))
	}
	result := ShutdownResult{Stopped: len(all) - len(left), Swept: swept}
	for _, inc := range left {
		result.Unstopped = append(result.Unstopped, inc.ref.String())
	}
	result.Unstopped = append(result.Unstopped, checks...)
	return result
}

// stopEach stops the agents concurrently and returns those that have not ended after d. If an agent ignores
// its context, its goroutine outlives the call, and left names the agent.
func (r *registry) stopEach(incs []*incarnation, d time.Duration, now bool) (left []*incarnation) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var stops sync.WaitGroup
	for _, inc := range incs {
		stops.Go(func() {
			if err := inc.stop(ctx, now); err != nil {
				r.log.Warn("an agent did not stop yet", "agent", inc.ref.String(), "now", now, "err", err)
			}
		})
	}
	within(d, stops.Wait)
	for _, inc := range incs {
		if !inc.ended() {
			left = append(left, inc)
		}
	}
	return left
}

func (r *registry) sweep(of Owner) (swept int) {
	if of.Run == "" {
		return 0
	}
	count := make(chan int, 1)
	go func() { count <- r.launcher.Sweep(of) }()
	late := time.NewTimer(sweepTimeout)
	defer late.Stop()
	select {
	case n := <-count:
		return n
	case <-late.C:
		r.log.Error("the sweep for escaped processes hangs", "run", of.Run)
		return 0
	}
}
