package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/lifecycle"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Where Orchestrators live.

// placement is where a new Orchestrator is to live: a host or a pool as it was named; empty: where there is room. The
// second result says why it cannot live there.
func (s *State) placement(named string) (host, problem string) {
	if named == "" && len(s.Options.Hosts) == 0 || named == runconfig.Here {
		return lifecycle.Here, ""
	}
	hosts, problem := s.candidates(named)
	if problem != "" {
		return "", problem
	}
	var parked, full []string
	free := map[string]int{}
	hosts = slices.DeleteFunc(hosts, func(h runconfig.Host) bool {
		free[h.Name] = h.Slots - s.livingOn(h.Name)
		switch {
		case s.Lifecycle.Bridge(h.Name).Parked:
			parked = append(parked, h.Name+" ("+s.Lifecycle.Bridge(h.Name).Reason+")")
		case free[h.Name] <= 0:
			full = append(full, fmt.Sprintf("%s (%s)", h.Name, words.Count(h.Slots, "slot")))
		default:
			return false
		}
		return true
	})
	if len(hosts) > 0 {
		// The first of those with the most room, and one that was lost only if there is no other.
		best := slices.MinFunc(hosts, func(a, b runconfig.Host) int {
			return cmp.Or(cmp.Compare(s.lostRank(a.Name), s.lostRank(b.Name)), cmp.Compare(free[b.Name], free[a.Name]))
		})
		if !s.Options.Workspace.Enabled() {
			return "", "There is no Git repository with a commit here, so nothing can be brought to host " + best.Name +
				" and back: name the host here."
		}
		return best.Name, ""
	}
	if named == "" && s.Options.HereToo {
		return lifecycle.Here, ""
	}
	problem = "No host has a free slot."
	if len(full) > 0 {
		problem += " Full: " + strings.Join(full, ", ") + "."
	}
	if len(parked) > 0 {
		problem += " Cannot be used before the human has seen to it: " + strings.Join(parked, ", ") + "."
	}
	return "", problem + " Release an Orchestrator there, or name another host: " + s.placesText() + "."
}

// candidates are the hosts that a name stands for.
func (s *State) candidates(named string) (hosts []runconfig.Host, problem string) {
	wanted := func(host string) bool { return named == "" || host == named }
	if i := slices.IndexFunc(s.Options.Pools, func(p runconfig.Pool) bool { return p.Name == named }); i >= 0 {
		wanted = func(host string) bool { return slices.Contains(s.Options.Pools[i].Hosts, host) }
	}
	for _, h := range s.Options.Hosts {
		if wanted(h.Name) {
			hosts = append(hosts, h)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Sprintf("There is no host or pool %q in this run. There are: %s.", named, s.placesText())
	}
	return hosts, ""
}

// lostRank is higher for a host whose bridge was lost.
func (s *State) lostRank(host string) int {
	if s.Lifecycle.Bridge(host).Status == lifecycle.StatusLost {
		return 1
	}
	return 0
}

// livingOn counts the Orchestrators that hold a slot of a host.
func (s *State) livingOn(host string) (n int) {
	for _, a := range s.Agents {
		if a.Role == roster.RoleOrchestrator && a.Host == host && a.Alive() && a.Standing != roster.HandedOff {
			n++
		}
	}
	return n
}

// placesText names the hosts and pools that an Orchestrator can be summoned on.
func (s *State) placesText() string {
	names := []string{runconfig.Here}
	for _, h := range s.Options.Hosts {
		names = append(names, h.Name)
	}
	for _, p := range s.Options.Pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// movedText tells a successor what it does not find that works on another host than its predecessor; empty: it works
// on the same.
func movedText(old *roster.Agent, host string) string {
	if old.ID == "" || old.Host == host {
		return ""
	}
	return fmt.Sprintf("\n\n## Another host\n\n%s worked on host %s, and you work on host %s. Your directory begins with "+
		"the last commit of its work that was brought back. What it did after that, and what lies outside of the "+
		"repository, is not here.", old.Name, hostName(old.Host), hostName(host))
}

// hostName is a host as people write it.
func hostName(host string) string { return cmp.Or(host, runconfig.Here) }

// hostText tells the Arbiter where a new Orchestrator lives, and what it waits for.
func (s *State) hostText(host string) string {
	text := " It lives on host " + host + ", in a directory of its own."
	if b := s.Lifecycle.Bridge(host); !b.Up {
		text += fmt.Sprintf(" That host is %s (%s): it begins when the host is up.", b.Status, b.Reason)
	}
	return text
}
