package clients

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// plainAnswer is a line that answers a permission request.
type plainAnswer struct {
	request  string // its id; empty: the line is not an answer
	behavior string
	scope    string
	rule     string
	action   string
	reason   string
	problem  string // why it is not valid, though it was meant as an answer
}

// verbs are the words that begin an answer.
var verbs = map[string]struct{ behavior, scope string }{
	"y": {"allow", "once"}, "yes": {"allow", "once"}, "allow": {"allow", "once"},
	"run": {"allow", "run"}, "always": {"allow", "always"},
	"n": {"deny", ""}, "no": {"deny", ""}, "deny": {"deny", ""},
}

// answer parses a line as an answer, if a request is open. The line must name the request, because another
// one may have come while it was typed. Only a word that stands alone allows, so that a message that begins
// with such a word never does.
func (v *narrator) answer(line string) plainAnswer {
	if len(v.open) == 0 {
		return plainAnswer{}
	}
	words := strings.Fields(line)
	number, verb, rest := "", "", words
	for range 2 {
		if len(rest) == 0 {
			break
		}
		word := strings.ToLower(rest[0])
		if _, known := verbs[word]; known && verb == "" {
			verb, rest = word, rest[1:]
		} else if _, err := strconv.Atoi(word); err == nil && number == "" {
			number, rest = word, rest[1:]
		} else {
			break
		}
	}
	what, known := verbs[verb]
	switch {
	case !known:
		return plainAnswer{}
	case number == "" && len(rest) > 0:
		return plainAnswer{} // a message
	case number == "":
		return plainAnswer{problem: "Say which: " + v.choices()}
	}
	n, err := strconv.Atoi(number)
	i := slices.IndexFunc(v.open, func(r request) bool { return r.number == n })
	rule := ""
	switch {
	case i >= 0 && len(rest) == 1 && what.scope != "once" && what.behavior == "allow" && v.open[i].rule(rest[0]) != "":
		rule, rest = v.open[i].rule(rest[0]), nil
	}
	switch {
	case i < 0 && what.behavior == "allow" && len(rest) > 0:
		return plainAnswer{} // "run 2 tests"
	case err != nil || i < 0:
		return plainAnswer{problem: fmt.Sprintf("No request %s is open. %s", number, v.choices())}
	case what.behavior == "allow" && len(rest) > 0 && !v.open[i].asks:
		return plainAnswer{problem: fmt.Sprintf("That was not taken. To allow request %d, say %d %s and nothing more.", n, n,
			verb)}
	}
	return plainAnswer{request: v.open[i].id, action: v.open[i].action, rule: rule, behavior: what.behavior,
		scope: what.scope, reason: strings.Join(rest, " ")}
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
