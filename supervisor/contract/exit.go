package contract

import "fmt"

// Exit is the exit code of `arbiter`.
type Exit int

// Exit codes. Those of a signal are 128 plus its number, as shells report it.
const (
	ExitComplete    Exit = 0
	ExitFailed      Exit = 1 // failed or cancelled
	ExitUsage       Exit = 2 // usage or bad input; also: nothing to resume
	ExitNeedsInput  Exit = 3
	ExitLimit       Exit = 4
	ExitEnvironment Exit = 5 // claude missing, not logged in, unsupported
	ExitBug         Exit = 70
	ExitInterrupted Exit = 130 // SIGINT
	ExitTerminated  Exit = 143 // SIGTERM
)

// String says what the code means.
func (e Exit) String() string {
	switch e {
	case ExitComplete:
		return "complete"
	case ExitFailed:
		return "failed or cancelled"
	case ExitUsage:
		return "usage or bad input"
	case ExitNeedsInput:
		return "needs input"
	case ExitLimit:
		return "limit reached"
	case ExitEnvironment:
		return "environment"
	case ExitBug:
		return "bug"
	case ExitInterrupted:
		return "interrupted"
	case ExitTerminated:
		return "terminated"
	}
	return fmt.Sprintf("exit code %d", int(e))
}

// ExitFor is the code of a result's status. A status that is none is a fault of
// ours.
func ExitFor(status string) Exit {
	switch status {
	case StatusComplete:
		return ExitComplete
	case StatusFailed, StatusCancelled:
		return ExitFailed
	case StatusNeedsInput:
		return ExitNeedsInput
	case StatusLimit:
		return ExitLimit
	}
	return ExitBug
}
