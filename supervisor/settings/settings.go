// Package settings changes the settings of a run that a human changes while it runs: permissions and rules.
package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Change is what follows from a command.
type Change int

// The changes.
const (
	Nothing Change = iota // the command was rejected, or changes nothing
	Policy                // requests that wait are held against other rules
	Model                 // the command is about a model, and is not answered yet
)

// Configure changes one setting in the options of the run, and answers the command.
func Configure(c *effect.Collector, o *runconfig.Options, ref string, cmd contract.Configure) Change {
	var given []string
	for name, value := range map[string]string{
		"model": cmd.Model, "permissions": cmd.Permissions, "allow": cmd.Allow, "ask": cmd.Ask, "deny": cmd.Deny,
	} {
		if strings.TrimSpace(value) != "" {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		c.Reject(ref, "configure changes nothing: give model, permissions, allow, ask or deny")
	case len(given) > 1:
		c.Reject(ref, "configure changes one setting at a time, and %s are given", strings.Join(given, " and "))
	case cmd.AcceptRisk && cmd.Permissions != string(policy.ModeAllowAll):
		c.Reject(ref, "i_accept_the_risk goes with permissions allow-all only")
	case given[0] == "model":
		return Model
	case cmd.ID != "":
		c.Reject(ref, "permissions hold for every agent of the run: leave out id")
	case given[0] == "permissions":
		return configureMode(c, o, ref, cmd)
	default:
		return configureRule(c, o, ref, given[0], strings.TrimSpace(cmd.Allow+cmd.Ask+cmd.Deny))
	}
	return Nothing
}

// configureMode changes what becomes of tool calls that no rule is about.
func configureMode(c *effect.Collector, o *runconfig.Options, ref string, cmd contract.Configure) Change {
	modes := []policy.Mode{policy.ModeAsk, policy.ModeRules, policy.ModeAcceptEdits, policy.ModeAllowAll}
	mode := policy.Mode(cmd.Permissions)
	switch {
	case !slices.Contains(modes, mode):
		c.Reject(ref, "there is no permission mode %q: use ask, rules, accept-edits or allow-all", cmd.Permissions)
		return Nothing
	case mode == policy.ModeAllowAll && !cmd.AcceptRisk:
		c.Reject(ref, "allow-all lets every agent run anything unasked: "+
			"give i_accept_the_risk with it if that is meant")
		return Nothing
	case cmd.Permissions == o.Permissions:
		c.Accept(ref, "permissions are "+cmd.Permissions+" already")
		return Nothing
	}
	o.Permissions = cmd.Permissions
	c.Accept(ref, "permissions: "+cmd.Permissions)
	c.Emit(contract.Supervisor, contract.Notice{
		Text: "The human changed the permissions of this run: " + cmd.Permissions + ", for what no rule speaks of.",
	})
	return Policy
}

// configureRule adds a rule. To is the list it joins: allow, ask or deny.
func configureRule(c *effect.Collector, o *runconfig.Options, ref, to, text string) Change {
	rule, err := policy.ParseRule(text)
	if err != nil {
		c.Reject(ref, "%s: %s", to, err)
		return Nothing
	}
	list := map[string]*[]string{"allow": &o.Allow, "ask": &o.Ask, "deny": &o.Deny}[to]
	if slices.Contains(*list, text) {
		c.Accept(ref, to+" "+text+" is a rule already")
		return Nothing
	}
	*list = append(slices.Clone(*list), text)
	unknown := ""
	if !rule.Known() {
		unknown = " (no tool of that name is known, so it may hold for nothing)"
	}
	c.Accept(ref, "from now on: "+to+" "+text+unknown)
	c.Emit(contract.Supervisor, contract.Notice{
		Text: fmt.Sprintf("The human added a permission rule to this run: %s %s.", to, text),
	})
	return Policy
}

// SameRules reports whether two options decide about permissions alike.
func SameRules(a, b *runconfig.Options) bool {
	return a.Permissions == b.Permissions && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) &&
		slices.Equal(a.Deny, b.Deny)
}
