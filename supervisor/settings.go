package supervisor

// This file applies changes that a human makes to a live run: permissions, rules and cost limits.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// SettingsChange is the effect of a command.
type SettingsChange int

// The changes.
const (
	SettingsNothing SettingsChange = iota // the command was rejected, or changes nothing
	SettingsPolicy                        // waiting requests must be checked against the new rules
	SettingsModel                         // the command is about a model, and is not answered yet
	SettingsCosts                         // a cost limit has changed
)

// ConfigureSettings changes one setting in the options of the run, and answers the command.
func ConfigureSettings(c *effect.Collector, o *runconfig.Options, ref string, cmd contract.Configure) SettingsChange {
	var given []string
	for name, value := range map[string]string{
		"model": cmd.Model, "permissions": cmd.Permissions, "allow": cmd.Allow, "ask": cmd.Ask, "deny": cmd.Deny,
	} {
		if strings.TrimSpace(value) != "" {
			given = append(given, name)
		}
	}
	for name, usd := range costLimits(cmd) {
		if usd != nil {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		c.Reject(ref, "configure changes nothing: give model, permissions, allow, ask, deny or a "+
			"limit such as max_cost")
	case len(given) > 1:
		c.Reject(ref, "configure changes one setting at a time, and %s are given", strings.Join(given, " and "))
	case cmd.AcceptRisk && cmd.Permissions != string(policy.ModeAllowAll):
		c.Reject(ref, "i_accept_the_risk goes with permissions allow-all only")
	case given[0] == "model":
		return SettingsModel
	case cmd.ID != "":
		c.Reject(ref, "%s holds for every agent of the run: leave out id", given[0])
	case strings.HasPrefix(given[0], "max_cost"):
		return configureCost(c, o, ref, given[0], *costLimits(cmd)[given[0]])
	case given[0] == "permissions":
		return configureMode(c, o, ref, cmd)
	default:
		return configureRule(c, o, ref, given[0], strings.TrimSpace(cmd.Allow+cmd.Ask+cmd.Deny))
	}
	return SettingsNothing
}

// costLimits are the cost limits that a command may change.
func costLimits(cmd contract.Configure) map[string]*float64 {
	return map[string]*float64{"max_cost": cmd.MaxCost, "max_cost_per_agent": cmd.MaxCostPerAgent,
		"max_cost_per_day": cmd.MaxCostPerDay}
}

// configureCost changes a cost limit.
func configureCost(c *effect.Collector, o *runconfig.Options, ref, name string, usd float64) SettingsChange {
	limit := map[string]*float64{"max_cost": &o.MaxCostUSD, "max_cost_per_agent": &o.MaxCostPerAgent,
		"max_cost_per_day": &o.MaxCostPerDay}[name]
	switch {
	case usd < 0:
		c.Reject(ref, "%s %g: must not be negative", name, usd)
		return SettingsNothing
	case limit == &o.MaxCostPerDay && *limit <= 0:
		c.Reject(ref, "this run does not follow the costs of others: begin or resume one with --max-cost-per-day")
		return SettingsNothing
	}
	*limit = usd
	text := fmt.Sprintf("%s: $%.2f", name, usd)
	if usd == 0 {
		text = name + ": no limit"
	}
	c.Accept(ref, text)
	c.Emit(contract.Supervisor, contract.Notice{Text: "The human changed a limit of costs of this run: " + text + "."})
	return SettingsCosts
}

// configureMode changes what happens to tool calls that no rule matches.
func configureMode(c *effect.Collector, o *runconfig.Options, ref string, cmd contract.Configure) SettingsChange {
	modes := []policy.Mode{policy.ModeAsk, policy.ModeRules, policy.ModeAcceptEdits, policy.ModeAllowAll}
	mode := policy.Mode(cmd.Permissions)
	switch {
	case !slices.Contains(modes, mode):
		c.Reject(ref, "there is no permission mode %q: use ask, rules, accept-edits or allow-all", cmd.Permissions)
		return SettingsNothing
	case mode == policy.ModeAllowAll && !cmd.AcceptRisk:
		c.Reject(ref, "allow-all lets every agent run anything unasked: "+
			"give i_accept_the_risk with it if that is meant")
		return SettingsNothing
	case cmd.Permissions == o.Permissions:
		c.Accept(ref, "permissions are "+cmd.Permissions+" already")
		return SettingsNothing
	}
	o.Permissions = cmd.Permissions
	c.Accept(ref, "permissions: "+cmd.Permissions)
	c.Emit(contract.Supervisor, contract.Notice{
		Text: "The human changed the permissions of this run: " + cmd.Permissions + ", for what no rule covers.",
	})
	return SettingsPolicy
}

// configureRule adds a rule. to is the list that it is added to: allow, ask or deny.
func configureRule(c *effect.Collector, o *runconfig.Options, ref, to, text string) SettingsChange {
	rule, err := policy.ParseRule(text)
	if err != nil {
		c.Reject(ref, "%s: %s", to, err)
		return SettingsNothing
	}
	list := map[string]*[]string{"allow": &o.Allow, "ask": &o.Ask, "deny": &o.Deny}[to]
	if slices.Contains(*list, text) {
		c.Accept(ref, to+" "+text+" is a rule already")
		return SettingsNothing
	}
	*list = append(slices.Clone(*list), text)
	unknown := ""
	if !rule.Known() {
		unknown = " (no tool of that name is known, so it may never apply)"
	}
	c.Accept(ref, "from now on: "+to+" "+text+unknown)
	c.Emit(contract.Supervisor, contract.Notice{
		Text: fmt.Sprintf("The human added a permission rule to this run: %s %s.", to, text),
	})
	return SettingsPolicy
}

// SameRules reports whether two options decide about permissions in the same way.
func SameRules(a, b *runconfig.Options) bool {
	return a.Permissions == b.Permissions && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) &&
		slices.Equal(a.Deny, b.Deny)
}
