package egress

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	holdTimeout = 5 * time.Minute // how long a connection waits for an answer; the question goes on
	deniedFor   = time.Minute     // a refused host is asked about again after this
	maxOpen     = 8               // questions at a time
)

// asked holds what was asked and answered about hosts that are not listed.
type asked struct {
	p        *Proxy
	mu       sync.Mutex
	seen     map[target]*question
	open     int
	reported map[target]bool
}

type question struct {
	done    chan struct{}
	allowed bool // these are read after done
	why     string
	at      time.Time
}

// admit returns why a target may not be reached. It waits for an answer if there is someone to ask.
func (a *asked) admit(ctx context.Context, t target) error {
	if _, listed := a.p.o.Rules.find(t); listed {
		return nil
	}
	addr, isAddr := address(t.host)
	local := t.host == "localhost" || strings.HasSuffix(t.host, ".localhost")
	if a.p.o.Ask == nil || local || isAddr && !public(addr) {
		why := fmt.Sprintf("%s is not among the hosts that this sandbox may reach; --allow-host %s allows it", t, t.flag())
		a.report(t, why)
		return refusal(why)
	}
	q, err := a.question(t)
	if err != nil {
		return err
	}
	late := time.NewTimer(holdTimeout)
	defer late.Stop()
	select {
	case <-q.done:
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		return refusal(fmt.Sprintf("nobody has answered yet whether %s may be reached; try again later", t))
	}
	if !q.allowed {
		return refusal(fmt.Sprintf("%s may not be reached: %s", t, q.why))
	}
	return nil
}

// flag is the value of --allow-host that allows t.
func (t target) flag() string {
	if t.port == 80 || t.port == 443 {
		return t.host
	}
	return t.String()
}

// question returns the question about t; one that was denied is asked again after a while.
func (a *asked) question(t target) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.seen[t]; q != nil {
		select {
		case <-q.done:
			if q.allowed || time.Since(q.at) < deniedFor {
				return q, nil
			}
		default:
			return q, nil
		}
	}
	if a.open == maxOpen {
		return nil, refusal(fmt.Sprintf("%s may not be reached: %d questions about hosts are open", t, maxOpen))
	}
	q := &question{done: make(chan struct{})}
	if !a.p.begin() {
		return nil, context.Canceled
	}
	a.seen[t] = q
	a.open++
	go func() {
		defer a.p.wg.Done()
		q.allowed, q.why = a.p.o.Ask(a.p.ctx, t.host, t.port)
		a.mu.Lock()
		defer a.mu.Unlock()
		q.at = time.Now()
		a.open--
		close(q.done)
	}()
	return q, nil
}

// report tells once of a host that was refused.
func (a *asked) report(t target, why string) {
	a.mu.Lock()
	fresh := !a.reported[t] && len(a.reported) < maxConns
	if fresh {
		a.reported[t] = true
	}
	a.mu.Unlock()
	if fresh && a.p.o.Report != nil {
		a.p.o.Report(t.host, t.port, why)
	}
}
