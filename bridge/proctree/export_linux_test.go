package proctree

// For the tests from outside of the package, which share this test binary.
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
	RoleArg  = roleArg
	Patience = patience
	Nobody   = nobody
)

// Exists reports whether pid is any process at all, a zombie too.
func Exists(pid int) bool {
	_, err := readProc(pid)
	return err == nil
}

// Environ is the environment with which pid was started, NUL after each entry.
func Environ(pid int) string { return string(environ(pid)) }
