package supervisor

// This file applies changes that a human makes to a live run: permissions, rules and cost limits.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// configure changes one setting of the run, and answers the command.
func (st *step) configure(ref string, cmd contract.Configure) {
	o := &st.Options
	rule := func(to, text string, list *[]string) func() {
		return func() { st.configureRule(ref, to, strings.TrimSpace(text), list) }
	}
	cost := func(name string, usd, limit *float64) func() {
		return func() { st.configureCost(ref, name, *usd, limit) }
	}
	var given []string
	var set func()
	for _, x := range []struct {
		name  string
		given bool
		set   func()
	}{
		{"allow", strings.TrimSpace(cmd.Allow) != "", rule("allow", cmd.Allow, &o.Allow)},
		{"ask", strings.TrimSpace(cmd.Ask) != "", rule("ask", cmd.Ask, &o.Ask)},
		{"deny", strings.TrimSpace(cmd.Deny) != "", rule("deny", cmd.Deny, &o.Deny)},
		{"max_cost", cmd.MaxCost != nil, cost("max_cost", cmd.MaxCost, &o.MaxCostUSD)},
		{"max_cost_per_agent", cmd.MaxCostPerAgent != nil,
			cost("max_cost_per_agent", cmd.MaxCostPerAgent, &o.MaxCostPerAgent)},
		{"max_cost_per_day", cmd.MaxCostPerDay != nil, cost("max_cost_per_day", cmd.MaxCostPerDay, &o.MaxCostPerDay)},
		{"model", strings.TrimSpace(cmd.Model) != "", func() { st.configureModel(ref, cmd) }},
		{"permissions", strings.TrimSpace(cmd.Permissions) != "", func() { st.configureMode(ref, cmd) }},
	} {
		if x.given {
			given, set = append(given, x.name), x.set
		}
	}
	switch {
	case len(given) == 0:
		st.out.Reject(ref, "configure changes nothing: give model, permissions, allow, ask, deny or a "+
			"limit such as max_cost")
	case len(given) > 1:
		st.out.Reject(ref, "configure changes one setting at a time, and %s are given", strings.Join(given, " and "))
	case cmd.AcceptRisk && cmd.Permissions != string(runconfig.ModeAllowAll):
		st.out.Reject(ref, "i_accept_the_risk goes with permissions allow-all only")
	case cmd.ID != "" && given[0] != "model":
		st.out.Reject(ref, "%s holds for every agent of the run: leave out id", given[0])
	default:
		set()
	}
}

// configureCost changes a cost limit.
func (st *step) configureCost(ref, name string, usd float64, limit *float64) {
	switch {
	case usd < 0:
		st.out.Reject(ref, "%s %g: must not be negative", name, usd)
		return
	case limit == &st.Options.MaxCostPerDay && *limit <= 0:
		st.out.Reject(ref, "this run does not follow the costs of others: begin or resume one with --max-cost-per-day")
		return
	}
	*limit = usd
	text := fmt.Sprintf("%s: $%.2f", name, usd)
	if usd == 0 {
		text = name + ": no limit"
	}
	st.out.Accept(ref, text)
	st.notice(contract.Supervisor, "The human changed a limit of costs of this run: "+text+".")
	st.limitsChanged()
}

// limitsChanged compares what was used with limits that may be others now. An agent need not hand off whose limit is no
// longer reached; time that is over, and a fuse that is nearly spent, do not come back.
func (st *step) limitsChanged() {
	for i := range st.Agents {
		a := st.Agents[i]
		if a.Role != RoleOrchestrator || !a.Alive() {
			continue
		}
		a = st.Edit(a.ID)
		st.reportCostLevels(a)
		why := st.reachedLimit(a)
		if a.ReachedLimit != "" && why == "" && a.Fuse.Level == "" && !strings.HasPrefix(a.ReachedLimit, modeTime) {
			a.ReachedLimit, a.HandoffDemands = "", 0
			st.limitWork(a) // a time limit that ended meanwhile was ignored
			text := fmt.Sprintf("The limits were changed: %s (%s) need not hand off for them any more.", a.Name, a.ID)
			st.logNotice(text)
			st.steer(a, text) // it may have been asked to
		}
		st.keepLimits(a)
	}
	st.reportSharedLevels()
}

// configureMode changes what happens to tool calls that no rule matches.
func (st *step) configureMode(ref string, cmd contract.Configure) {
	mode := runconfig.Mode(cmd.Permissions)
	switch {
	case !slices.Contains(runconfig.Modes, mode):
		st.out.Reject(ref, "there is no permission mode %q: use ask, rules, accept-edits or allow-all", cmd.Permissions)
		return
	case mode == runconfig.ModeAllowAll && !cmd.AcceptRisk:
		st.out.Reject(ref, "allow-all lets every agent run anything unasked: "+
			"give i_accept_the_risk with it if that is meant")
		return
	case cmd.Permissions == st.Options.Permissions:
		st.out.Accept(ref, "permissions are "+cmd.Permissions+" already")
		return
	}
	st.Options.Permissions = cmd.Permissions
	st.out.Accept(ref, "permissions: "+cmd.Permissions)
	st.notice(contract.Supervisor, "The human changed the permissions of this run: "+cmd.Permissions+", for "+
		"what no rule covers.")
	st.Permission.PolicyChanged(&st.out)
}

// configureRule adds a rule to a list, which is called to: allow, ask or deny.
func (st *step) configureRule(ref, to, text string, list *[]string) {
	rule, err := policy.ParseRule(text)
	if err != nil {
		st.out.Reject(ref, "%s: %s", to, err)
		return
	}
	if slices.Contains(*list, text) {
		st.out.Accept(ref, to+" "+text+" is a rule already")
		return
	}
	*list = append(slices.Clone(*list), text)
	unknown := ""
	if !rule.Known() {
		unknown = " (no tool of that name is known, so it may never apply)"
	}
	st.out.Accept(ref, "from now on: "+to+" "+text+unknown)
	st.notice(contract.Supervisor, fmt.Sprintf("The human added a permission rule to this run: %s %s.", to, text))
	st.Permission.PolicyChanged(&st.out)
	if to == "allow" {
		st.Permission.AllowOffered(&st.out, text)
	}
}

// SameRules reports whether two options decide about permissions in the same way.
func SameRules(a, b *runconfig.Options) bool {
	return a.Permissions == b.Permissions && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) &&
		slices.Equal(a.Deny, b.Deny)
}
