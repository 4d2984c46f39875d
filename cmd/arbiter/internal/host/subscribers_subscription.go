package host

import (
	"context"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
)

const (
	// eventBatch is how many events are sent to a client in one message.
	eventBatch = 16
	// clientPause is the minimum time between two messages to a client: the cost of many clients must not grow with
	// the number of events.
	clientPause = 10 * time.Millisecond
)

// subscription is the subscription of one client.
type subscription struct {
	group  *Group
	cursor *Cursor
	send   func(any) error
	state  bool // send the state, too
	sender StateSender
	sent   time.Time // time of the last message
}

// follow sends events and changes until the run has ended.
func (s *subscription) follow(ctx context.Context, watch *HubWatch) error {
	for {
		var over bool
		select {
		case <-s.group.ended: // checked first: what is sent afterwards is complete
			over = true
		default:
		}
		more, err := s.pass(ctx)
		switch {
		case err != nil:
			return err
		case more:
			continue
		case over:
			return s.send(s.group.end)
		}
		select {
		case <-watch.C():
		case <-s.group.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
		if pause := clientPause - time.Since(s.sent); pause > 0 {
			select { // many events and changes become one message
			case <-time.After(pause):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// pass sends everything available now, and reports whether there may be more. The state that it sends is at least
// as new as the events that follow.
func (s *subscription) pass(ctx context.Context) (more bool, err error) {
	lines, skipped, more, err := s.cursor.Next(ctx, eventBatch)
	if err != nil {
		return false, err
	}
	if s.state {
		change, changed, err := s.sender.Change(s.group.run.Snapshot())
		if err == nil && changed {
			s.sent = time.Now()
			err = s.send(change)
		}
		if err != nil {
			return false, err
		}
	}
	if len(lines) == 0 {
		return more, nil
	}
	s.sent = time.Now()
	return more, s.send(control.Events{Lines: lines, Skipped: skipped})
}
