package clients

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const (
	// look is the interval at which a run that is not live is checked: another terminal may resume it.
	look = 2 * time.Second
	// retry is the delay before the next connection to a live run that does not answer.
	retry = 100 * time.Millisecond
)

// acpFollower reports the events of a run to the client, across all processes that play the run. Only its own
// goroutine calls its methods, except wake, expect and forget. load may be called before that goroutine starts.
type acpFollower struct {
	session *session
	mapper  *mapper
	kick    chan struct{} // capacity 1: check whether prompts have ended
	loading loading       // how events read from the log are handled
	// The events up to number seq of this process of the run were reported. Processes are counted from 1.
	process int
	seq     uint64
	asks    asks

	mu       sync.Mutex
	expected []string // texts that the client itself has shown already
}

// loading says how events that are read from the log are handled.
type loading int

const (
	acpLive loading = iota
	shown           // sent, as history
	silent          // not sent
)

// link is a pair of connections to the process that plays a run: feed receives events, ask sends requests. Two are
// needed because nothing else can be read from feed while a received part is handled.
type link struct {
	feed, ask *control.Client
	status    control.Status
	ctx       context.Context
	close     context.CancelFunc
	parts     chan any
}

// wake makes the follower check whether prompts have ended.
func (f *acpFollower) wake() {
	backlog.Hint(f.kick)
}

// expect records a text of the human that the client shows without an update.
func (f *acpFollower) expect(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, text)
}

// forget removes a text that expect recorded. It reports whether it was recorded.
func (f *acpFollower) forget(text string) bool {
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

// run follows the run until the session is closed.
func (f *acpFollower) run() {
	o := f.session
	defer close(o.gone)
	defer f.asks.withdraw(nil)
	var last time.Time // LastActive of a run that is not live, when its log was last read
	for o.ctx.Err() == nil {
		info, err := o.s.run(o.id)
		wait := look
		switch {
		case err != nil:
			o.s.Log.Warn("acp: run not found", "run", o.id, "err", err)
		case info.Live:
			wait = retry // the run does not answer yet, is ending, or was lost
			if l := f.connect(o.ctx); l != nil {
				f.receive(l)
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

// connect connects to the process that plays the run. It returns nil if that fails now.
func (f *acpFollower) connect(ctx context.Context) *link {
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

// receive passes on a part of the subscription.
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

// allLines makes catchUp read the whole log.
const allLines = math.MaxUint64

// catchUp reports the events in the first limit lines of the log that were not reported yet. If those are the lines
// before the process that plays the run, it returns the event number of that process after which to continue.
func (f *acpFollower) catchUp(ctx context.Context, limit uint64) (since int64, err error) {
	log, err := f.session.s.Runs.Log(f.session.id)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	process, seq := 0, uint64(0)
	_, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.N > limit {
			return journal.Enough
		}
		if e.Line == nil {
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			process, seq = process+1, 0
		}
		seq++
		if process > f.process || process == f.process && seq > f.seq {
			f.report(e.Line)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if f.process > process {
		return int64(f.seq), nil // events of the process that plays the run were reported already
	}
	return 0, nil
}

// report reports an event to the client. It returns whether the items that wait for the human may have changed.
func (f *acpFollower) report(line []byte) bool {
	event, err := contract.DecodeWritten(line)
	if _, first := event.Body.(contract.Session); first {
		f.process, f.seq = f.process+1, 0
	}
	f.seq++
	if err != nil {
		f.session.s.Log.Warn("acp: event not read", "run", f.session.id, "err", err)
		return false
	}
	if b, ok := event.Body.(contract.Session); ok && f.loading != acpLive {
		f.session.learnMode(b.Permissions)
	}
	frames := f.mapper.add(event)
	if f.loading == silent {
		return false
	}
	if f.loading == shown { // notices are not part of the history
		frames = slices.DeleteFunc(frames, func(x frame) bool { _, is := x.Update.(acpNotice); return is })
	}
	if m, ok := event.Body.(contract.Message); ok && m.From == contract.Human && len(frames) > 0 && f.forget(m.Text) {
		frames = frames[1:]
	}
	f.session.s.send(frames)
	return !contract.Narrates(event.Body)
}

// load reads the events so far, and shows them to the client if show is set.
func (o *session) load(ctx context.Context, show bool) error {
	f := &o.follow
	if f.loading = silent; show {
		f.loading = shown
	}
	_, err := f.catchUp(ctx, allLines)
	f.loading = acpLive
	return err
}

// receive reports what the run sends, until the run or the connection ends.
func (f *acpFollower) receive(l *link) {
	f.syncInbox(l)
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
					changed = f.report([]byte(line)) || changed
				}
			case control.RunEnded:
				return
			}
		}
		if changed {
			f.syncInbox(l)
		}
	}
}

// over ends the prompts of a run that no process plays. If grown is set or prompts are open, it first reports the
// events that were not reported yet.
func (f *acpFollower) over(grown bool) {
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

// loginNeeded returns an error if the last error of the run was that Claude is not logged in.
func (f *acpFollower) loginNeeded() error {
	if !f.mapper.login {
		return nil
	}
	return &jsonrpc2.Error{Code: codeAuthRequired,
		Message: "Claude is not logged in: run claude auth login, and send the prompt again"}
}
