package doctor

import "strings"

func checkSettings(s Surroundings) []Finding {
	l := list{area: AreaSettings}
	c := s.Settings
	switch {
	case c.Problem != "":
		l.add("configuration", Fail, c.Problem, "arbiter schema config")
	case c.Skipped != "":
		l.add("configuration", Note, "was not read: "+c.Skipped, "")
		return l.all
	case len(c.Files) == 0:
		l.add("configuration", OK, "no file; flags and variables alone", "")
	default:
		l.add("configuration", OK, strings.Join(c.Files, ", "), "")
	}
	if len(c.Hosts) > 0 {
		l.add("hosts", Note, "configured, not looked at: "+strings.Join(c.Hosts, ", "), "arbiter hosts check "+c.Hosts[0])
	}
	if c.Templates != "" {
		l.add("templates", Fail, c.Templates, "arbiter decide --template select.md")
	}
	for _, problem := range c.Agents {
		l.add("agents", Warn, problem, "arbiter agents check")
	}
	return l.all
}
