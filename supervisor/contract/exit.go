package contract

import "fmt"

// Exit is the exit code of `arbiter`.
type Exit int

// Exit codes. The code after a signal is 128 plus the signal's number, as in shells.
const (
	ExitComplete    Exit = 0
	ExitFailed      Exit = 1
	ExitUsage       Exit = 2
	ExitNeedsInput  Exit = 3
	ExitLimit       Exit = 4
	ExitEnvironment Exit = 5
	ExitBug         Exit = 70
	ExitInterrupted Exit = 130
	ExitTerminated  Exit = 143
)

// ExitMeaning says what an exit code means, in a word or two, and when arbiter exits with it.
type ExitMeaning struct {
	Exit Exit
	Word string
	When string // details; may be empty
}

// Exits lists all exit codes, in order.
func Exits() []ExitMeaning {
	return []ExitMeaning{
		{ExitComplete, "complete", "or you left the run running"},
		{ExitFailed, "failed or cancelled", "or complete over a check that fails"},
		{ExitUsage, "usage or bad input", "or nothing to resume"},
		{ExitNeedsInput, "needs input", "a question, and no human to answer it"},
		{ExitLimit, "limit reached", "`--max-cost`, `--max-cost-per-day`, `--timeout`, `--max-iterations` or another"},
		{ExitEnvironment, "environment",
			"claude is missing, not logged in or not supported; also if you leave the screen that says so"},
		{ExitBug, "bug", "an error in arbiter itself"},
		{ExitInterrupted, "interrupted", "SIGINT, or you left the screen and stopped its run"},
		{ExitTerminated, "terminated", "SIGTERM, SIGHUP (not under `nohup`), or the terminal closed"},
	}
}

// String says what the code means.
func (e Exit) String() string {
	for _, m := range Exits() {
		if m.Exit == e {
			return m.Word
		}
	}
	return fmt.Sprintf("exit code %d", int(e))
}
