package plain

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/inbox"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// remindEvery is the time between two reminders of the same items.
const remindEvery = 10 * time.Minute

// waits lists what waits for the human.
func (v *narrator) waits(list []inbox.Item, now time.Time) string {
	if len(list) == 0 {
		return "Nothing waits for you."
	}
	var lines []string
	if n := len(inbox.Awaited(list)); n > 0 {
		lines = append(lines, awaited(n)+".")
	}
	for _, i := range list {
		answer, text := eventtext.HowToAnswer(i), sanitize.Line(i.Text, 600)
		if n := v.numberOf(i.ID); n > 0 {
			answer = fmt.Sprintf("answer with %d y, %d run, %d always, or %d n REASON", n, n, n, n)
		}
		if i.Kind == inbox.Recovery {
			text = ""
		}
		line := fmt.Sprintf("%s, %s: %s.", eventtext.Asks(i, v.called(i.Agent)), eventtext.Age(i, now), answer)
		if text != "" {
			line += "\n    " + text
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// remind says how much has waited for a minute or longer, when it changes and now and then.
func (v *narrator) remind(list []inbox.Item, now time.Time) string {
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

// awaited says how many words of the human's are awaited.
func awaited(n int) string {
	if n == 1 {
		return "A word of yours is awaited"
	}
	return fmt.Sprintf("%d words of yours are awaited", n)
}

// numberOf is the number under which a permission request was announced; 0: it was not.
func (v *narrator) numberOf(id string) int {
	i := slices.IndexFunc(v.open, func(r request) bool { return r.id == id })
	if i < 0 {
		return 0
	}
	return v.open[i].number
}

// called is how a party is called.
func (v *narrator) called(id string) string {
	if v.name == nil {
		return eventtext.Name(id)
	}
	return v.name(id)
}
