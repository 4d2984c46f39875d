package proctree

// EnvNamespace tells a child what [Isolate] arranged for it.
const EnvNamespace = "ARBITER_PIDNS"

// Mode says how much is to be done for a PID namespace.
type Mode string

// In a user namespace setuid programs gain nothing (sudo, su, ping on some
// systems), and files of other users appear as owned by nobody, for which ssh refuses
// its system-wide configuration. An agent's shell would notice. So ModeAuto takes
// a namespace only where it can be obtained without one: by root, or with
// CAP_SYS_ADMIN.
const (
	ModeAuto   Mode = "auto"
	ModeAlways Mode = "always" // with a user namespace where that is needed
	ModeNever  Mode = "never"
)

// Kind is a kind of isolation.
type Kind string

// The kinds of isolation.
const (
	NoNamespace   Kind = "none"
	PIDNamespace  Kind = "pid"
	UserNamespace Kind = "user+pid"
)

// Isolation is the isolation that a request led to.
type Isolation struct {
	Kind Kind
	Why  string // there is no namespace; "" with one
}

func (i Isolation) String() string {
	if i.Why == "" {
		return string(i.Kind)
	}
	return string(i.Kind) + " (" + i.Why + ")"
}
