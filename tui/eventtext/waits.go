package eventtext

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/inbox"
)

// Asks describes who wants what from the human. name is the name of the item's agent.
func Asks(i inbox.Item, name string) string {
	switch i.Kind {
	case inbox.Permission:
		return name + " asks leave"
	case inbox.Trust:
		return "The workspace needs your trust"
	case inbox.Limit:
		return "The limit of costs is spent"
	case inbox.Recovery:
		if i.Optional {
			return name + " has failed"
		}
		return name + " is parked"
	case inbox.Acceptance:
		return "The end of the task is for you to judge"
	case inbox.Question:
	}
	return "The Arbiter asks"
}

// Age returns how long an item has waited.
func Age(i inbox.Item, now time.Time) string {
	switch age := i.Age(now); {
	case age < time.Minute:
		return "just now"
	case age < time.Hour:
		return fmt.Sprintf("for %d min", int(age.Minutes()))
	default:
		return "for " + Span(age)
	}
}
