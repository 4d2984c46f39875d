package crashpoint

import (
	"os"
	"sync"
)

// LinkerFlags make the linker enable the crash points of a program: go build -ldflags "$flags". They do not change how
// packages are compiled, so that a build with them links what a build without them has compiled.
const LinkerFlags = "-w -X github.com/arbiter-cli/arbiter/bridge/crashpoint.enabled=yes"

// enabled is empty, unless the linker sets it.
var enabled string

// process is parsed from the environment of a program that has crash points.
var process = sync.OnceValue(func() *trap {
	t, err := newTrap(os.Getenv(atVariable), os.Getenv(logVariable))
	if err != nil {
		panic(err)
	}
	return t
})

// Here marks a place that ARBITER_CRASH_AT can name.
func Here(name string) {
	if enabled != "" {
		process().here(name)
	}
}

// Role names this process (arbiter, bridge), for points that several reach. It is
// called before the first Here.
func Role(role string) {
	if enabled != "" {
		process().setRole(role)
	}
}
