package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// might is the test of deny and ask rules: it matches any command, by any of its names, with any filling of its
// holes.
func (s *script) might(r *Rule) bool {
	if r.inARow() && (wildcard(r.spec, s.line) || wildcard("* "+r.spec, s.line)) {
		return true
	}
	for i := range s.commands {
		for _, text := range s.commands[i].texts {
			if mightWild(r.spec, text) {
				return true
			}
		}
	}
	return false
}

// inARow reports whether a rule is about a sequence of commands.
func (r *Rule) inARow() bool { return strings.ContainsAny(r.spec, ";|&") }

// inDoubt says why a command line may run what a deny or ask rule names although none of its words says so, and
// returns the first such rule.
func (q *query) inDoubt() (rule, why string) {
	if rule, why := q.doubtUnder(q.deny); why != "" {
		return rule, why
	}
	return q.doubtUnder(q.ask)
}

func (q *query) doubtUnder(l list) (rule, why string) {
	i := slices.IndexFunc(l.rules, func(r Rule) bool { return r.kind == kindBash })
	if q.tool != "Bash" || i < 0 {
		return "", ""
	}
	if doubts := q.commands().doubts; len(doubts) > 0 {
		return l.rules[i].text, doubts[0]
	}
	return "", ""
}

// coveredCommands is the test of allow rules: one of them covers each command of the line, a rule about edits
// covers each file that output is redirected to, and nothing is in doubt. It returns the rules that it used.
func (q *query) coveredCommands(l list) (string, bool) {
	s := q.commands()
	if len(s.doubts) > 0 || s.unsandboxed || len(s.commands) == 0 {
		return "", false
	}
	var took []string
	take := func(text string, ok bool) bool {
		if ok && !slices.Contains(took, text) {
			took = append(took, text)
		}
		return ok
	}
	for _, c := range s.commands {
		if !c.inner && !c.Keyword && !take(q.coveredCommand(l, c)) {
			return "", false
		}
	}
	for _, a := range s.assigned {
		if !take(coveredAssignment(l, a)) {
			return "", false
		}
	}
	for _, r := range s.redirects {
		if !take(q.coveredRedirect(l, r)) {
			return "", false
		}
	}
	took = slices.DeleteFunc(took, func(text string) bool { return text == "" })
	return strings.Join(took, ", "), len(took) > 0
}

func (q *query) coveredCommand(l list, c command) (string, bool) {
	var set strings.Builder
	for _, a := range c.Assigns {
		if !harmlessVariables.has(a.Name) {
			set.WriteString(a.Name + "=" + exactWord(a.Value.Text) + " ")
		}
	}
	source := c.source()
	if i := slices.IndexFunc(l.rules, func(r Rule) bool { return r.kind == kindBash && r.spec == source }); i >= 0 {
		return l.rules[i].text, true // it is exactly what the rule says
	}
	for words := c.Words; words != nil; words = q.unwrapped(words) {
		if text, ok := l.allows(set.String() + exact(words)); ok {
			return text, true
		}
	}
	return "", false
}

// source is the command as it is written, with single spaces between its words.
func (c command) source() string {
	var parts []string
	for _, a := range c.Assigns {
		parts = append(parts, a.Name+"="+a.Value.Source)
	}
	for _, w := range c.Words {
		parts = append(parts, w.Source)
	}
	return strings.Join(parts, " ")
}

// allows returns the first rule about commands that matches a text in the form of [exact].
func (l list) allows(text string) (string, bool) {
	for i := range l.rules {
		if r := &l.rules[i]; r.kind == kindBash && wildcard(r.exact, text) {
			return r.text, true
		}
	}
	return "", false
}

// harmlessVariables change how programs format their output, not what they do.
var harmlessVariables = nameSet{"CI", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES",
	"LC_ALL", "LANG", "TZ"}

// coveredAssignment returns the rule that covers an assignment. A shell variable of the line, which programs do
// not see, needs no rule.
func coveredAssignment(l list, a shell.Assign) (string, bool) {
	if a.Name == strings.ToLower(a.Name) && !isInterpreted(a.Name) {
		return "", true
	}
	return l.allows(a.Name + "=" + exactWord(a.Value.Text))
}

func (q *query) coveredRedirect(l list, r shell.Redirect) (string, bool) {
	if !q.certain(r.File) {
		return "", false
	}
	tool := "Read"
	if r.Writes {
		tool = "Edit"
	}
	file := &query{policy: q.policy, tool: tool, cwd: q.cwd, targets: []target{q.target(r.File.Text)},
		haveTargets: true, roots: q.roots}
	return file.covered(list{rules: l.rules, regions: l.regions})
}

// certain reports whether it is known which file a word names.
func (q *query) certain(w shell.Word) bool {
	return w.Known() && !q.commands().moves && (w.Tilde || !strings.HasPrefix(w.Text, "~"))
}

// unwrapped is the command that a wrapper runs, if the wrapper is used in a form that does not change the
// command; otherwise nil.
func (q *query) unwrapped(words []shell.Word) []shell.Word {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.Text
	}
	rest := func(n int) []shell.Word {
		if n >= len(words) || !words[n].Known() || strings.HasPrefix(texts[n], "-") {
			return nil
		}
		return words[n:]
	}
	switch {
	case len(words) < 2:
		return nil
	case texts[0] == "timeout" && duration(texts[1]):
		return rest(2)
	case texts[0] == "nice" && texts[1] == "-n" && len(words) > 2 && duration(texts[2]):
		return rest(3)
	case texts[0] == "nice", texts[0] == "nohup":
		return rest(1)
	case texts[0] == "git" && (texts[1] == "--no-pager" || texts[1] == "-P") && rest(2) != nil:
		return append(words[:1:1], rest(2)...)
	case texts[0] == "git" && texts[1] == "-C" && rest(3) != nil && q.certain(words[2]) && q.insideFile(texts[2]):
		return append(words[:1:1], rest(3)...)
	}
	return nil
}

// insideFile reports whether a name leads to something in the working directory.
func (q *query) insideFile(name string) bool {
	t := q.target(name)
	return t.sure && q.policy.CWD != "" && t.every(func(p string) bool { _, ok := q.fromCWD(p); return ok })
}

func duration(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.smhd") == "" && s[0] >= '0' && s[0] <= '9'
}

// places are the directories at which a relative name of the line may begin: the shell's, and those that the
// line changes to.
func (q *query) places() []string {
	places := []string{q.cwd}
	at := q.cwd
	for _, c := range q.commands().commands {
		if len(c.Words) != 2 || c.Words[0].Text != "cd" && c.Words[0].Text != "pushd" || !c.Words[1].Known() {
			continue
		}
		to := c.Words[1].Text
		switch {
		case strings.HasPrefix(to, "~/"):
			to = q.policy.Home + to[1:]
		case !filepath.IsAbs(to):
			to = at + "/" + to
		}
		if at = to; len(places) < maxDepth {
			places = append(places, at)
		}
	}
	return places
}
