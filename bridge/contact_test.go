package bridge

import (
	"testing"
	"time"
)

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
