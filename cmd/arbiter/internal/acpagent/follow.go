package acpagent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
)

const (
	// look is how often a run that is not live is looked at: another terminal may resume it.
	look = 2 * time.Second
	// retry is how long to wait before a live run that does not answer is called again.
	retry = 100 * time.Millisecond
)

// follower tells the client what happens in a run, over all processes that play it. Its methods are called by its own
// goroutine, but for wake, expect and forget; before that is started, load may be called.
type follower struct {
	session *session
	mapper  *mapper
	kick    chan struct{} // capacity 1: look whether prompts have ended
	loading loading       // what is read is history
	// The events up to seq of that process of the run were told. Processes are counted from 1.
	process int
	seq     uint64
	asks    asks

	mu       sync.Mutex
	expected []string // texts that the client has shown already
}

// loading reports what happens to events that are read from the log.
type loading int

const (
	live   loading = iota
	shown          // as history
	silent         // not at all
)

// link is a pair of connections to the process that plays a run: on one it reports what happens, on the other it is
// asked. While what was heard is handed on, nothing else can be read on the first.
type link struct {
	feed, ask *control.Client
	status    control.Status
	ctx       context.Context
	close     context.CancelFunc
	parts     chan any
}

// wake has the follower look whether prompts have ended.
func (f *follower) wake() {
	select {
	case f.kick <- struct{}{}:
	default:
	}
}

// expect notes that the client shows a text of the human without an update.
func (f *follower) expect(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, text)
}

// forget takes that back. It reports whether it was expected.
func (f *follower) forget(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range f.expected {
		if strings.TrimSpace(t) == strings.TrimSpace(text) {
			f.expected = append(f.expected[:i:i], f.expected[i+1:]...)
			return true
		}
	}
	return false
}

// run follows until the session is closed.
func (f *follower) run() {
	o := f.session
	defer close(o.gone)
	defer f.asks.withdraw(nil)
	var last time.Time // when a run that is not live was active last, as far as its log was read
	for o.ctx.Err() == nil {
		info, err := o.s.run(o.id)
		wait := look
		switch {
		case err != nil:
			o.s.Log.Warn("acp: run not found", "run", o.id, "err", err)
		case info.Live:
			wait = retry // it does not answer yet, is ending, or was lost
			if l := f.connect(o.ctx); l != nil {
				f.hear(l)
				l.end()
				f.asks.withdraw(nil)
			}
		default:
			f.over(!info.LastActive.Equal(last))
			last = info.LastActive
		}
		select {
		case <-o.ctx.Done():
		case <-f.kick:
		case <-time.After(wait):
		}
	}
}

// connect connects to the process that plays the run; nil if that does not work now.
func (f *follower) connect(ctx context.Context) *link {
	o := f.session
	var err error
	l := &link{parts: make(chan any)}
	if l.feed, l.status, err = o.s.Runs.Dial(ctx, o.id); err != nil {
		return nil
	}
	if l.ask, _, err = o.s.Runs.Dial(ctx, o.id); err != nil {
		l.feed.Close()
		return nil
	}
	l.ctx, l.close = context.WithCancel(ctx)
	since, err := f.catchUp(l.ctx, l.status.LogLines)
	if err == nil {
		err = l.feed.Subscribe(l.ctx, control.SubscribeParams{Since: since}, l.receive)
	}
	if err != nil {
		o.s.Log.Info("acp: run not followed", "run", o.id, "err", err)
		l.end()
		return nil
	}
	return l
}

// receive hands on a part of the subscription.
func (l *link) receive(part any) {
	select {
	case l.parts <- part:
	case <-l.ctx.Done():
	}
}

func (l *link) end() {
	l.close()
	l.feed.Close()
	l.ask.Close()
}

var errEnough = errors.New("enough")

// allLines has catchUp read the whole log.
const allLines = math.MaxUint64

// catchUp reports what the event log has in its first lines and was not told yet. If those are the lines before the
// process that plays the run, it returns the event of that process to continue behind.
func (f *follower) catchUp(ctx context.Context, limit uint64) (since int64, err error) {
	log, err := f.session.s.Runs.Log(f.session.id)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	process, seq := 0, uint64(0)
	_, err = log.Each(ctx, eventlog.Position{}, func(e eventlog.Entry) error {
		if e.N > limit {
			return errEnough
		}
		if e.Line == nil {
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			process, seq = process+1, 0
		}
		seq++
		if process > f.process || process == f.process && seq > f.seq {
			f.tell(e.Line)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return 0, err
	}
	if f.process > process {
		return int64(f.seq), nil // of the process that plays it were events told already
	}
	return 0, nil
}

// tell tells an event. It reports whether something may have changed that waits for the human.
func (f *follower) tell(line []byte) bool {
	event, err := contract.DecodeWritten(line)
	if _, first := event.Body.(contract.Session); first {
		f.process, f.seq = f.process+1, 0
	}
	f.seq++
	if err != nil {
		f.session.s.Log.Warn("acp: event not read", "run", f.session.id, "err", err)
		return false
	}
	if b, ok := event.Body.(contract.Session); ok && f.loading != live {
		f.session.learnMode(b.Permissions)
	}
	frames := f.mapper.add(event)
	if f.loading == silent {
		return false
	}
	if f.loading == shown { // a notice belongs to no history
		frames = slices.DeleteFunc(frames, func(x frame) bool { _, is := x.Update.(notice); return is })
	}
	if m, ok := event.Body.(contract.Message); ok && m.From == contract.Human && len(frames) > 0 && f.forget(m.Text) {
		frames = frames[1:]
	}
	f.session.s.send(frames)
	return !contract.Narrates(event.Body)
}

// load reads what happened so far, and shows it if that is asked.
func (o *session) load(ctx context.Context, show bool) error {
	f := &o.follow
	if f.loading = silent; show {
		f.loading = shown
	}
	_, err := f.catchUp(ctx, allLines)
	f.loading = live
	return err
}

// hear reports what the run says until it ends or the connection does.
func (f *follower) hear(l *link) {
	f.settle(l)
	for {
		changed := false
		select {
		case <-l.ctx.Done():
			return
		case <-l.feed.Done():
			return
		case <-f.kick:
			changed = true
		case part := <-l.parts:
			switch part := part.(type) {
			case control.Events:
				f.seq += part.Skipped
				for _, line := range part.Lines {
					changed = f.tell([]byte(line)) || changed
				}
			case control.RunEnded:
				return
			}
		}
		if changed {
			f.settle(l)
		}
	}
}

// over ends the prompts of a run that no process plays. Before, it reports what was not told yet; grown says that
// there may be such.
func (f *follower) over(grown bool) {
	o := f.session
	armed, cancelled := o.waiting()
	if !grown && len(armed)+len(cancelled) == 0 {
		return
	}
	if _, err := f.catchUp(o.ctx, allLines); err != nil {
		o.s.Log.Warn("acp: event log not read", "run", o.id, "err", err)
	}
	err := f.loginNeeded()
	stop := stopEndTurn
	switch r := f.mapper.ended; {
	case err != nil:
	case r == nil:
		err = fmt.Errorf("the process of run %s ended before the work was done: send another prompt to resume it", o.id)
	case r.Status == contract.StatusLimit:
		stop = stopLimit
	}
	o.end(append(armed, cancelled...), stop, err)
}

// loginNeeded is an error if the last trouble was that Claude is not logged in.
func (f *follower) loginNeeded() error {
	if !f.mapper.login {
		return nil
	}
	return &jsonrpc2.Error{Code: codeAuthRequired,
		Message: "Claude is not logged in: run claude auth login, and send the prompt again"}
}
