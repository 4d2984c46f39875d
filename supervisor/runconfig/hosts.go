package runconfig

import (
	"strings"
	"time"
)

// Here is the name of the machine on which Arbiter itself runs.
const Here = "here"

// DefaultLease is how long the bridge of a host continues without contact to its run.
const DefaultLease = time.Minute

// Host is a machine besides [Here] on which Orchestrators of a run may work. How to reach it is not recorded:
// the user's configuration says it, also when the run is resumed.
type Host struct {
	Name  string
	Slots int    // Orchestrators at once, at least 1
	Dir   string `json:",omitempty"` // where work is kept there, as configured; empty: the bridge chooses
}

// Pool is a name for several hosts of a run.
type Pool struct {
	Name  string
	Hosts []string
}

// HostNames lists the hosts and pools that an Orchestrator can be spawned on.
func (o *Options) HostNames() string {
	names := []string{Here}
	for _, x := range o.Hosts {
		names = append(names, x.Name)
	}
	for _, p := range o.Pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}
