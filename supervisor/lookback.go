package supervisor

// This file finds out what a check that passes says of the files as they were before the work: a check that passed then
// proves nothing about the work.
//
// It runs once more, on a scratch copy of the workspace in which Git restores the snapshot from before the task. What
// Git ignores stays as it is, so that it does not fail for want of what is installed or built. Without scratch copies,
// or on another host, nothing is said; nor of what takes long, or asks Git itself, whose history is not put back.

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// lookBackAtMost is how long a check may have taken that runs a second time: the Arbiter waits for it.
const lookBackAtMost = 30 * time.Second

// notAsBefore is the exit code that says that the files could not be restored.
const notAsBefore = 119

// asksGit matches commands that may ask Git.
var asksGit = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\bgit\b`) })

// asBefore runs a command on the files of a commit. It is for scratch copies: it changes the workspace.
func asBefore(commit, command string) string {
	return "(cd \"$(git rev-parse --show-toplevel)\" && index=$(mktemp -u) && " +
		"{ cp \"$(git rev-parse --git-path index)\" \"$index\" || :; } && export GIT_INDEX_FILE=\"$index\" && " +
		"git add -A && git read-tree -u --reset " + words.Quote(commit) + ") >/dev/null 2>&1 || " +
		fmt.Sprintf("exit %d\n", notAsBefore) + command
}

// beforeTask is the commit with the files before the task; empty: it is not known.
func (s *State) beforeTask() string {
	switch {
	case s.Task.Acceptance.Before != "":
		return s.Task.Acceptance.Before
	case s.Task.Acceptance.Tasks > 1:
		return ""
	}
	return s.Options.Workspace.Base
}

// looksBack reports whether a check that was just run runs once more on the files before the task.
func (st *step) looksBack(h *Handover, r verdict.Receipt) bool {
	ofWork := (h.Kind == KindDone || h.Kind == KindHandoff) && !h.MustMerge(&st.Roster) || h.Kind == KindAccept
	return ofWork && r.Result == verdict.CheckPassed && st.Options.ScratchChecks && h.Host(&st.Roster) == "" &&
		st.beforeTask() != "" && r.DurationMS <= lookBackAtMost.Milliseconds() && !asksGit().MatchString(r.Command)
}

// receipts are those of the checks before the one that runs.
func (h *Handover) receipts() []verdict.Receipt {
	switch {
	case h == nil:
		return nil
	case h.Earlier:
		return h.Receipts[:len(h.Receipts)-1]
	}
	return h.Receipts
}

// before says what a check found on the files before the task.
func before(c verdict.Check, x bridge.CheckResult, failed string) string {
	if failed != "" || x.TimedOut || x.Signal != "" || x.Exit == notAsBefore {
		return ""
	}
	switch Receipt(c, x, "").Result {
	case verdict.CheckPassed:
		return verdict.AlreadyTrue
	case verdict.CheckFailed:
		return verdict.FailedAtFirst
	}
	return ""
}

// before is what is known of a criterion's command on the files before the task.
func (s *AcceptanceState) before(command string) string {
	for _, r := range s.Results {
		if r.Command == command && r.Before != "" {
			return r.Before
		}
	}
	return ""
}

// lookedBack records that in the current round.
func (s *AcceptanceState) lookedBack(command, before string) {
	if s.Round == nil || before == "" {
		return
	}
	round := *s.Round
	round.Results = slices.Clone(round.Results)
	for i := range round.Results {
		if r := &round.Results[i]; r.Command == command && r.Status == AcceptancePassed {
			r.Before = before
		}
	}
	s.Round = &round
}

// provesNothing names what passes although it was true before the work, if nothing that passes is known or may be to
// have failed then.
func (s *State) provesNothing() (already []string) {
	for _, p := range s.Handoff.Proofs {
		switch {
		case p.Receipt.Result != verdict.CheckPassed:
		case p.Receipt.Before != verdict.AlreadyTrue:
			return nil
		default:
			already = append(already, "`"+strings.TrimSpace(p.Check.Command)+"`")
		}
	}
	for _, r := range s.Task.Acceptance.Results {
		switch {
		case r.Status != AcceptancePassed:
		case r.Before != verdict.AlreadyTrue:
			return nil
		default:
			already = append(already, "`"+r.Command+"`")
		}
	}
	if s.Handoff.EarlierProofs.Passed > 0 || len(s.Task.Acceptance.Results) == 0 && s.Task.Acceptance.proves() {
		return nil // not all of them are known, or the criteria are still to be judged
	}
	return slices.Compact(already)
}

// proves reports whether a criterion has a command.
func (s *AcceptanceState) proves() bool {
	return slices.ContainsFunc(s.Criteria, func(c Criterion) bool { return c.Command != "" })
}
