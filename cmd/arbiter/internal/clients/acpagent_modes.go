package clients

import "slices"

const (
	allowAll = "allow-all"
	optionID = "permissions"
)

// allModes are the permission modes of a run, from the most careful one on.
var allModes = []mode{
	{"ask", "Ask", "Arbiter asks you about each tool call that no rule covers"},
	{"rules", "Rules only", "Arbiter denies each tool call that no rule allows"},
	{"accept-edits", "Accept edits", "Like Ask, but edits in the workspace are allowed"},
	{allowAll, "Allow all", "Arbiter allows every tool call that no rule denies"},
}

// modes returns the modes that can be chosen. allow-all is among them only if the command was started with the risk
// accepted, or if the run is in that mode already.
func (c *ACPConfig) modes(now string) []mode {
	list := slices.Clone(allModes)
	if c.AcceptRisk || now == allowAll {
		return list
	}
	return slices.DeleteFunc(list, func(m mode) bool { return m.ID == allowAll })
}

func (c *ACPConfig) canChoose(id, now string) bool {
	return slices.ContainsFunc(c.modes(now), func(m mode) bool { return m.ID == id })
}

func (c *ACPConfig) modeState(now string) *modeState { return &modeState{now, c.modes(now)} }

// options returns the modes as a configuration option, which newer clients show instead of modes.
func (c *ACPConfig) options(now string) []configOption {
	o := configOption{Type: "select", ID: optionID, Name: "Permissions", Category: "mode", CurrentValue: now,
		Description: "What happens to a tool call that no rule covers"}
	for _, m := range c.modes(now) {
		o.Options = append(o.Options, configValue{m.ID, m.Name, m.Description})
	}
	return []configOption{o}
}
