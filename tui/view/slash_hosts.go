package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
)

// hosts lists the hosts of a run: the state of each, the agents on it, and what to do about a parked one.
func hosts(s *supervisor.State) string {
	if s == nil || len(s.Options.Hosts) == 0 {
		return "All agents live on this machine. `arbiter --hosts` lets Orchestrators live on others."
	}
	var b strings.Builder
	b.WriteString("| host | | Orchestrators | slots |\n|---|---|---|--:|\n")
	parked := ""
	for _, h := range s.Options.Hosts {
		known := bridgeOf(s, h.Name)
		var agents []string
		for _, a := range members(s) {
			if a.Host == h.Name && !SlashOver(a) {
				agents = append(agents, SlashName(s, a.ID))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", SlashWord(h.Name), hostStatus(known), strings.Join(agents, ", "), h.Slots)
		if known.Parked {
			parked += fmt.Sprintf("\n%[1]s is not tried again before you say so: `/choose retry host %[1]s`", SlashWord(h.Name))
		}
	}
	if parked != "" {
		b.WriteString(parked + "\n")
	}
	return b.String()
}

// bridgeOf returns what the run knows of a host; the zero value if no agent was placed there yet.
func bridgeOf(s *supervisor.State, host string) supervisor.Bridge {
	for _, b := range s.Lifecycle.Bridges {
		if b.Host == host {
			return b
		}
	}
	return supervisor.Bridge{}
}

// hostStatus describes the state of a host, and its reason.
func hostStatus(b supervisor.Bridge) string {
	text := string(b.Status)
	switch {
	case b.Parked:
		text = "parked"
	case b.Status == "":
		return "not used yet"
	}
	if b.Reason != "" && b.Status != supervisor.StatusUp {
		text += ": " + SlashWord(b.Reason)
	}
	if !b.Until.IsZero() && b.Status != supervisor.StatusUp {
		text += ", not used before " + b.Until.Local().Format(time.TimeOnly)
	}
	return text
}
