package eventtext

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Asks describes who wants what from the human. name is the name of the item's agent.
func Asks(i supervisor.InboxItem, name string) string {
	switch i.Kind {
	case supervisor.InboxPermission:
		return name + " asks permission"
	case supervisor.InboxTrust:
		return "The workspace needs your trust"
	case supervisor.InboxLimit:
		return "The limit of costs is spent"
	case supervisor.InboxRecovery:
		switch {
		case i.Agent == contract.Supervisor && i.Host != "" && i.Optional:
			return "Host " + One(i.Host, MaxName) + " is lost"
		case i.Agent == contract.Supervisor && i.Host != "":
			return "Host " + One(i.Host, MaxName) + " needs you"
		case i.Optional:
			return name + " has failed"
		}
		return name + " is parked"
	case supervisor.InboxAcceptance:
		return "The end of the task is for you to judge"
	case supervisor.InboxQuestion:
	}
	return "The Arbiter asks"
}

// Age returns how long an item has waited.
func Age(i supervisor.InboxItem, now time.Time) string {
	switch age := i.Age(now); {
	case age < time.Minute:
		return "just now"
	case age < time.Hour:
		return fmt.Sprintf("for %d min", int(age.Minutes()))
	default:
		return "for " + Span(age)
	}
}
