package proctree

// EnvNamespace describes to a child what [Isolate] arranged for it.
const EnvNamespace = "ARBITER_PIDNS"

// Mode is the effort that is allowed for a PID namespace.
type Mode string

// In a user namespace setuid programs gain no privileges (sudo, su, ping on some systems), and files of
// other users appear as owned by nobody, for which reason ssh refuses its system-wide configuration. This
// would affect an agent's shell. So ModeAuto uses a PID namespace only if it can be obtained without a user
// namespace: by root, or with CAP_SYS_ADMIN.
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

// Isolation is the result of a request for isolation.
type Isolation struct {
	Kind Kind
	Why  string // why there is no namespace; "" with one
}

func (i Isolation) String() string {
	if i.Why == "" {
		return string(i.Kind)
	}
	return string(i.Kind) + " (" + i.Why + ")"
}
