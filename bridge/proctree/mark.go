package proctree

// Names of the environment variables that mark descendants.
const (
	EnvRun    = "ARBITER_RUN"
	EnvBridge = "ARBITER_BRIDGE"
	EnvAgent  = "ARBITER_AGENT"
)

// Mark is stored in the environment of a child and inherited by what it starts. Several bridges of one run
// can be on one machine: each has a name of its own.
type Mark struct {
	Run    string
	Bridge string // empty: every bridge of the run
	Agent  string // empty: every agent
}

// Env renders the mark as environment entries.
func (m Mark) Env() []string {
	env := []string{EnvRun + "=" + m.Run}
	if m.Bridge != "" {
		env = append(env, EnvBridge+"="+m.Bridge)
	}
	if m.Agent != "" {
		env = append(env, EnvAgent+"="+m.Agent)
	}
	return env
}

// Process is a process that a search found.
type Process struct {
	PID  int
	Name string // the kernel's short name
}
