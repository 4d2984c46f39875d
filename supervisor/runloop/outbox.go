package runloop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Journal is where a loop records its inputs and what the frontends receive. None of its methods writes to the
// disk itself. *journal.Run implements it.
type Journal interface {
	// Append buffers a record and returns its number.
	Append(k journal.Kind, payload []byte) (uint64, error)
	// AppendSoon is Append for a record that may wait a moment to share a write with others.
	AppendSoon(k journal.Kind, payload []byte) (uint64, error)
	// AppendEvents buffers lines of the event log.
	AppendEvents(lines ...journal.LogContent) error
	// Fill returns how many bytes a resume would have to read now, and its limit.
	Fill() (used, limit int64)
	// Snapshot replaces the inputs so far by the state after all that was appended. It reports whether encode
	// will be called, by another goroutine.
	Snapshot(encode func() ([]byte, error)) bool
}

const (
	// maxPending is how many inputs may wait for the disk before the loop stops taking more.
	maxPending = 4096
	// A snapshot is due after so many inputs, or bytes of them: a resume replays the inputs after the snapshot,
	// at some 20 µs an input, and a snapshot keeps the disk busy for about 5 ms.
	snapshotInputs = 4000
	snapshotBytes  = 4 << 20
)

// outbox is the loop's side of the journal. Effects wait in pending until the inputs that caused them are on
// disk.
type outbox struct {
	durable atomic.Uint64          // records up to this one are on disk
	trouble atomic.Pointer[string] // why nothing can be written now; nil: it can
	foreign atomic.Pointer[string] // another process wrote to the journal; stays set
	deleted atomic.Pointer[string] // the journal was deleted
	wake    chan struct{}          // capacity 1: durable or trouble has changed

	// The rest belongs to the loop's goroutine.
	last     uint64 // the last record appended
	inputs   int    // since the last snapshot
	bytes    int    // of these inputs
	encoder  supervisor.LogEncoder
	pending  []pendingInput
	reported *string // the trouble that was reported
	closed   bool    // nothing is recorded any more
	givenUp  bool    // and the loop no longer waits for the journal
	dropped  bool    // reported once that narration is not kept any more
	filling  bool    // reported that the journal is nearly full
}

type pendingInput struct {
	supervisor.Waiting
	upTo    uint64
	ports   ports // the bridges at that moment; a later one has other agents
	effects []input.Effect
}

func (b *outbox) hint() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Committed reports that all records up to one are on disk.
func (l *Loop) Committed(upTo uint64) {
	l.outbox.durable.Store(upTo)
	l.outbox.hint()
}

// Trouble reports that nothing can be written now, and why; nil: it can again.
func (l *Loop) Trouble(err error) {
	if err == nil {
		l.outbox.trouble.Store(nil)
	} else {
		text := err.Error()
		l.outbox.trouble.Store(&text)
		if errors.Is(err, journal.ErrForeignWrite) {
			l.outbox.foreign.Store(&text)
		}
		if errors.Is(err, journal.ErrDeleted) {
			l.outbox.deleted.Store(&text)
		}
	}
	l.outbox.hint()
}

// await makes effects, and their events, wait for all that is recorded so far.
func (b *outbox) await(u pendingInput) {
	if len(u.effects) > 0 || len(u.Items) > 0 {
		u.upTo = b.last
		b.pending = append(b.pending, u)
	}
}

// record appends an input that has led to effects, and returns its number; 0: it is not recorded. An error says
// that the journal does not accept the input. Unless the input is only too large, the journal accepts nothing
// any more, and the outbox is closed.
func (l *Loop) record(ctx context.Context, in input.Input, effects []input.Effect) (uint64, error) {
	b := &l.outbox
	if l.Journal == nil || b.closed || !input.Recorded(in.Body) {
		return 0, nil
	}
	payload, err := input.EncodeInput(in)
	if err != nil {
		panic(err) // our own types; a test encodes them all
	}
	kind := journal.Input
	if input.Narrates(in.Body) {
		kind = journal.Narration
	}
	add := l.Journal.Append
	if mayWait(in.Body, effects) {
		add = l.Journal.AppendSoon
	}
	seq, err := add(kind, payload)
	_, commanded := in.Body.(input.Command)
	switch {
	case err == nil:
		b.last, b.inputs, b.bytes = seq, b.inputs+1, b.bytes+len(payload)
		crashpoint.Here("loop.append")
		l.reportFill()
		return seq, nil
	case kind == journal.Narration && errors.Is(err, journal.ErrTooLarge):
		l.report(contract.Supervisor, contract.Notice{
			Text: "something that an agent did or said is too large for the journal and is not recorded: " + err.Error(),
		})
		return 0, nil
	case errors.Is(err, journal.ErrDropped):
		if !b.dropped {
			b.dropped = true
			l.report(contract.Supervisor, contract.Notice{Text: "the disk is too slow: not all that agents say and " +
				"do during turns is recorded; messages, decisions and turns are"})
		}
		return 0, nil
	case commanded && errors.Is(err, journal.ErrTooLarge):
		return 0, err
	}
	b.closed = true
	if b.trouble.Load() != nil || errors.Is(err, journal.ErrClosed) {
		l.giveUpJournal(ctx) // what the journal holds will not get to the disk
	}
	return 0, err
}

// mayWait reports whether an input need not be on disk at once: an agent's event that leads to nothing but events for
// frontends. The end of a turn is often several events, of which only the last one moves a message; so they share one
// write.
func mayWait(f input.Body, effects []input.Effect) bool {
	if _, ok := f.(input.AgentEvent); !ok {
		return false
	}
	return !slices.ContainsFunc(effects, func(e input.Effect) bool {
		switch e.(type) {
		case input.Emit, input.SetTimer:
			return false
		}
		return true
	})
}

// report reports an event that no input caused to every frontend, and to the event log.
func (l *Loop) report(id string, b contract.Body) {
	at, e := l.clock.Now(), contract.Event{ID: id, Body: b}
	l.logEvents(supervisor.Waiting{At: at, Items: []supervisor.LogItem{{Event: e}}})
	l.sink(at, e)
}

// logEvents adds the events of an input that is on disk to the event log.
func (l *Loop) logEvents(u supervisor.Waiting) {
	b := &l.outbox
	if l.Journal == nil || b.givenUp || len(u.Items) == 0 {
		return
	}
	lines := make([]journal.LogContent, 0, len(u.Items))
	for _, x := range u.Items {
		line, err := b.encoder.Content(u.Input, u.At, x)
		if err != nil {
			l.log.Error("an event cannot be written to the event log", "err", err)
			continue
		}
		lines = append(lines, line)
	}
	if err := l.Journal.AppendEvents(lines...); err != nil && !errors.Is(err, journal.ErrClosed) {
		l.log.Error("the event log does not take the events of an input", "input", u.Input, "err", err)
	}
}

// snapshot replaces the inputs so far by the present state, once there are enough of them.
func (l *Loop) snapshot(due bool) {
	b := &l.outbox
	if l.Journal == nil || b.closed || b.last == 0 || !due && b.inputs < snapshotInputs && b.bytes < snapshotBytes {
		return
	}
	s := supervisor.Snapshot{State: *l.state.Load(), Seq: b.encoder.Seq}
	for _, u := range b.pending {
		s.Waiting = append(s.Waiting, u.Waiting)
	}
	if l.Journal.Snapshot(s.Encode) {
		b.inputs, b.bytes = 0, 0
	}
}

// reportFill reports when what a resume would have to read exceeds 80 % of its limit: the state itself has become
// large, or snapshots of it fail.
func (l *Loop) reportFill() {
	used, limit := l.Journal.Fill()
	full := used > limit/5*4
	if full == l.outbox.filling {
		return
	}
	if l.outbox.filling = full; full {
		l.report(contract.Supervisor, contract.Notice{
			Text: fmt.Sprintf("the journal is nearly full: a resume would have to read %d MiB, and the limit is %d MiB. "+
				"The run ends there; arbiter --resume with a higher --max-journal continues it", used>>20, limit>>20),
		})
	}
}

// runDurableEffects carries out the effects of inputs that are on disk, in order.
func (l *Loop) runDurableEffects(ctx context.Context) {
	l.reportTrouble()
	b := &l.outbox
	durable := b.durable.Load()
	if l.Journal == nil || b.givenUp {
		durable = math.MaxUint64
	}
	n := 0
	for n < len(b.pending) && b.pending[n].upTo <= durable && !l.over {
		for _, e := range b.pending[n].effects {
			l.perform(ctx, b.pending[n].ports, b.pending[n].At, e)
		}
		l.logEvents(b.pending[n].Waiting) // meanwhile the messages are sent
		n++
	}
	if b.pending = b.pending[n:]; len(b.pending) == 0 {
		b.pending = nil // release the array
	}
}

// reportTrouble reports once when the journal cannot be written, and when it can again.
func (l *Loop) reportTrouble() {
	b := &l.outbox
	l.reportForeignWrite()
	now := b.trouble.Load()
	if b.givenUp || b.deleted.Load() != nil { // the result says why the run ends
		return
	}
	if now == b.reported || now != nil && b.reported != nil && *now == *b.reported {
		return
	}
	b.reported = now
	var said contract.Body = contract.Notice{Text: "the journal can be written again"}
	if now != nil {
		said = contract.Error{
			Category: bridge.CatInternal,
			Message:  "the journal cannot be written: " + *now + "; nothing new is accepted until it can",
			RecoveryOptions: []string{
				"make room, or make the state directory writable; the run then continues without further action"},
		}
	}
	l.log.Warn("journal", "trouble", now != nil, "text", said)
	l.report(contract.Supervisor, said)
}

// reportForeignWrite reports that another process wrote to the journal, even if the journal has recovered.
func (l *Loop) reportForeignWrite() {
	text := l.outbox.foreign.Swap(nil)
	if text == nil {
		return
	}
	l.log.Error("journal", "foreign", *text)
	l.report(contract.Supervisor, contract.Error{
		Category: bridge.CatInternal, Message: *text + "; the added data is ignored",
		RecoveryOptions: []string{"find out which process does that: any process of this user can"},
	})
}

// refuse answers a command that is too large or cannot be recorded now, and gives up the journal if the command
// is to end the run.
func (l *Loop) refuse(ctx context.Context, in input.Input) bool {
	b := &l.outbox
	if c, ok := in.Body.(input.Command); ok {
		if why := contract.TooLarge(c.Command.Body); why != "" {
			l.reject(c, why)
			return true
		}
	}
	trouble := b.trouble.Load()
	if trouble == nil || b.givenUp || l.Journal == nil {
		return false
	}
	switch f := in.Body.(type) {
	case input.Command:
		if _, halt := f.Command.Body.(contract.Halt); halt {
			return false // the kill switch waits for no disk; it is acknowledged when it is recorded
		}
		l.reject(f, "the journal cannot be written ("+*trouble+"): nothing is accepted until it can")
		return true
	case input.Signal, input.OutputLost:
		l.giveUpJournal(ctx)
	}
	return false
}

// reject answers a command that is not recorded, and was not carried out.
func (l *Loop) reject(c input.Command, why string) {
	l.report(contract.Human, contract.Rejected{Ref: c.Command.Ref, Message: why})
}

// giveUpJournal continues without a journal, until the end of the run. Of the effects that wait for it, the
// events are reported; only those that end the run are carried out: the process that resumes the run finds the
// state before them.
func (l *Loop) giveUpJournal(ctx context.Context) {
	b := &l.outbox
	for _, u := range b.pending {
		for _, e := range u.effects {
			switch e := e.(type) {
			case input.Emit:
				if a, was := e.Event.Body.(contract.Accepted); was {
					e.Event.Body = contract.Rejected{Ref: a.Ref, Message: "it could not be recorded"}
				}
				l.sink(u.At, e.Event)
			case input.Shutdown, input.Finish:
				l.perform(ctx, u.ports, u.At, e)
			}
		}
	}
	b.pending, b.closed, b.givenUp = nil, true, true
}
