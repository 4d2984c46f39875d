package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// maxCleanupTime is how long a process of a run may outlive its arbiter.
const maxCleanupTime = 2 * time.Second

// checkEnded checks a process that has ended: its last lines, the processes that it left behind, and whether it
// should have ended. It reports whether another process is needed.
func (r *round) checkEnded(l *processRun, p plan, struck bool) bool {
	code := l.wait()
	ended := time.Now()
	if p.crashAt != "" && l.killedBySignal() {
		r.kills++ // the log of crash points counts it for the figures
		struck = true
	}
	r.logf("process ended with %d after %d lines (%+v)", code, l.count, p)
	r.checkNoProcesses(ended)
	l.disconnect()
	if l.ended != nil {
		want := map[string][]int{
			contract.StatusComplete: {0}, contract.StatusIncomplete: {1}, contract.StatusFailed: {1, 5, 70},
			contract.StatusCancelled:  {1},
			contract.StatusNeedsInput: {3}, contract.StatusLimit: {4}, contract.StatusInterrupted: {130, 143},
		}[l.ended.Status]
		// A kill may come between the last line and the exit.
		if !slices.Contains(want, code) && !l.killedBySignal() {
			r.bad("untrue ends", "result says %s, the exit code %d\n%s", l.ended.Status, code, l.dump())
		}
	}
	// The Arbiter completes when the human says that all is there, even if a check of the last document fails.
	if l.ended != nil && (l.ended.Status == contract.StatusComplete || l.ended.Status == contract.StatusIncomplete) {
		switch {
		case r.jobDone():
		case r.is[decided] && l.ended.Status == contract.StatusIncomplete && len(l.ended.Open) > 0:
			// A worker of the script claims what was denied because the run ended; the result says what is open.
			r.logf("incomplete: %q", l.ended.Open)
		case r.flipped: // the damage may lose a spawn that the Arbiter's session remembers
			r.f.n["harmed by them"]++
			r.logf("complete without the files, over a damaged journal")
		default:
			r.bad("wrong files", "complete without the files\n%s", l.dump())
		}
		return false
	}
	if r.run != "" && !l.resumed && code == int(contract.ExitUsage) {
		return r.beginAnew(l)
	}
	if struck || p.crashAt != "" {
		return true
	}
	r.bad("failed resumes", "the run was not killed, and ended with %d\n%s", code, l.dump())
	return false
}

// beginAnew handles a run that was killed before it reached an agent: it cannot be resumed, and it must not
// have accepted anything.
func (r *round) beginAnew(l *processRun) bool {
	for token, s := range r.sent {
		if s.accepted && !s.flipped {
			r.bad("failed resumes", "not resumable, although %s was accepted\n%s", token, l.dump())
			return false
		}
	}
	said := l.stderr.String()
	if !strings.Contains(said, "nothing to resume") && !strings.Contains(said, "there is no run") {
		r.bad("failed resumes", "refused to resume\n%s", l.dump())
		return false
	}
	r.run, r.printed = "", nil
	clear(r.at)
	return true
}

// checkNoProcesses waits until no process of the run is alive, and measures the time.
func (r *round) checkNoProcesses(ended time.Time) {
	marks := []string{r.mark}
	if r.run != "" {
		marks = append(marks, "ARBITER_RUN="+r.run)
	}
	for ; ; time.Sleep(5 * time.Millisecond) {
		left := processes(marks...)
		since := time.Since(ended)
		if len(left) == 0 {
			r.f.gone = append(r.f.gone, since)
			return
		}
		if since > maxCleanupTime {
			for _, p := range left {
				r.bad("orphans", "alive %s after arbiter: %d (of %d, %s) %s %.200s", since.Round(time.Millisecond), p.pid,
					p.parent, p.state, p.agent, strings.Join(p.args, " "))
			}
			return
		}
	}
}

// checkSessions checks that no two processes are on one session.
func (r *round) checkSessions() {
	by := map[string]process{}
	for _, a := range r.agents() {
		r.sawAgents = true
		b, twice := by[a.session]
		by[a.session] = a
		// A child that the CLI has forked looks like the CLI until it executes a tool. Other makes have no session here.
		if twice && a.session != "" && a.parent != b.pid && b.parent != a.pid {
			r.bad("two on one session", "two processes are on session %s: %d (of %d, %s) and %d (of %d, %s)",
				a.session, a.pid, a.parent, a.state, b.pid, b.parent, b.state)
		}
	}
}

// check compares the accepted messages with those that the sessions received.
func (r *round) check() {
	requests := r.api.Requests()
	for _, p := range r.api.Problems() {
		if !strings.Contains(p, "no actor fits") { // a CLI whose bridge was just killed lacks our tools; its answer goes nowhere
			r.fail("rehearsal: %s", p)
		}
	}
	_, told := r.readMakes()
	saw := func(token string) bool {
		heard := func(q rehearsal.Request) bool { return isFromHuman(q.Incoming, token) }
		return strings.Contains(told, token) || slices.ContainsFunc(requests, heard)
	}
	// After a kill the closing message may be sent a second time, and the job ends with the first.
	closed := false
	for token, s := range r.sent {
		closed = closed || s.text == closing && saw(token)
	}
	queue, asked := "", false
	for token, s := range r.sent {
		if !s.accepted {
			continue
		}
		r.f.n["messages accepted"]++
		if saw(token) {
			r.f.n["seen by their session"]++
			continue
		}
		if !asked {
			queue, asked = r.queue(), true
		}
		switch {
		case strings.Contains(queue, token) || s.text == closing && closed:
			r.f.n["still queued at the end"]++
		case s.flipped:
			r.f.n["harmed by them"]++
		default:
			r.bad("lost", "lost: %q %s was accepted, and no session saw it", s.text, token)
		}
	}
	if r.checkDoubled(requests) == 0 || !r.sawAgents {
		r.fail("no envelope in any history, or no agent's process was seen: the checks are blind")
	}
	r.checkLedger()
	r.checkRecords(requests)
}

var (
	anyMark    = regexp.MustCompile(`⟦[^⟧\n]*⟧`)
	partMark   = regexp.MustCompile(`^⟦[^|⟧]*\| part \d+ of \d+\b`)
	envelopeID = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧]+)[^⟧\n]*⟧`)
)

// isFromHuman reports whether a token is in an envelope from the human. The supervisor quotes the human's
// messages to a new Arbiter, which is not a delivery.
func isFromHuman(incoming, token string) bool {
	for at := 0; ; {
		i := strings.Index(incoming[at:], token)
		if i < 0 {
			return false
		}
		at += i + len(token)
		for _, mark := range slices.Backward(anyMark.FindAllString(incoming[:at], -1)) {
			if partMark.MatchString(mark) {
				continue // another part of the same envelope
			}
			if strings.Contains(mark, "| from: human") {
				return true
			}
			break
		}
	}
}

// queue returns the texts that, by arbiter's report, still wait for their reader or have none: the run ended
// before they were sent, or the reader was released.
func (r *round) queue() (waiting string) {
	open := stillUnderWay(r.readRecords())
	for _, m := range r.messages() {
		if open[m.ID] || m.Status == supervisor.MessageWaiting || m.Status == supervisor.MessageSent ||
			m.Status == supervisor.MessageReturned {
			waiting += m.Text + "\n"
		}
	}
	return waiting
}

// messages returns all messages of the run, as arbiter lists them.
func (r *round) messages() []supervisor.MessageRecord {
	out, errs, code := r.command(nil, "sessions", "show", "--json", r.run)
	var shown struct{ Messages []supervisor.MessageRecord }
	err := json.Unmarshal([]byte(out), &shown)
	if err != nil || code != 0 {
		r.fail("sessions show: %d, %v: %s", code, err, errs)
	}
	return shown.Messages
}

// checkDoubled looks for envelopes that are twice in a session's history, and returns how many envelopes it
// saw.
func (r *round) checkDoubled(requests []rehearsal.Request) (seen int) {
	last := map[string]rehearsal.Request{}
	for _, q := range requests {
		if q.Agent == "" && (q.Role == rehearsal.RoleArbiter || q.Role == rehearsal.RoleOrchestrator) {
			last[q.Session] = q
		}
	}
	for session, q := range last {
		count := map[string]int{}
		for _, found := range envelopeID.FindAllStringSubmatch(q.UserText(), -1) {
			count[found[1]]++
		}
		seen += len(count)
		for id, n := range count {
			if n > 1 && r.flipped {
				r.f.n["harmed by them"]++
			} else if n > 1 {
				r.bad("doubled", "doubled: %s is %d times in the history of session %s (%s)", id, n, session, q.Role)
			}
		}
	}
	return seen
}

// checkLedger checks in the stand-ins' ledger that no session read a message again after it had ended a turn
// with it. A message whose process died before the transcript had it must be delivered again; if the history
// had it nevertheless, checkDoubled finds it there twice.
func (r *round) checkLedger() {
	text, err := os.ReadFile(r.path("ledger"))
	if err != nil {
		if r.claude == "" {
			r.fail("the stand-ins kept no ledger: %v", err)
		}
		return
	}
	ended := map[string]bool{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var e struct{ Event, Session, Message string }
		if err := d.Decode(&e); err == io.EOF {
			return
		} else if err != nil {
			r.fail("ledger: %v", err)
			return
		}
		key := e.Session + " " + e.Message
		switch {
		case e.Message == "":
		case e.Event == "ended":
			ended[key] = true
		case e.Event == "took" && ended[key] && (r.flipped || r.damaged[e.Session]):
			r.f.n["harmed by them"]++
		case e.Event == "took" && ended[key]:
			r.bad("doubled", "doubled: session %s took message %s up again after the turn's end", e.Session, e.Message)
		}
	}
}
