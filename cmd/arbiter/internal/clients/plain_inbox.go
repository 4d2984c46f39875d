package clients

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// remindEvery is the time between two reminders of the same items.
const remindEvery = 10 * time.Minute

// coverage returns the ids of the requests that a permission rule would settle.
type coverage func(rule string) []string

// waits lists what waits for the human, each item with its number, in full, and with the way to answer it.
func (v *narrator) waits(list []supervisor.InboxItem, of coverage, now time.Time) string {
	if len(list) == 0 {
		return "Nothing waits for you."
	}
	var lines []string
	if n := len(supervisor.Awaited(list)); n > 0 {
		lines = append(lines, awaited(n)+".")
	}
	for _, i := range list {
		lines = append(lines, fmt.Sprintf("%d. %s, %s: %s.", v.numberOf(i.ID), eventtext.Asks(i, v.called(i.Agent)),
			eventtext.Age(i, now), v.howTo(i)))
		if i.Kind == supervisor.InboxRecovery {
			continue
		}
		for line := range strings.Lines(sanitize.Text(i.Text)) {
			lines = append(lines, strings.TrimRight("    "+line, " \n"))
		}
		lines = append(lines, v.covering(i, list, of)...)
	}
	if n := len(v.leaves(list)); n > 1 {
		lines = append(lines, fmt.Sprintf("/answer all y allows these %d requests once, /answer all n denies them.", n))
	}
	return strings.Join(lines, "\n")
}

// howTo describes how to answer an item.
func (v *narrator) howTo(i supervisor.InboxItem) string {
	n := v.numberOf(i.ID)
	switch i.Kind {
	case supervisor.InboxPermission:
		return fmt.Sprintf("answer with %d y, %d run, %d always, or %d n REASON", n, n, n, n)
	case supervisor.InboxTrust, supervisor.InboxRecovery, supervisor.InboxLimit:
		return fmt.Sprintf("/answer %d %s", n, sanitize.Line(strings.Join(i.Choices, ", or "), 300))
	case supervisor.InboxQuestion, supervisor.InboxAcceptance:
	}
	return fmt.Sprintf("your next word to the Arbiter is the answer, or /answer %d TEXT", n)
}

// covering lists the rules that would cover a permission request, and which other waiting requests each
// would settle.
func (v *narrator) covering(i supervisor.InboxItem, list []supervisor.InboxItem, of coverage) []string {
	if i.Request == nil {
		return nil
	}
	n := v.numberOf(i.ID)
	var lines []string
	for k, rule := range i.Request.Suggestions[:min(len(i.Request.Suggestions), mostRules)] {
		line := fmt.Sprintf("    %d run %c allows %s", n, 'a'+k, sanitize.Line(rule, 300))
		var also []string
		for _, id := range of(rule) {
			if id != i.ID && slices.ContainsFunc(list, func(o supervisor.InboxItem) bool { return o.ID == id }) {
				also = append(also, fmt.Sprint(v.numberOf(id)))
			}
		}
		if len(also) > 0 {
			line += ", which also settles " + strings.Join(also, ", ")
		}
		lines = append(lines, line+": "+sanitize.Line(policy.Words(rule), 300)+".")
	}
	return lines
}

// leaves returns the waiting permission requests.
func (v *narrator) leaves(list []supervisor.InboxItem) []supervisor.InboxItem {
	return slices.DeleteFunc(slices.Clone(list), func(i supervisor.InboxItem) bool { return i.Request == nil })
}

// remind reports what has waited for a minute or longer, when it changes and from time to time.
func (v *narrator) remind(list []supervisor.InboxItem, now time.Time) string {
	var ids []string
	for _, i := range list {
		ids = append(ids, i.ID)
	}
	if len(list) == 0 || list[0].Age(now) < time.Minute {
		return ""
	}
	if of := strings.Join(ids, " "); of != v.reminded || now.Sub(v.remindAt) >= remindEvery {
		v.reminded, v.remindAt = of, now
		return fmt.Sprintf("%s, the first %s: /inbox lists what for.", awaited(len(list)), eventtext.Age(list[0], now))
	}
	return ""
}

// awaited reports how many inputs of the human are awaited.
func awaited(n int) string {
	if n == 1 {
		return "Something waits for you"
	}
	return fmt.Sprintf("%d things wait for you", n)
}

// numberOf returns the number by which an item is answered. It is assigned when the item is first
// mentioned.
func (v *narrator) numberOf(id string) int {
	n, ok := v.numbers[id]
	if !ok {
		n = len(v.numbers) + 1
		v.numbers[id] = n
	}
	return n
}

// called returns the name of a party.
func (v *narrator) called(id string) string {
	if v.name == nil {
		return eventtext.Name(id)
	}
	return v.name(id)
}
