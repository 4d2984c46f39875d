package supervisor

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// DeliveryContext is what a step uses to deliver messages: the parts of the state that messages concern, and the
// collector of effects. It is created for one use within a step, which owns everything that it points to.
type DeliveryContext struct {
	RulingStanding
	Rulings      *RulingState
	Out          *effect.Collector
	Senders      SenderRun
	Closed       bool // the run is ending: no message is queued
	QuestionOpen bool // a question to the human is open
}

// DeliveryTimerPrefix begins the key of the timer for a message whose delivery is not proven; its wire ID follows.
const DeliveryTimerPrefix = "proof/"

// DeliveryTimerKey is the key of the timer for the message with a wire ID.
func DeliveryTimerKey(wire string) string { return DeliveryTimerPrefix + wire }

// NewID returns the id of the next message.
func (c *DeliveryContext) NewID() string {
	ids := &c.Conversation.IDs
	ids.Count++
	return idFor(c.Options.Run, fmt.Sprintf("message/%d%s", ids.Count, ids.Salt))
}

// SessionID returns the id of an agent's session that begins in a generation.
func (c *DeliveryContext) SessionID(agent string, generation int) string {
	return idFor(c.Options.Run, fmt.Sprintf("session/%s/%d%s", agent, generation, c.Conversation.IDs.Salt))
}

// idFor derives an id from the run's id, so that applying the same inputs again gives the same ids.
func idFor(run, what string) string {
	space, err := uuid.Parse(run)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(run))
	}
	return uuid.NewSHA1(space, []byte(what)).String()
}
