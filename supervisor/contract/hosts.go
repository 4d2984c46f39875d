package contract

// Host says where a host stands that Orchestrators live on, besides the one that arbiter runs on.
type Host struct {
	Name   string `json:"name" jsonschema:"As the user's configuration names it."`
	Status string `json:"status" jsonschema:"up, down, lost or waiting: in use; not tried; its agents are down and it is tried again; it is being started, or waits in a queue."`
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
