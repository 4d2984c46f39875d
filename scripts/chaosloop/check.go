package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// maxCleanupTime is how long a process of a run may outlive its arbiter.
const maxCleanupTime = 2 * time.Second

// exits are the exit codes that fit each status of a result.
var exits = map[string][]int{
	contract.StatusComplete: {0}, contract.StatusIncomplete: {1}, contract.StatusFailed: {1, 5, 70},
	contract.StatusCancelled: {1}, contract.StatusNeedsInput: {3}, contract.StatusLimit: {4},
	contract.StatusInterrupted: {130, 143},
}

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
	if l.ended != nil {
		// A kill may come between the last line and the exit.
		if !slices.Contains(exits[l.ended.Status], code) && !l.killedBySignal() {
			r.bad("untrue ends", "result says %s, the exit code %d\n%s", l.ended.Status, code, l.dump())
		}
		// The Arbiter completes when the human says that all is there, even if a check of the last document fails.
		incomplete := l.ended.Status == contract.StatusIncomplete
		if incomplete || l.ended.Status == contract.StatusComplete {
			// A decided worker claims what was denied because the run ended; the result says what is open.
			if !r.jobDone() && !(r.is[decided] && incomplete && len(l.ended.Open) > 0) {
				r.bad("wrong files", "complete without the files\n%s", l.dump())
			}
			return false
		}
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
	said := l.stderr.String()
	empty := strings.Contains(said, "nothing to resume") || strings.Contains(said, "there is no run")
	for _, s := range r.sent {
		empty = empty && !s.accepted
	}
	if !empty {
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
			r.f.gone = max(r.f.gone, since)
			return
		}
		if since > maxCleanupTime {
			for _, p := range left {
				r.bad("orphans", "alive %s after arbiter: %+v", since.Round(time.Millisecond), p)
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
			r.bad("two on one session", "two processes are on session %s: %+v and %+v", a.session, a, b)
		}
	}
}

// check compares what the run's log and its messages say, as arbiter prints them, with what models were asked: the log
// has the events of all processes, both those that were printed and those that were only recorded before a kill.
func (r *round) check() {
	if r.run == "" {
		return
	}
	for _, p := range r.api.Problems() {
		// A CLI whose bridge was just killed lacks our tools; its answer goes nowhere.
		if !strings.Contains(p, "no actor fits") {
			r.fail("rehearsal: %s", p)
		}
	}
	requests := append(r.api.Requests(), r.readMakes()...)
	out, errs, code := r.command("sessions", "show", "--json", r.run)
	var shown struct{ Messages []supervisor.MessageRecord }
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 {
		r.fail("sessions show: %d, %v: %s", code, err, errs)
	}
	var all []contract.Line
	out, errs, code = r.command("replay", r.run)
	for line := range strings.Lines(out) {
		l, err := contract.DecodeLine([]byte(line))
		r.try(err)
		all = append(all, l)
	}
	if code != 0 {
		r.fail("replay: %d: %s", code, errs)
	}
	if r.checkDoubled(requests) == 0 || !r.sawAgents {
		r.fail("no envelope in any history, or no agent's process was seen: the checks are blind")
	}
	lines := slices.DeleteFunc(slices.Clone(all), func(l contract.Line) bool { return !isCompared(l.Body) })
	r.checkMessages(all, shown.Messages, requests)
	r.checkPrinted(lines)
	r.checkPermissions(all)
	r.checkMakes(all, requests)
	r.checkReceipts(lines)
	r.checkDocuments(lines, shown.Messages, requests, r.checkArbiters(lines, requests))
}

// checkMessages compares the accepted messages of the human with those that the sessions received. Others still wait
// for their reader or have none: the run ended before they were sent, or the reader was released.
func (r *round) checkMessages(all []contract.Line, records []supervisor.MessageRecord, requests []rehearsal.Request) {
	saw := func(token string) bool {
		return slices.ContainsFunc(requests, func(q rehearsal.Request) bool { return isFromHuman(q.Incoming, token) })
	}
	open, waiting := stillUnderWay(all), ""
	for _, m := range records {
		if open[m.ID] || m.Status == supervisor.MessageWaiting || m.Status == supervisor.MessageSent ||
			m.Status == supervisor.MessageReturned {
			waiting += m.Text + "\n"
		}
	}
	// After a kill the closing message may be sent a second time, and the job ends with the first.
	closed := false
	for token, s := range r.sent {
		closed = closed || s.text == closing && saw(token)
	}
	for token, s := range r.sent {
		if !s.accepted {
			continue
		}
		r.f.n["messages accepted"]++
		switch {
		case saw(token):
			r.f.n["seen by their session"]++
		case strings.Contains(waiting, token) || s.text == closing && closed:
			r.f.n["still queued at the end"]++
		default:
			r.bad("lost", "lost: %q %s was accepted, and no session saw it", s.text, token)
		}
	}
}

var (
	envelopeID   = regexp.MustCompile(`⟦[^⟧\n]*\| id: ([^ |⟧]+)[^⟧\n]*⟧`)
	handOffBrief = regexp.MustCompile(`⟦[^⟧\n]*\| kind: inheritance[^⟧\n]*⟧`)
)

// fromHuman matches what comes before a word in an envelope of the human's: parts of it have marks of their own.
const fromHuman = `⟦[^⟧\n]*\| from: human[^⟧\n]*⟧(?:[^⟦]|⟦[^|⟧]*\| part \d+ of \d+\b[^⟧\n]*⟧)*`

// isFromHuman reports whether a token is in an envelope from the human. The supervisor quotes the human's
// messages to a new Arbiter, which is not a delivery.
func isFromHuman(incoming, token string) bool {
	return strings.Contains(incoming, token) &&
		regexp.MustCompile(fromHuman+regexp.QuoteMeta(token)).MatchString(incoming)
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
			if n > 1 {
				r.bad("doubled", "doubled: %s is %d times in the history of session %s (%s)", id, n, session, q.Role)
			}
		}
	}
	return seen
}

// isCompared reports whether an event is compared with the log, line by line: the events of documents and agents.
func isCompared(b contract.Body) bool {
	switch b.(type) {
	case contract.Check, contract.Handoff, contract.Merge, contract.Decision, contract.Spawn, contract.Delivered,
		contract.Message:
		return true
	}
	return false
}

// stillUnderWay returns the messages that were delivered to an Arbiter and after which no turn of it ended: the
// run ended before that, and its next process handles them.
func stillUnderWay(all []contract.Line) map[string]bool {
	open := map[string]bool{}
	for _, l := range all {
		switch b := l.Body.(type) {
		case contract.Delivered:
			if l.ID == contract.Arbiter {
				open[b.MessageID] = true
			}
		case contract.Turn:
			if l.ID == contract.Arbiter && (b.Outcome == bridge.TurnDone || b.Outcome == bridge.TurnInterrupted) {
				clear(open)
			}
		}
	}
	return open
}

// checkPrinted checks that the printed events are in the log, once and in order.
func (r *round) checkPrinted(lines []contract.Line) {
	at := 0
	for _, printed := range r.printed {
		want := sameness(printed)
		i := slices.IndexFunc(lines[at:], func(l contract.Line) bool { return sameness(l) == want })
		if i < 0 {
			r.bad("receipts unkept", "printed, and not in the log, or out of order: %.300s", want)
			return
		}
		at += i + 1
	}
}

func sameness(l contract.Line) string {
	raw, err := json.Marshal(l)
	return fmt.Sprint(string(raw), err)
}

// checkReceipts checks that the checks of a document are reported in order, each once, whatever is killed, and all of
// them; and that the document arrives with the reported receipts. An author may have two documents under way, and
// merged work is checked again: of each check, there are as many reports as of the one before it. Before the task is
// complete, the checks of all documents are repeated; a kill may cut that off.
func (r *round) checkReceipts(lines []contract.Line) {
	type check struct {
		author     string // none: a repetition
		of, number int
	}
	count, reported, ran := map[check]int{}, map[string]bool{}, map[string]bool{}
	key := func(author string, number int, c verdict.Receipt) string { return fmt.Sprint(author, number, c) }
	for _, l := range lines {
		switch b := l.Body.(type) {
		case contract.Check:
			r.f.n["checks run"]++
			c := check{l.ID, b.Of, b.Number}
			if b.Again {
				c = check{number: b.Number}
			}
			if count[c]++; b.Number > 1 && count[c] > count[check{c.author, c.of, b.Number - 1}] {
				r.bad("receipts unkept", "what comes before this check was not reported: %.400s", sameness(l))
			}
			reported[key(l.ID, b.Number, b.Receipt)] = true
			ran[l.ID] = ran[l.ID] || b.Number == b.Of && !b.Again
		case contract.Handoff:
			of := len(b.Receipts)
			kept := count[check{b.From, of, of}] > 0
			if of == 0 { // or a successor was named while they ran
				kept = len(b.Document.Checks) == 0 || b.GeneratedBecause != "" || !ran[b.From]
			}
			for n, c := range b.Receipts {
				kept = kept && reported[key(b.From, n+1, c)]
			}
			if !kept {
				r.bad("receipts unkept", "the document lacks the receipts that were reported: %.400s", sameness(l))
			}
			delete(ran, b.From)
		}
	}
	for c, n := range count {
		if c.number < c.of && count[check{c.author, c.of, c.number + 1}] < n {
			r.bad("receipts unkept", "a document by %s: %d of %d checks were reported", c.author, c.number, c.of)
		}
	}
}

// checkDocuments checks that each document that is passed on reaches its reader once, unless the log says that
// its message is still waiting, or that its reader was released. lost is the number of lost histories of the
// Arbiter.
func (r *round) checkDocuments(lines []contract.Line, records []supervisor.MessageRecord, requests []rehearsal.Request,
	lost int) {
	sessions := map[string][]string{} // of each agent
	for _, l := range lines {
		if s, ok := l.Body.(contract.Spawn); ok && !s.Resumed {
			sessions[l.ID] = append(sessions[l.ID], s.SessionID)
		}
	}
	status := map[string]string{}
	for _, m := range records {
		status[m.ID] = m.Status
	}
	for i, l := range lines {
		h, ok := l.Body.(contract.Handoff)
		if !ok || h.From == h.To {
			continue
		}
		r.f.n["documents passed on"]++
		at := slices.IndexFunc(lines[i+1:], func(l contract.Line) bool {
			m, ok := l.Body.(contract.Message)
			return ok && m.To == h.To &&
				(m.Kind == supervisor.KindBrief || m.Kind == verdict.KindDone && m.From == h.From)
		})
		if at < 0 {
			r.bad("documents undelivered", "no message carries the document: %.300s", sameness(l))
			continue
		}
		carrier := lines[i+1+at]
		m := carrier.Body.(contract.Message)
		// After a lost history it must be delivered again, or the next session reads it in the record with which it begins.
		again := len(sessions[h.To]) - 1
		if h.To == contract.Arbiter {
			again = lost
		}
		had := receivedBy(requests, m, carrier.Time, sessions[h.To])
		if len(had) > 0 && len(had) <= 1+again {
			continue
		}
		unread := h.To == contract.Arbiter && lost > 0 || status[m.MessageID] != supervisor.MessageDelivered ||
			endedAfter(lines[i:], h.To)
		if len(had) == 0 && unread {
			r.f.n["without a reader"]++
			continue
		}
		r.bad("documents undelivered", "the document of %s to %s was had by %d of its sessions, in message %s (%s)",
			h.From, h.To, len(had), m.MessageID, status[m.MessageID])
	}
}

// receivedBy returns those of an agent's sessions that received a message, which was accepted at that time: as a
// message of its own, or, once another decider has ruled on it, as an entry of the work log that a later message
// carries.
func receivedBy(requests []rehearsal.Request, m contract.Message, at time.Time, sessions []string) (had []string) {
	entry := fmt.Sprintf("| work log | from: %s | kind: %s | at: %s |", m.From, m.Kind, at.UTC().Format(time.RFC3339))
	for _, q := range requests {
		if slices.Contains(sessions, q.Session) && !slices.Contains(had, q.Session) &&
			(strings.Contains(q.Incoming, "| id: "+m.MessageID) || strings.Contains(q.Incoming, entry)) {
			had = append(had, q.Session)
		}
	}
	return had
}

// endedAfter reports whether an Orchestrator was not started again after it was released.
func endedAfter(lines []contract.Line, id string) bool {
	return id != contract.Arbiter && !slices.ContainsFunc(lines, func(l contract.Line) bool {
		s, ok := l.Body.(contract.Spawn)
		return ok && l.ID == id && s.Resumed
	})
}

// checkArbiters checks that there is one Arbiter at a time. Each of its sessions but the last wrote a document,
// or its history was lost. After that the session makes no call, and its successor receives the hand-off brief
// once. It returns the number of lost histories.
func (r *round) checkArbiters(lines []contract.Line, requests []rehearsal.Request) (lost int) {
	bad := func(format string, args ...any) {
		r.bad("Arbiters at the same time", format, args...)
	}
	var arbiters []string // session ids, in order
	inherits, afresh := map[string]bool{}, map[string]bool{}
	over := false  // the present one has handed off
	waits := false // the successor has not read the brief yet
	for _, l := range lines {
		if l.ID != contract.Arbiter {
			continue
		}
		switch b := l.Body.(type) {
		case contract.Spawn:
			if b.Resumed {
				continue
			}
			waits = waits || over // or the one before it has received nothing
			if inherits[b.SessionID] = waits; !waits && len(arbiters) > 0 {
				lost++
				afresh[b.SessionID] = true
			}
			arbiters, over = append(arbiters, b.SessionID), false
		case contract.Delivered:
			waits = false
		case contract.Decision:
			if b.Source != "session" {
				continue // decided in its name, not by its model
			}
			if over {
				bad("an Arbiter that had handed off decided %s", b.Decision)
			}
			over = b.Decision == verdict.Handoff
		case contract.Handoff:
			if b.From == contract.Arbiter {
				r.f.n["renewals of the Arbiter"]++
				over, waits = true, false // a generated document needs no decision
			}
		}
	}
	r.f.n["histories of it lost"] += lost
	last, latest := map[string]rehearsal.Request{}, -1 // of each session
	for _, q := range requests {
		if q.Role != rehearsal.RoleArbiter {
			continue
		}
		n := slices.Index(arbiters, q.Session)
		if n < latest {
			bad("Arbiter %d of %d asked its model after its successor had", n+1, len(arbiters))
		}
		latest, last[q.Session] = max(n, latest), q
	}
	first := map[string]string{} // the first session that received a message
	for n, session := range arbiters {
		q, asked := last[session]
		if afresh[session] {
			clear(first) // the lost history's messages must be delivered again
		}
		for _, found := range envelopeID.FindAllStringSubmatch(q.UserText(), -1) {
			id := found[1]
			if was := first[id]; was != "" && was != session {
				bad("message %s was given to Arbiter %d of %d, and to one before it", id, n+1, len(arbiters))
			}
			first[id] = session
		}
		had, want := len(handOffBrief.FindAllString(q.UserText(), -1)), b2i(inherits[session])
		if asked && had != want && !(afresh[session] && had == 1) {
			bad("Arbiter %d of %d received the hand-off brief %d times, want %d", n+1, len(arbiters), had, want)
		}
	}
	return lost
}

// checkPermissions checks the whole log: each permission request was answered, by the process that opened it or by a
// later one, because a process may be killed before the agent is back that asks again; and nothing follows a result.
func (r *round) checkPermissions(all []contract.Line) {
	open, over := map[string]string{}, false
	for i, l := range all {
		if _, begins := l.Body.(contract.Session); over && !begins {
			r.fail("after the result: %.300s", sameness(l))
		}
		over = false
		switch b := l.Body.(type) {
		case contract.Result:
			over = true
		case contract.PermissionRequest:
			open[b.Request] = fmt.Sprintf("%s by %s", b.Tool, l.ID)
		case contract.Permission:
			delete(open, b.Request)
		}
		if len(open) > 0 && (over || i+1 == len(all)) {
			r.fail("at the end these requests had no answer: %v", open)
			clear(open)
		}
	}
}
