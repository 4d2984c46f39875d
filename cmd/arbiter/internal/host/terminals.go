package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// This part of the package tracks which client has the session of an agent in a terminal: one client at a
// time.

// Terminals tracks which client has which agent's session in a terminal: one at a time. It removes the output of
// terminals from the stream of events before the loop, and never blocks that stream.
type Terminals struct {
	holds sync.Map // [*Attachment] by agent
}

// Attachment is an agent's session in a client's terminal, from before it is open until after its end. It implements
// [control.Attachment].
type Attachment struct {
	who   string
	since time.Time
	term  string // TERM of the terminal; it may be empty
	*control.Feed

	mu     sync.Mutex
	size   control.Size
	ref    bridge.AgentRef // of the open terminal
	client *bridge.Client  // that has the terminal; nil before

	// [service.Attach] sets these, and only its goroutines use them.
	run         *service
	channel     string
	result      control.AttachResult
	events      <-chan contract.Event
	unsubscribe func()
	over        chan struct{} // closed when the session was given back
	ended       control.Ended // valid when over is closed
	asked       sync.Once     // for giving it back
}

// Claim reserves an agent for a client.
func (t *Terminals) Claim(agent, who string, size control.Size, term string) (*Attachment, error) {
	h := &Attachment{who: who, since: time.Now(), term: term, size: size, Feed: control.NewFeed(0)}
	if other, taken := t.holds.LoadOrStore(agent, h); taken {
		h := other.(*Attachment)
		return nil, fmt.Errorf("%s is attached already: %s has it since %s", agent, h.who,
			h.since.Local().Format("15:04:05"))
	}
	return h, nil
}

func (t *Terminals) Of(agent string) *Attachment {
	held, _ := t.holds.Load(agent)
	h, _ := held.(*Attachment)
	return h
}

// Holder returns the name of the client that has taken over an agent; empty: none.
func (t *Terminals) Holder(agent string) string {
	if h := t.Of(agent); h != nil {
		return h.who
	}
	return ""
}

// Tap returns the handler for a bridge: next, except for the output of terminals.
func (t *Terminals) Tap(next bridge.Handler) bridge.Handler { return tap{next, t} }

// tap passes the bridge's events to the loop, except the output of terminals.
type tap struct {
	bridge.Handler
	terminals *Terminals
}

// Event implements bridge.Handler.
func (e tap) Event(ev bridge.Event) {
	b, ok := ev.Body.(bridge.PTY)
	if !ok {
		e.Handler.Event(ev)
		return
	}
	if h := e.terminals.Of(ev.ID); h != nil {
		h.Put(b.Data) // the reader of the feed disconnects a client that is too far behind
	}
}

// Size returns the size of the terminal that shows the session.
func (a *Attachment) Size() control.Size {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.size
}

// Opened sets the open terminal for input, and reports a size that has changed since p.
func (a *Attachment) Opened(ctx context.Context, c *bridge.Client, p bridge.PTYOpenParams) {
	a.mu.Lock()
	a.ref, a.client = p.AgentRef, c
	now := a.size
	a.mu.Unlock()
	if now.Cols != p.Cols || now.Rows != p.Rows {
		// it may have ended
		_ = c.PTYResize(ctx, bridge.PTYResizeParams{AgentRef: p.AgentRef, Cols: now.Cols, Rows: now.Rows})
	}
}

var errNotOpen = errors.New("the terminal is not open")

// typing is how long a terminal may accept no input before typing fails.
const typing = 10 * time.Second

func (a *Attachment) Write(ctx context.Context, p []byte) error {
	a.mu.Lock()
	ref, client := a.ref, a.client
	a.mu.Unlock()
	if client == nil {
		return errNotOpen
	}
	ctx, cancel := context.WithTimeout(ctx, typing)
	defer cancel()
	for len(p) > 0 {
		n := min(len(p), bridge.MaxPTYWrite)
		if err := client.PTYWrite(ctx, bridge.PTYWriteParams{AgentRef: ref, Data: p[:n]}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (a *Attachment) Resize(ctx context.Context, s control.Size) error {
	a.mu.Lock()
	a.size = s
	ref, client := a.ref, a.client
	a.mu.Unlock()
	if client == nil {
		return nil // it will be opened with that size
	}
	ctx, cancel := context.WithTimeout(ctx, typing)
	defer cancel()
	return client.PTYResize(ctx, bridge.PTYResizeParams{AgentRef: ref, Cols: s.Cols, Rows: s.Rows})
}

// await waits for the end of the session, and releases it.
func (a *Attachment) await() {
	defer a.release()
	for {
		select {
		case e := <-a.events:
			if b, ok := e.Body.(contract.Takeover); ok && (b.State == "ended" || b.State == "failed") {
				a.ended = endOf(b)
				return
			}
		case <-a.run.input.loop.Done():
			a.ended = control.Ended{Reason: runstore.ErrRunOver.Error()}
			return
		}
	}
}

// endOf reports how a session ended.
func endOf(b contract.Takeover) control.Ended {
	return control.Ended{Reason: b.Reason, Words: b.Words, Files: b.Files}
}

// release lets others attach to the agent; a.ended is valid from then on.
func (a *Attachment) release() {
	a.End(io.EOF)
	a.unsubscribe()
	a.run.terminals.holds.CompareAndDelete(a.result.Agent, a)
	close(a.over)
}

// giveBack asks the loop to end the attachment.
func (a *Attachment) giveBack() {
	a.asked.Do(func() {
		// A stuck loop keeps the session; a halt or the end of the run then ends it.
		a.run.input.loop.Put(input.Command{Command: contract.Command{Ref: a.run.input.NewRef(),
			Body: contract.Detach{ID: a.result.Agent}}, Channel: a.channel})
	})
}

func (a *Attachment) Result() control.AttachResult { return a.result }

// Detach gives the session back.
func (a *Attachment) Detach(ctx context.Context) control.Ended {
	select {
	case <-a.over:
		return a.ended
	default:
	}
	a.run.input.Go(a.giveBack) // until the loop has received it, or the run is over
	select {
	case <-a.over:
		return a.ended
	case <-ctx.Done():
		return control.Ended{Reason: "the session is still being given back"}
	}
}

// Attach implements [control.Service]. If ctx ends before the session is open, it gives up.
func (s *service) Attach(
	ctx context.Context, who string, p control.AttachParams, progress func(string),
) (control.Attachment, error) {
	channel := channelOf(p.Frontend)
	if channel == input.ChannelScreen {
		who = "the screen"
	}
	a, err := s.terminals.Claim(p.Agent, who, p.Size, p.Term)
	if err != nil {
		return nil, err
	}
	ref := s.input.NewRef()
	a.run, a.channel, a.over = s, channel, make(chan struct{})
	a.result = control.AttachResult{Run: s.run, Agent: p.Agent, Name: p.Agent}
	a.events, a.unsubscribe = s.input.board.Subscribe(func(e contract.Event) bool {
		_, takeover := e.Body.(contract.Takeover)
		return takeover && e.ID == p.Agent || InputAnswers(e, ref)
	})
	over, err := a.open(ctx, ref, progress)
	if err != nil {
		a.release()
		return nil, err
	}
	if agent, ok := s.input.loop.Snapshot().Agent(p.Agent); ok {
		a.result.Name, a.result.Host, a.result.Session = agent.Name, agent.Host, agent.SessionID
	}
	if over {
		a.release()
	} else {
		s.input.Go(a.await)
	}
	return a, nil
}

// open asks the loop to open the terminal, and waits until it is open. over: it has ended since, or was given back
// before it was open. The error is a *control.OpenError if the session could not be opened.
func (a *Attachment) open(ctx context.Context, ref string, progress func(string)) (over bool, err error) {
	in := a.run.input
	asked := in.Later(input.Command{Command: contract.Command{Ref: ref,
		Body: contract.Attach{ID: a.result.Agent}}, Channel: a.channel})
	for {
		select {
		case e := <-a.events:
			switch b := e.Body.(type) {
			case contract.Accepted:
				progress(b.Message)
			case contract.Rejected:
				return false, errors.New(b.Message)
			case contract.Takeover:
				switch b.State {
				case "open":
					return false, nil
				case "ended":
					a.ended = endOf(b)
					return true, nil
				case "failed":
					return false, &control.OpenError{Agent: a.result.Agent, Reason: b.Reason}
				}
			}
		case <-in.loop.Done():
			return false, runstore.ErrRunOver
		case <-ctx.Done():
			in.Go(func() { // after the request, however long that takes
				if <-asked {
					a.giveBack()
				}
			})
			return false, fmt.Errorf("given up: %w", context.Cause(ctx))
		}
	}
}

// This file adds up what all runs have cost today, for a run with a daily limit.

// dayEvery is how often a run reads what the other runs have cost today.
const dayEvery = 10 * time.Second

// daySpending computes what all runs have cost on a day. Only one goroutine uses it.
type daySpending struct {
	store *runstore.Runs
	own   string // the run that asks
	day   string
	read  map[string]*runstore.Spent // of that day
}

// spent returns what was spent on the day of now. It reads only what is new since the last call. With an error, the
// result has what could be read.
func (d *daySpending) spent(ctx context.Context, now time.Time) (day input.DaySpent, unread error) {
	if day.Day = now.Format(time.DateOnly); day.Day != d.day {
		d.day, d.read = day.Day, map[string]*runstore.Spent{}
	}
	list, err := d.store.List()
	if err != nil {
		return day, err
	}
	year, month, date := now.Date()
	midnight := time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	for _, info := range list {
		if info.Empty || info.Rehearsal || !info.Live && info.LastActive.Before(midnight) {
			continue
		}
		s, err := d.store.Spent(ctx, info, d.read[info.Run])
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // one without events yet, or removed
			unread = errors.Join(unread, fmt.Errorf("run %s: %w", command.ShortID(info.Run), err))
		}
		d.read[info.Run] = s
	}
	removed, err := d.store.SpentByRemoved(midnight)
	maps.Copy(d.read, removed)
	unread = errors.Join(unread, err)
	for _, run := range slices.Sorted(maps.Keys(d.read)) { // also those that were removed: the money is spent
		s := d.read[run]
		usd := s.Live()
		for _, row := range s.Rows {
			if row.Day == day.Day {
				usd += row.CostUSD
			}
		}
		if run == d.own {
			day.OwnUSD = usd
		} else {
			day.OthersUSD += usd
		}
	}
	return day, unread
}

// WatchDayBudget reports to a run what the other runs have cost today: once before the run begins, and regularly while
// it runs. The caller calls stop when the run is over.
func WatchDayBudget(
	ctx context.Context, store *runstore.Runs, run string, loop InputLoop, log *slog.Logger,
) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	spending := &daySpending{store: store, own: run}
	var last input.DaySpent
	look := func() {
		day, err := spending.spent(ctx, time.Now())
		if err != nil && ctx.Err() == nil {
			log.Warn("some costs of the day could not be read", "err", err)
		}
		if ctx.Err() == nil && (day.Day != last.Day || day.OthersUSD != last.OthersUSD) {
			last = day
			loop.Put(day)
		}
	}
	look()
	var watch sync.WaitGroup
	watch.Go(func() {
		tick := time.NewTicker(dayEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				look()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); watch.Wait() }
}

// This file checks before each start of an agent whether the settings in its directory are trusted.

// TrustGate checks the workspace before each start of an agent in it.
type TrustGate struct {
	place, run string
	state      string // of the records of trust

	// inventory reads the settings in a directory on another host. [bridge.ErrClosed] says that the host is lost.
	inventory func(ctx context.Context, host, dir string) (bridge.InventoryResult, error)

	seen sync.Map // [trust.Listing] by host and hash: what was trusted, or found instead
}

// see keeps a listing of a host.
func (w *TrustGate) see(host string, l trust.Listing) { w.seen.Store([2]string{host, l.Hash}, l) }

// known returns a listing of a host.
func (w *TrustGate) known(host, hash string) (trust.Listing, bool) {
	x, ok := w.seen.Load([2]string{host, hash})
	l, _ := x.(trust.Listing)
	return l, ok
}

// NewTrustGate makes the gate of a run that works in place. seen is the state of the workspace before the run.
func NewTrustGate(
	place, run string, seen settings.TrustState,
	inventory func(ctx context.Context, host, dir string) (bridge.InventoryResult, error),
) *TrustGate {
	w := &TrustGate{place: place, state: seen.State, run: run, inventory: inventory}
	w.see(supervisor.LifecycleHere, seen.Listing)
	w.see(supervisor.LifecycleHere, seen.Was)
	return w
}

// Check is a runloop.Gate.
func (w *TrustGate) Check(ctx context.Context, p bridge.SpawnParams, pinned runloop.Pinned) error {
	if pinned.Host != supervisor.LifecycleHere {
		return w.gateElsewhere(ctx, p.Config.CWD, pinned)
	}
	now, err := trust.Inventory(w.place, settings.OwnConfiguration()...)
	if err != nil {
		return err
	}
	if now.Hash == pinned.Workspace {
		return w.ownGate(p.Config.CWD, now)
	}
	text := "the workspace has changed since it was trusted"
	if was, ok := w.known(supervisor.LifecycleHere, pinned.Workspace); ok {
		text += ": " + sanitize.Line(trust.Summary(trust.Diff(was, now), settings.MaxListedChanges), 600)
	}
	w.see(supervisor.LifecycleHere, now)
	return &runloop.Untrusted{Message: text, Hash: now.Hash}
}

// ownGate refuses an agent whose own directory (a worktree or a clone) has settings that the trusted workspace does
// not have, because another agent has changed them. Missing settings are allowed.
func (w *TrustGate) ownGate(dir string, trusted trust.Listing) error {
	if dir == w.place {
		return nil
	}
	own, err := trust.Inventory(dir, settings.OwnConfiguration()...)
	if err != nil {
		return err
	}
	// Settings that are also read from the user's work tree are those that were trusted.
	changes := trust.News(trusted, own, trusted.Root+string(filepath.Separator))
	if len(changes) == 0 {
		return nil
	}
	return fmt.Errorf("%s has settings that are not trusted (%s): have them taken out there, or land them and trust "+
		"the workspace", dir, sanitize.Line(trust.Summary(changes, settings.MaxListedChanges), 600))
}

// gateElsewhere lets an agent start on another host if its directory there has no settings that the trusted
// workspace lacks, or if a human has trusted its settings on that host. The host's report is compared with what was
// trusted here: a host can hide settings, but cannot make others trusted.
func (w *TrustGate) gateElsewhere(ctx context.Context, dir string, pinned runloop.Pinned) error {
	trusted, known := w.known(supervisor.LifecycleHere, pinned.Workspace)
	if !known {
		return fmt.Errorf("%s: the trusted settings are no longer known", dir)
	}
	r, err := w.inventory(ctx, pinned.Host, dir)
	if err != nil {
		return fmt.Errorf("host %s: the settings in %s cannot be read: %w", pinned.Host, dir, err)
	}
	items := make([]trust.Item, len(r.Items))
	for i, item := range r.Items {
		items[i] = trust.Item(item)
	}
	there := trust.Listed(r.Dir, r.Root, items)
	changes := trust.News(trusted, there, "")
	if len(changes) == 0 || there.Hash == pinned.There {
		return nil
	}
	store, err := settings.OpenTrust(w.state)
	if err != nil {
		return err
	}
	if kept, ok, err := store.On(pinned.Host).Trusted(w.place); err == nil && ok && kept.Hash == there.Hash {
		return nil
	}
	w.see(pinned.Host, there)
	return &runloop.Untrusted{Hash: there.Hash, Message: fmt.Sprintf("host %s: %s has settings that are not trusted: %s",
		pinned.Host, dir, sanitize.Line(trust.Summary(changes, settings.MaxListedChanges), 600))}
}

// Record stores that the human has trusted settings in the run, if they are still known.
func (w *TrustGate) Record(_ context.Context, host, hash string) error {
	l, ok := w.known(host, hash)
	if !ok {
		return fmt.Errorf("the trusted settings are no longer known")
	}
	store, err := settings.OpenTrust(w.state)
	if err != nil {
		return err
	}
	return store.On(host).Trust(w.place, l, "a choice in run "+w.run, time.Now())
}
