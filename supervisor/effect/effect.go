// Package effect defines the effects of a step of the supervisor, and collects them.
//
// A step is one call of supervisor.Apply. It runs no effect: the loop carries the effects out, in the order in which
// they were collected, once the input that they follow from is on disk. A part of the supervisor's state defines the
// effects that only it emits; those that every part uses are here.
package effect

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Effect is an action that a step requests. The method only marks the intended types.
type Effect interface{ Effect() }

type (
	// Emit sends an event to every frontend.
	Emit struct{ Event contract.Event }
	// SetTimer sets a timer. Setting a key again replaces its timer; After 0 stops it.
	SetTimer struct {
		Key   string
		After time.Duration
	}
)

func (Emit) Effect() {}

func (SetTimer) Effect() {}

// Collector collects the effects of one step. The step owns it: it is not safe for concurrent use.
type Collector struct {
	Now time.Time // the time of the input

	effects []Effect
}

// Effects returns what was collected, in order.
func (c *Collector) Effects() []Effect { return c.effects }

// Do adds an effect.
func (c *Collector) Do(e Effect) { c.effects = append(c.effects, e) }

// Emit adds an event about an agent, the human or the supervisor.
func (c *Collector) Emit(id string, body contract.Body) {
	c.Do(Emit{contract.Event{ID: id, Body: body}})
}

// Accept answers a command that was accepted. Each command gets exactly one answer.
func (c *Collector) Accept(ref, message string) {
	c.Emit(contract.Human, contract.Accepted{Ref: ref, Message: message})
}

// Reject answers a command that was rejected, and says why.
func (c *Collector) Reject(ref, format string, args ...any) {
	c.Emit(contract.Human, contract.Rejected{Ref: ref, Message: fmt.Sprintf(format, args...)})
}

// StopTimer stops the timer of a key, if it is set.
func (c *Collector) StopTimer(key string) { c.Do(SetTimer{Key: key}) }
