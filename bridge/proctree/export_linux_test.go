package proctree

// For the tests outside of the package, which share this test binary.
var (
	Roles        = roles
	Again        = again
	Unprivileged = unprivileged
	Publicly     = publicly
	Until        = until
	Insiders     = insiders
	NamespaceOf  = namespaceOf
)

const (
	RoleArg     = roleArg
	WaitTimeout = waitTimeout
	Nobody      = nobody
)

// Exists reports whether pid is a process, including zombies.
func Exists(pid int) bool {
	_, err := procAt(pid)
	return err == nil
}

// Environ returns the environment with which pid was started, with a NUL after each entry.
func Environ(pid int) string { return string(environ(pid)) }
