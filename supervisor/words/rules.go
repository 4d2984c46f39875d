package words

import (
	"cmp"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Rules says in plain words what a permission rule allows, or what several do, with commas between them, for a
// person who chooses it.
func Rules(rules string) string {
	var list []string
	for _, rule := range policy.SplitRules(rules) {
		list = append(list, ofRule(rule))
	}
	return strings.Join(list, "; ")
}

func ofRule(rule string) string {
	r, err := policy.ParseRule(rule)
	_, spec, _ := strings.Cut(strings.TrimSuffix(r.String(), ")"), "(")
	spec = strings.TrimSpace(spec)
	if prefix, open := strings.CutSuffix(spec, ":*"); open {
		spec = prefix + " *"
	}
	where, below := strings.CutSuffix(strings.Replace(spec, "//", "/", 1), "/**")
	prefix, open := strings.CutSuffix(spec, "*")
	file := bridge.IsEditor(r.Tool()) || bridge.IsReader(r.Tool())
	verb, all := "reading ", "reading everything under "
	if bridge.IsEditor(r.Tool()) {
		verb, all = "edits of ", "all edits under "
	}
	const options = "` (its options can run programs)"
	switch {
	case err != nil:
		return "what the rule " + strings.TrimSpace(rule) + " allows"
	case r.Whole() && file:
		return "every use of the tool " + r.Tool() + ", everywhere on this machine"
	case r.Whole():
		return "every use of the tool " + r.Tool()
	case r.Tool() == "Bash" && open && !strings.Contains(prefix, "*"):
		return "every command that begins with `" + strings.TrimSpace(prefix) + options
	case r.Tool() == "Bash" && strings.Contains(spec, "*"):
		return "every command of the form `" + spec + options
	case r.Tool() == "Bash":
		return "exactly this line"
	case file && below:
		return all + cmp.Or(where, "/")
	case file:
		return verb + where
	}
	return "every use of the tool " + r.Tool() + " for " + strings.TrimPrefix(spec, "domain:")
}
