package host

import "strings"

func checkSettings(s Surroundings) []Finding {
	l := list{area: AreaSettings}
	c := s.Settings
	switch {
	case c.Problem != "":
		l.add("configuration", DoctorFail, c.Problem, "arbiter schema config")
	case c.Skipped != "":
		l.add("configuration", DoctorNote, "was not read: "+c.Skipped, "")
		return l.all
	case len(c.Files) == 0:
		l.add("configuration", DoctorOK, "no file; flags and variables alone", "")
	default:
		l.add("configuration", DoctorOK, strings.Join(c.Files, ", "), "")
	}
	if len(c.Hosts) > 0 {
		l.add(
			"hosts",
			DoctorNote,
			"configured, not looked at: "+strings.Join(c.Hosts, ", "),
			"arbiter hosts check "+c.Hosts[0],
		)
	}
	for _, m := range c.Makes {
		switch {
		case m.Problem != "":
			l.add("make "+m.Name, DoctorWarn, m.Problem, "correct makes."+m.Name+" in the configuration")
		case m.Version == "":
			l.add("make "+m.Name, DoctorNote, "its program is there; it was not started", "arbiter doctor")
		default:
			l.add("make "+m.Name, DoctorOK, m.Version+"; lacks: "+strings.Join(m.Lacks, "; "), "")
		}
	}
	if c.Templates != "" {
		l.add("templates", DoctorFail, c.Templates, "arbiter decide --template select.md")
	}
	for _, problem := range c.Agents {
		l.add("agents", DoctorWarn, problem, "arbiter agents check")
	}
	return l.all
}
