package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// limitFiles limits the size of files that a running arbiter can write: the kernel then fails its writes as on
// a full disk, until the limit is lifted.
func (s *script) limitFiles(size uint64) {
	s.t.Helper()
	testkit.OK(s.t, unix.Prlimit(s.cmd.Process.Pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY},
		nil))
}

// logged waits until the run's event log holds a text: everything reported before it is then on disk.
func (s *script) logged(text string) {
	s.t.Helper()
	awaitText(s.t, filepath.Join(filepath.Dir(collect[contract.Session](s)[0].Log), journal.LogName), text)
}

// journalFails makes the journal fail for a while, and sets a plan at that moment. It returns the reference of
// the plan, and whether the plan waited: the plan is refused if the write of another input failed before.
// notices is the number of notices before the call.
func (s *script) journalFails(notices int) (plan string, waited bool) {
	s.t.Helper()
	s.mu.Lock()
	from := len(s.lines)
	s.mu.Unlock()
	plan, word := fmt.Sprint("plan-", from), fmt.Sprint("word-", from)
	s.limitFiles(1)
	s.sendAs(plan, contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: contract.StepPending}}})
	at := 0
	s.see("an error", func(l contract.Line) bool {
		at++
		b, ok := l.Body.(contract.Error)
		return ok && at > from && strings.Contains(b.Message, "journal cannot be written") && len(b.RecoveryOptions) > 0
	})
	s.sendAs(word, contract.Say{Text: "Call it lost."})
	await[contract.Rejected](s, "rejected", func(_ string, b contract.Rejected) bool {
		return b.Ref == word && strings.Contains(b.Message, "nothing is accepted")
	})
	testkit.Empty(s.t, "accepted without a journal", collect[contract.Accepted](s))
	s.limitFiles(unix.RLIM_INFINITY)
	await[contract.Notice](s, "recovery", func(_ string, b contract.Notice) bool {
		notices--
		return notices < 0 && strings.Contains(b.Text, "can be written again")
	})
	return plan, !slices.ContainsFunc(collect[contract.Rejected](s), func(b contract.Rejected) bool {
		return b.Ref == plan
	})
}

// TestJournalCannotBeWritten: while the journal cannot be written, no input that could be lost is accepted, and
// messages are visibly rejected. When there is room again, the run continues on its own.
func TestJournalCannotBeWritten(t *testing.T) {
	s := standInPlayer.plays(t, "dialogue", "Name it")
	s.logged(await[contract.Question](s, "a question", nil).Text) // or the plan comes late
	plan := ""
	for waited := false; !waited; {
		plan, waited = s.journalFails(len(collect[contract.Notice](s)))
	}
	await[contract.Accepted](s, "the plan, which had waited", func(_ string, b contract.Accepted) bool {
		return b.Ref == plan
	})
	s.answers()
	s.finish(contract.ExitComplete)
	for _, m := range collect[contract.Message](s) {
		testkit.Check(t, m.Text != "Call it lost.", "a rejected message reached an agent")
	}
}
