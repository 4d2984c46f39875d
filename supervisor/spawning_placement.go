package supervisor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Hosts are the hosts of a run, and the agents on them.
type Hosts struct {
	Options   *runconfig.Options
	Roster    *Roster
	Lifecycle *LifecycleState
}

// Place chooses the host of a new Orchestrator: the named host, or one of a named pool; empty: any host with a
// free slot. The second result says why there is no place.
func (h Hosts) Place(named string) (host, problem string) {
	if named == "" && len(h.Options.Hosts) == 0 || named == runconfig.Here {
		return LifecycleHere, ""
	}
	hosts, problem := h.candidates(named)
	if problem != "" {
		return "", problem
	}
	var parked, full []string
	free := map[string]int{}
	hosts = slices.DeleteFunc(hosts, func(x runconfig.Host) bool {
		free[x.Name] = x.Slots - h.livingOn(x.Name)
		switch {
		case h.Lifecycle.Bridge(x.Name).Parked:
			parked = append(parked, x.Name+" ("+h.Lifecycle.Bridge(x.Name).Reason+")")
		case free[x.Name] <= 0:
			full = append(full, fmt.Sprintf("%s (%s)", x.Name, words.Count(x.Slots, "slot")))
		default:
			return false
		}
		return true
	})
	if len(hosts) > 0 {
		// The first of the hosts with the most free slots; a host that was lost only if there is no other.
		best := slices.MinFunc(hosts, func(a, b runconfig.Host) int {
			return cmp.Or(cmp.Compare(h.lostRank(a.Name), h.lostRank(b.Name)), cmp.Compare(free[b.Name], free[a.Name]))
		})
		if !h.Options.Workspace.Enabled() {
			return "", "There is no Git repository with a commit here, so nothing can be brought to host " + best.Name +
				" and back: name the host here."
		}
		return best.Name, ""
	}
	if named == "" && h.Options.HereToo {
		return LifecycleHere, ""
	}
	problem = "No host has a free slot."
	if len(full) > 0 {
		problem += " Full: " + strings.Join(full, ", ") + "."
	}
	if len(parked) > 0 {
		problem += " Cannot be used before the human has seen to it: " + strings.Join(parked, ", ") + "."
	}
	return "", problem + " Release an Orchestrator there, or name another host: " + h.names() + "."
}

// candidates are the hosts that a name can mean.
func (h Hosts) candidates(named string) (hosts []runconfig.Host, problem string) {
	wanted := func(host string) bool { return named == "" || host == named }
	if i := slices.IndexFunc(h.Options.Pools, func(p runconfig.Pool) bool { return p.Name == named }); i >= 0 {
		wanted = func(host string) bool { return slices.Contains(h.Options.Pools[i].Hosts, host) }
	}
	for _, x := range h.Options.Hosts {
		if wanted(x.Name) {
			hosts = append(hosts, x)
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Sprintf("There is no host or pool %q in this run. There are: %s.", named, h.names())
	}
	return hosts, ""
}

// lostRank is higher for a host whose bridge was lost.
func (h Hosts) lostRank(host string) int {
	if h.Lifecycle.Bridge(host).Status == StatusLost {
		return 1
	}
	return 0
}

// livingOn counts the Orchestrators that hold a slot of a host.
func (h Hosts) livingOn(host string) (n int) {
	for _, a := range h.Roster.Agents {
		if a.Role == RoleOrchestrator && a.Host == host && a.Alive() && a.Standing != HandedOff {
			n++
		}
	}
	return n
}

// names lists the hosts and pools that an Orchestrator can be spawned on.
func (h Hosts) names() string {
	names := []string{runconfig.Here}
	for _, x := range h.Options.Hosts {
		names = append(names, x.Name)
	}
	for _, p := range h.Options.Pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Text says to the Arbiter where a new Orchestrator runs, and what it waits for.
func (h Hosts) Text(host string) string {
	text := " It lives on host " + host + ", in a directory of its own."
	if b := h.Lifecycle.Bridge(host); !b.Up {
		text += fmt.Sprintf(" That host is %s (%s): it begins when the host is up.", b.Status, b.Reason)
	}
	return text
}

// movedText says to a successor on another host than its predecessor what it will not find there; empty: it is
// on the same host.
func movedText(old *Agent, host string) string {
	if old.ID == "" || old.Host == host {
		return ""
	}
	return fmt.Sprintf("\n\n## Another host\n\n%s worked on host %s, and you work on host %s. Your directory begins with "+
		"the last commit of its work that was brought back. What it did after that, and what lies outside of the "+
		"repository, is not here.", old.Name, hostName(old.Host), hostName(host))
}

// hostName is a host as people write it.
func hostName(host string) string { return cmp.Or(host, runconfig.Here) }
