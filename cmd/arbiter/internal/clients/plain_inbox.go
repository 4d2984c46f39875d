package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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
	for k, rule := range i.Request.Suggestions[:min(len(i.Request.Suggestions), supervisor.OfferedRules)] {
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
		lines = append(lines, line+": "+sanitize.Line(words.Rules(rule), 300)+".")
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

// listInbox prints what waits for the human. A job computes what rules would settle, because it may take a
// moment.
func (s *plainSession) listInbox() {
	s.do(func(PlainRun) result {
		list := s.frontend.Inbox()
		found := map[string][]string{}
		for _, i := range list {
			if i.Request == nil || s.frontend.Covers == nil {
				continue
			}
			for _, rule := range i.Request.Suggestions {
				if _, known := found[rule]; !known {
					found[rule] = s.frontend.Covers(rule)
				}
			}
		}
		return result{then: func() {
			s.print(s.narrator.waits(list, func(rule string) []string { return found[rule] }, time.Now()), true)
		}}
	})
}

// answerInbox handles "/answer N …", which answers the item with that number in /inbox.
func (s *plainSession) answerInbox(line string) {
	list := s.frontend.Inbox()
	number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch n, err := strconv.Atoi(number); {
	case number == "":
		s.listInbox()
	case number == "all":
		s.answerAll(list, rest)
	case err != nil:
		s.print("Say which: /inbox lists what waits, and its numbers.", true)
	default:
		at := slices.IndexFunc(list, func(i supervisor.InboxItem) bool { return s.narrator.numbers[i.ID] == n })
		if at < 0 {
			s.print(fmt.Sprintf("Nothing waits under number %d: /inbox lists what does.", n), true)
			return
		}
		s.answerItem(list[at], rest)
	}
}

// answerItem answers one thing that waits.
func (s *plainSession) answerItem(i supervisor.InboxItem, rest string) {
	body, err := i.Answer(rest)
	if err != nil {
		s.print(fmt.Sprintf("That was not taken, %s: %s.", sanitize.Line(err.Error(), 300), s.narrator.howTo(i)), true)
		return
	}
	if _, said := body.(contract.Say); said {
		s.narrator.answered()
	}
	s.put(body)
}

// answerAll answers all permission requests, provided that they were listed and their number was shown.
func (s *plainSession) answerAll(list []supervisor.InboxItem, rest string) {
	list = s.narrator.leaves(list)
	words := strings.Fields(rest)
	if len(list) == 0 {
		s.print("No permission request waits.", true)
		return
	}
	behavior, scope, known := supervisor.AnswerWord(strings.Join(words[:min(len(words), 1)], ""))
	if !known || behavior == bridge.Allow && scope != contract.ScopeOnce || len(words) > 2 {
		s.print("Say /answer all y, or /answer all n.", true)
		return
	}
	if len(words) < 2 || words[1] != strconv.Itoa(len(list)) {
		does := map[string]string{"allow": "allows", "deny": "denies"}[behavior]
		lines := []string{fmt.Sprintf("That %s %d permission requests:", does, len(list))}
		for _, i := range list {
			lines = append(lines, fmt.Sprintf("    %d. %s: %s", s.narrator.numberOf(i.ID),
				eventtext.Asks(i, s.narrator.called(i.Agent)), sanitize.Line(i.Text, 600)))
		}
		s.print(strings.Join(append(lines, fmt.Sprintf("To do it, say /answer all %s %d.", words[0], len(list))), "\n"),
			true)
		s.listed = ids(list)
		return
	}
	if !slices.Equal(s.listed, ids(list)) {
		s.answerAll(list, words[0])
		return
	}
	for _, i := range list {
		s.put(contract.Permit{Request: i.ID, Behavior: behavior, Scope: scope, Action: i.Request.Action})
	}
}

func ids(list []supervisor.InboxItem) []string {
	var of []string
	for _, i := range list {
		of = append(of, i.ID)
	}
	return of
}

// answer parses a line as an answer, if a request is open. The line must name the request, because another
// one may have come while it was typed. Only a word that stands alone allows, so that a message that begins
// with such a word never does. Without a body and a problem, the line is not an answer.
func (v *narrator) answer(line string) (body contract.CommandBody, problem string) {
	if len(v.open) == 0 {
		return nil, ""
	}
	number, verb, behavior, rest := "", "", "", strings.Fields(line)
	for range 2 {
		if len(rest) == 0 {
			break
		}
		if does, _, known := supervisor.AnswerWord(rest[0]); known && verb == "" {
			verb, behavior, rest = strings.ToLower(rest[0]), does, rest[1:]
		} else if _, err := strconv.Atoi(rest[0]); err == nil && number == "" {
			number, rest = rest[0], rest[1:]
		} else {
			break
		}
	}
	switch {
	case verb == "", number == "" && len(rest) > 0:
		return nil, "" // a message
	case number == "":
		return nil, "Say which: " + v.choices()
	}
	n, err := strconv.Atoi(number)
	i := slices.IndexFunc(v.open, func(r request) bool { return r.number == n })
	switch {
	case i < 0 && behavior == bridge.Allow && len(rest) > 0:
		return nil, "" // "run 2 tests"
	case err != nil || i < 0:
		return nil, fmt.Sprintf("No request %s is open. %s", number, v.choices())
	}
	item := v.open[i].item
	letter := len(rest) == 1 && len(rest[0]) == 1
	if behavior == bridge.Deny || len(rest) == 0 || letter || item.Request.Tool == bridge.ElicitTool {
		body, err = item.Answer(verb + " " + strings.Join(rest, " "))
	}
	if body == nil || err != nil {
		return nil, fmt.Sprintf("That was not taken. To allow request %d, say %d %s and nothing more.", n, n, verb)
	}
	return body, ""
}

// choices lists the possible answers.
func (v *narrator) choices() string {
	var list []string
	for _, r := range v.open {
		list = append(list, fmt.Sprintf("%d y, %d run, %d always, or %d n REASON.", r.number, r.number, r.number,
			r.number))
	}
	return strings.Join(list, " ")
}
