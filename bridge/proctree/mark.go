package proctree

// Names of the environment variables that mark descendants.
const (
	EnvRun   = "ARBITER_RUN"
	EnvAgent = "ARBITER_AGENT"
)

// Mark is carried in the environment of a child and inherited by what it starts.
type Mark struct {
	Run   string
	Agent string // empty: every agent of the run
}

// Env renders the mark as environment entries.
func (m Mark) Env() []string {
	env := []string{EnvRun + "=" + m.Run}
	if m.Agent != "" {
		env = append(env, EnvAgent+"="+m.Agent)
	}
	return env
}

// Process is somebody a search found.
type Process struct {
	PID  int
	Name string // the kernel's short name
}
