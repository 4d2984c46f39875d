package plain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// answer is what a line says to a permission request.
type answer struct {
	request  string // its id; empty: the line is no answer
	behavior string
	scope    string
	rule     string
	action   string
	reason   string
	problem  string // why it is none, though it was meant as one
}

// verbs are the words an answer may be given in.
var verbs = map[string]struct{ behavior, scope string }{
	"y": {"allow", "once"}, "yes": {"allow", "once"}, "allow": {"allow", "once"},
	"run": {"allow", "run"}, "always": {"allow", "always"},
	"n": {"deny", ""}, "no": {"deny", ""}, "deny": {"deny", ""},
}

// answer reads a line as one, if a request is open. Which request is meant has to be
// said: another one may have come while the line was typed. Leave is given by a word
// that stands alone, so that a message which begins like one never gives it.
func (v *narrator) answer(line string) answer {
	if len(v.open) == 0 {
		return answer{}
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
		return answer{}
	case number == "" && len(rest) > 0:
		return answer{} // a message
	case number == "":
		return answer{problem: "Say which: " + v.choices()}
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
		return answer{} // "run 2 tests"
	case err != nil || i < 0:
		return answer{problem: fmt.Sprintf("No request %s is open. %s", number, v.choices())}
	case what.behavior == "allow" && len(rest) > 0:
		return answer{problem: fmt.Sprintf("That was not taken. To allow request %d, say %d %s and nothing more.", n, n,
			verb)}
	}
	return answer{request: v.open[i].id, action: v.open[i].action, rule: rule, behavior: what.behavior,
		scope: what.scope, reason: strings.Join(rest, " ")}
}

// choices are the answers that can be given.
func (v *narrator) choices() string {
	var list []string
	for _, r := range v.open {
		list = append(list, fmt.Sprintf("%d y, %d run, %d always, or %d n REASON.", r.number, r.number, r.number,
			r.number))
	}
	return strings.Join(list, " ")
}
