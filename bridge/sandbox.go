package bridge

// SandboxConfig says what a confined agent may reach. Everything else is read-only, and
// what holds credentials is not there at all.
type SandboxConfig struct {
	// Program is bubblewrap's path.
	Program string `json:"program"`
	// Write are files and directories that may be written to, beside the CLI's own
	// configuration directory and a private /tmp.
	Write []string `json:"write,omitempty"`
	// Hide are files and directories that are not to be seen.
	Hide []string `json:"hide,omitempty"`
}
