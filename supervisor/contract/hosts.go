package contract

// Host is the status of a host that Orchestrators run on, other than the host of arbiter itself.
type Host struct {
	Name   string `json:"name" jsonschema:"The host's name in the user's configuration."`
	Status string `json:"status" jsonschema:"up: in use; down: arbiter does not try to reach it; lost: its agents are down, and arbiter tries again; waiting: it is being started, or waits in a queue."`
	Reason string `json:"reason,omitempty" jsonschema:"Why it is not up."`
}

// EventName implements [Body].
func (Host) EventName() string { return "host" }

// Statuses of a host.
const (
	HostUp      = "up"
	HostDown    = "down"
	HostLost    = "lost"
	HostWaiting = "waiting"
)
