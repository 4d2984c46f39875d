package delivery

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/rulings"
	"github.com/arbiter-cli/arbiter/supervisor/sender"
)

// Context is what a step delivers messages with: the parts of the state that messages concern, and the collector of
// effects. It is made for one use within a step, which owns all that it points to.
type Context struct {
	rulings.Standing
	Rulings      *rulings.State
	Out          *effect.Collector
	Senders      sender.Run
	Closed       bool // the run is ending: no message is queued
	QuestionOpen bool // the human is asked something
}

// TimerPrefix begins the key of the timer for a message whose delivery is not proved; its wire ID follows.
const TimerPrefix = "proof/"

// TimerKey is the key of the timer for the message with a wire ID.
func TimerKey(wire string) string { return TimerPrefix + wire }

// NewID is the id of the next message.
func (c *Context) NewID() string {
	ids := &c.Conversation.IDs
	ids.Count++
	return idFor(c.Options.Run, fmt.Sprintf("message/%d%s", ids.Count, ids.Salt))
}

// SessionID is the id of an agent's session that begins in a generation.
func (c *Context) SessionID(agent string, generation int) string {
	return idFor(c.Options.Run, fmt.Sprintf("session/%s/%d%s", agent, generation, c.Conversation.IDs.Salt))
}

// idFor derives an id from the run's own, so that folding the same inputs again
// gives the same ids.
func idFor(run, what string) string {
	space, err := uuid.Parse(run)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(run))
	}
	return uuid.NewSHA1(space, []byte(what)).String()
}
