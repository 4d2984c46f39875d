package main

import (
	"fmt"
	"os"
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
		if m.Text == "Call it lost." {
			t.Error("a rejected message reached an agent")
		}
	}
}

// TestStopAfterJournalFailure: a run that cannot write its journal can still be ended, and the next process
// resumes from the state before the failure.
func TestStopAfterJournalFailure(t *testing.T) {
	testkit.Long(t)
	s := dialogue(t)
	s.limitFiles(1)
	s.send(contract.Say{Text: "Call it lost."})
	await[contract.Error](s, "an error", nil)
	testkit.OK(t, s.cmd.Process.Signal(os.Interrupt))
	s.finish(contract.ExitInterrupted)
	s.resumed()
}

// TestStateDirectoryVanishes: writes into a deleted directory are lost, so nothing is accepted any more. A link
// put in its place is not followed.
func TestStateDirectoryVanishes(t *testing.T) {
	testkit.Long(t)
	s := dialogue(t)
	dir := filepath.Dir(collect[contract.Session](s)[0].Log)
	elsewhere := t.TempDir()
	testkit.OK(t, os.Rename(dir, filepath.Join(elsewhere, "moved")))
	trap := filepath.Join(elsewhere, "trap")
	testkit.OK(t, os.Mkdir(trap, 0o700))
	testkit.OK(t, os.Symlink(trap, dir))
	for refused := false; !refused; {
		before := len(collect[contract.Rejected](s)) + len(collect[contract.Accepted](s))
		s.send(contract.SetPlan{Steps: []contract.Step{}})
		await[contract.Session](s, "anything", func(string, contract.Session) bool { return true })
		s.awaitAnswer(before)
		refused = len(collect[contract.Rejected](s)) > 0 || len(collect[contract.Error](s)) > 0
	}
	testkit.Empty(t, "the link was followed", testkit.Must(os.ReadDir(trap))(t))
	testkit.OK(t, s.cmd.Process.Signal(os.Interrupt))
	s.finish(contract.ExitInterrupted)
}

// awaitAnswer waits until more inputs were answered than before, or an error is reported.
func (s *script) awaitAnswer(before int) {
	s.t.Helper()
	n := 0
	await[contract.Body](s, "an answer", func(_ string, b contract.Body) bool {
		switch b.(type) {
		case contract.Accepted, contract.Rejected:
			n++
		case contract.Error:
			return true
		}
		return n > before
	})
}
