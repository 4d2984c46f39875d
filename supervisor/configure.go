package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// configureCommand changes one setting of the run.
func (st *step) configureCommand(ref string, c contract.Configure) {
	var given []string
	for name, value := range map[string]string{
		"model": c.Model, "permissions": c.Permissions, "allow": c.Allow, "ask": c.Ask, "deny": c.Deny,
	} {
		if strings.TrimSpace(value) != "" {
			given = append(given, name)
		}
	}
	slices.Sort(given)
	switch {
	case len(given) == 0:
		st.reject(ref, "configure changes nothing: give model, permissions, allow, ask or deny")
	case len(given) > 1:
		st.reject(ref, "configure changes one setting at a time, and %s are given", strings.Join(given, " and "))
	case c.AcceptRisk && c.Permissions != string(policy.ModeAllowAll):
		st.reject(ref, "i_accept_the_risk goes with permissions allow-all only")
	case given[0] == "model":
		st.configureModel(ref, c)
	case c.ID != "":
		st.reject(ref, "permissions hold for every agent of the run: leave out id")
	case given[0] == "permissions":
		st.configureMode(ref, c)
	default:
		st.configureRule(ref, given[0], strings.TrimSpace(c.Allow+c.Ask+c.Deny))
	}
}

// configureMode changes what becomes of tool calls that no rule is about.
func (st *step) configureMode(ref string, c contract.Configure) {
	modes := []policy.Mode{policy.ModeAsk, policy.ModeRules, policy.ModeAcceptEdits, policy.ModeAllowAll}
	mode := policy.Mode(c.Permissions)
	switch {
	case !slices.Contains(modes, mode):
		st.reject(ref, "there is no permission mode %q: use ask, rules, accept-edits or allow-all", c.Permissions)
		return
	case mode == policy.ModeAllowAll && !c.AcceptRisk:
		st.reject(ref, "allow-all lets every agent run anything unasked: "+
			"give i_accept_the_risk with it if that is meant")
		return
	case c.Permissions == st.Options.Permissions:
		st.accept(ref, "permissions are "+c.Permissions+" already")
		return
	}
	st.Options.Permissions = c.Permissions
	st.accept(ref, "permissions: "+c.Permissions)
	st.emit(contract.Supervisor, contract.Notice{
		Text: "The human changed the permissions of this run: " + c.Permissions + ", for what no rule speaks of.",
	})
	st.Permission.PolicyChanged(&st.out)
}

// configureRule adds a rule. To is the list it joins: allow, ask or deny.
func (st *step) configureRule(ref, to, text string) {
	rule, err := policy.ParseRule(text)
	if err != nil {
		st.reject(ref, "%s: %s", to, err)
		return
	}
	list := map[string]*[]string{"allow": &st.Options.Allow, "ask": &st.Options.Ask, "deny": &st.Options.Deny}[to]
	if slices.Contains(*list, text) {
		st.accept(ref, to+" "+text+" is a rule already")
		return
	}
	*list = append(slices.Clone(*list), text)
	unknown := ""
	if !rule.Known() {
		unknown = " (no tool of that name is known, so it may hold for nothing)"
	}
	st.accept(ref, "from now on: "+to+" "+text+unknown)
	st.emit(contract.Supervisor, contract.Notice{
		Text: fmt.Sprintf("The human added a permission rule to this run: %s %s.", to, text),
	})
	st.Permission.PolicyChanged(&st.out)
}

// SameRules reports whether two options decide about permissions alike.
func SameRules(a, b *runconfig.Options) bool {
	return a.Permissions == b.Permissions && slices.Equal(a.Allow, b.Allow) && slices.Equal(a.Ask, b.Ask) &&
		slices.Equal(a.Deny, b.Deny)
}

// configureModel changes the model of an agent, or of the whole run. The CLI tries a
// model before it takes it: for the run the Arbiter's is asked, and the others follow.
func (st *step) configureModel(ref string, c contract.Configure) {
	id := cmp.Or(c.ID, contract.Arbiter)
	a, ok := st.Agent(id)
	if !ok || !a.Alive() && a.Status != roster.Parked {
		st.reject(ref, "there is no living agent %q; alive: %s", id, st.AddresseesText())
		return
	}
	f := input.Configured{Agent: a.AgentRef, Model: c.Model, All: c.ID == ""}
	if a.Status != roster.Ready && a.Status != roster.Busy {
		st.accept(ref, "model "+c.Model+": from the next start of "+id)
		st.configured(f)
		return
	}
	st.accept(ref, "model "+c.Model+": being tried by "+id)
	st.do(effect.SetModel{Agent: f.Agent, Model: f.Model, All: f.All})
}

// configured takes the model over, for this agent or for all.
func (st *step) configured(f input.Configured) {
	a := st.Edit(f.Agent.ID)
	if a == nil {
		return
	}
	if f.Failed != "" {
		st.fail(f.Agent.ID, bridge.CatInvalidRequest, st.DisplayName(f.Agent.ID)+" did not take the model "+f.Model+
			", and keeps its own: "+f.Failed, []string{})
		return
	}
	if !f.All {
		a.Model = f.Model
		st.emit(a.ID, contract.Notice{Text: "The model of " + st.DisplayName(a.ID) + " is " + f.Model + "."})
		return
	}
	st.Options.Model, st.Options.ArbiterModel = f.Model, ""
	for i := range st.Agents {
		b := st.Edit(st.Agents[i].ID)
		if b.Model = ""; b.ID != a.ID && (b.Status == roster.Ready || b.Status == roster.Busy) {
			st.do(effect.SetModel{Agent: b.AgentRef, Model: f.Model})
		}
	}
	st.emit(contract.Supervisor, contract.Notice{Text: "The model of every agent is " + f.Model + "."})
}
