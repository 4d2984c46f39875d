package supervisor

import (
	"fmt"
	"time"
)

// A timer's key says what it is for and whom or what it is about. It is recorded when it
// rings, so that these names stay as they are. What is about a process names its generation.
const (
	timeoutKey     = "timeout" // the time of the run
	handoverPrefix = "handover/"
)

func handoverKey(serial int) string { return fmt.Sprint(handoverPrefix, serial) }

// takenGrace is how often a run whose time is over looks whether a human still has a session.
const takenGrace = time.Minute
