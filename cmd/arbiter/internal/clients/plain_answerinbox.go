package clients

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

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
		s.answerItem(list[at], n, rest)
	}
}

// answerItem answers one thing that waits.
func (s *plainSession) answerItem(i supervisor.InboxItem, n int, rest string) {
	switch {
	case i.Request != nil:
		s.narrator.opened(i)
		a := s.narrator.answer(fmt.Sprintf("%d %s", n, rest))
		if a.request == "" {
			s.print(cmp.Or(a.problem,
				fmt.Sprintf("That was not taken. Answer with %d y, %d run, %d always, or %d n REASON.",
					n, n, n, n)), true)
			return
		}
		s.put(contract.Permit{Request: a.request, Behavior: a.behavior, Scope: a.scope, Rule: a.rule, Action: a.action,
			Message: a.reason})
	case len(i.Choices) > 0:
		if !slices.Contains(i.Choices, rest) {
			s.print(fmt.Sprintf("That was not taken. Answer %d with %s.", n,
				sanitize.Line(strings.Join(i.Choices, ", or "), 300)), true)
			return
		}
		s.put(contract.Choose{Option: rest})
	case rest == "":
		s.print(fmt.Sprintf("Write the answer behind the number: /answer %d TEXT.", n), true)
	default:
		s.narrator.answered()
		s.put(contract.Say{Text: rest})
	}
}

// answerAll answers all permission requests, provided that they were listed and their number was shown.
func (s *plainSession) answerAll(list []supervisor.InboxItem, rest string) {
	list = s.narrator.leaves(list)
	words := strings.Fields(rest)
	if len(list) == 0 {
		s.print("No permission request waits.", true)
		return
	}
	what, known := verbs[strings.ToLower(strings.Join(words[:min(len(words), 1)], ""))]
	if !known || what.scope != "once" && what.behavior == "allow" || len(words) > 2 {
		s.print("Say /answer all y, or /answer all n.", true)
		return
	}
	if len(words) < 2 || words[1] != strconv.Itoa(len(list)) {
		does := map[string]string{"allow": "allows", "deny": "denies"}[what.behavior]
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
		s.put(contract.Permit{Request: i.ID, Behavior: what.behavior, Scope: what.scope, Action: i.Request.Action})
	}
}

func ids(list []supervisor.InboxItem) []string {
	var of []string
	for _, i := range list {
		of = append(of, i.ID)
	}
	return of
}

// opened makes a listed request answerable like one that was announced.
func (v *narrator) opened(i supervisor.InboxItem) {
	if !slices.ContainsFunc(v.open, func(r request) bool { return r.id == i.ID }) {
		v.open = append(v.open, request{v.numberOf(i.ID), i.ID, i.Request.Action,
			i.Request.Suggestions[:min(len(i.Request.Suggestions), mostRules)], i.Request.Tool == bridge.ElicitTool})
	}
}
