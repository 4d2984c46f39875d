package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
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
		// A CLI whose bridge was just killed lacks our tools; its answer goes nowhere.
		if !strings.Contains(p, "no actor fits") {
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

// isCompared reports whether an event is compared with the log, line by line: the events of documents and agents.
func isCompared(b contract.Body) bool {
	switch b.(type) {
	case contract.Check, contract.Handoff, contract.Merge, contract.Decision, contract.Spawn, contract.Delivered,
		contract.Message:
		return true
	}
	return false
}

// checkRecords checks the documents of a run in its log, which `arbiter replay` prints: the events of all
// processes, both those that were printed and those that were only recorded before a kill. A log with flipped
// bits proves nothing.
func (r *round) checkRecords(requests []rehearsal.Request) {
	if r.run == "" || r.flipped {
		return
	}
	all := r.readRecords()
	var lines []contract.Line
	for _, l := range all {
		if isCompared(l.Body) {
			lines = append(lines, l)
		}
	}
	if !r.blurred {
		r.checkPrinted(lines)
	}
	r.checkPermissions(all)
	r.checkUserHooks(all)
	r.checkMakes(all)
	r.checkReceipts(lines)
	r.checkNumbers(lines)
	lost := r.checkArbiters(lines, requests)
	r.checkDocuments(lines, requests, lost)
}

// readRecords returns the lines of all processes, as `arbiter replay` prints them.
func (r *round) readRecords() (all []contract.Line) {
	out, errs, code := r.command(nil, "replay", r.run)
	if code != 0 {
		r.fail("replay: %d: %s", code, errs)
	}
	for line := range strings.Lines(out) {
		l, err := contract.DecodeLine([]byte(line))
		if err != nil {
			r.fail("replay: %v: %s", err, line)
			return nil
		}
		all = append(all, l)
	}
	return all
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

// checkNumbers checks that decisions are numbered consecutively over all processes.
func (r *round) checkNumbers(lines []contract.Line) {
	n := 0
	for _, l := range lines {
		if b, ok := l.Body.(contract.Decision); ok {
			if n++; b.Number != n {
				r.bad("receipts unkept", "decision %d has number %d: %.300s", n, b.Number, sameness(l))
				return
			}
		}
	}
}

// checkReceipts checks that the checks of a document are reported in order, each once, whatever is killed; that
// the document follows the last one; and that it arrives with the reported receipts. An author may have two
// documents under way: then the second waits for the first. Before the task is complete, the checks of all
// documents are repeated, one after the other.
func (r *round) checkReceipts(lines []contract.Line) {
	type document struct {
		author   string
		receipts []verdict.Receipt
		of       int
	}
	var running, complete []document
	reported := map[string]int{} // each receipt with its author and number: checks of two documents may alternate
	key := func(author string, number int, c verdict.Receipt) string { return fmt.Sprint(author, number, c) }
	again := 0 // how many checks of the current repetition were reported
	bad := func(l contract.Line, why string) {
		r.bad("receipts unkept", "%s: %.400s", why, sameness(l))
	}
	for i, l := range lines {
		switch b := l.Body.(type) {
		case contract.Check:
			r.f.n["checks run"]++
			if b.Again {
				if b.Number != again+1 && b.Number != 1 {
					bad(l, "what comes before this check was not reported")
				}
				again = b.Number
				continue
			}
			n := slices.IndexFunc(running, func(p document) bool {
				return p.author == l.ID && p.of == b.Of && len(p.receipts) == b.Number-1
			})
			if n < 0 {
				if n = len(running); b.Number != 1 {
					bad(l, "what comes before this check was not reported")
				}
				running = append(running, document{l.ID, make([]verdict.Receipt, b.Number-1), b.Of})
			}
			running[n].receipts = append(running[n].receipts, b.Receipt)
			reported[key(l.ID, b.Number, b.Receipt)]++
			if b.Number < b.Of {
				continue
			}
			later := lines[i+1:]
			at := slices.IndexFunc(later, func(next contract.Line) bool {
				name := next.Body.EventName()
				return next.ID == l.ID && (name == "handoff" || name == "merge")
			})
			// Merged work is checked again, and those receipts count. The run may complete before the merge.
			if at < 0 && (r.is[isolated] || r.is[hosted]) || at >= 0 && later[at].Body.EventName() == "merge" {
				running = slices.Delete(running, n, n+1)
				continue
			}
			complete, running = append(complete, running[n]), slices.Delete(running, n, n+1)
			waits := slices.ContainsFunc(running, func(p document) bool { return p.author == l.ID })
			if !waits && (i+1 == len(lines) || !isForwarded(lines[i+1], l.ID)) {
				bad(l, "the last check is not followed by the document")
			}
		case contract.Handoff:
			if len(b.Receipts) == 0 && (len(b.Document.Checks) == 0 || b.GeneratedBecause != "") {
				continue
			}
			theirs := func(p document) bool { return p.author == b.From }
			if len(b.Receipts) == 0 && !slices.ContainsFunc(complete, theirs) {
				continue // a successor was named while they ran
			}
			kept := slices.ContainsFunc(complete,
				func(p document) bool { return theirs(p) && len(p.receipts) == len(b.Receipts) })
			for n, c := range b.Receipts {
				kept = kept && reported[key(b.From, n+1, c)] > 0
			}
			if !kept {
				bad(l, "the document lacks the receipts that were reported")
			}
		}
	}
	for _, p := range running {
		r.bad("receipts unkept", "of a document by %s %d of %d checks were reported, and no more: %v",
			p.author, len(p.receipts), p.of, p.receipts)
	}
}

// isForwarded reports whether an event passes on a document by from.
func isForwarded(l contract.Line, from string) bool {
	h, isHandoff := l.Body.(contract.Handoff)
	m, isMessage := l.Body.(contract.Message)
	return isHandoff && h.From == from || isMessage && m.From == from && m.Kind == verdict.KindHandoff
}

// checkDocuments checks that each document that is passed on reaches its reader once, unless the log says that
// its message is still waiting, or that its reader was released. lost is the number of lost histories of the
// Arbiter.
func (r *round) checkDocuments(lines []contract.Line, requests []rehearsal.Request, lost int) {
	sessions, names := map[string][]string{}, map[string]string{} // of each agent
	for _, l := range lines {
		if s, ok := l.Body.(contract.Spawn); ok {
			if names[l.ID] = s.Name; !s.Resumed {
				sessions[l.ID] = append(sessions[l.ID], s.SessionID)
			}
		}
	}
	var status map[string]string
	for i, l := range lines {
		h, ok := l.Body.(contract.Handoff)
		if !ok || h.From == h.To {
			continue
		}
		r.f.n["documents passed on"]++
		at := slices.IndexFunc(lines[i+1:], func(l contract.Line) bool {
			m, ok := l.Body.(contract.Message)
			return ok && m.To == h.To && (m.Kind == supervisor.KindBrief || m.Kind == verdict.KindDone && m.From == h.From)
		})
		if at < 0 {
			r.bad("documents undelivered", "no message carries the document: %.300s", sameness(l))
			continue
		}
		carrier := lines[i+1+at]
		m := carrier.Body.(contract.Message)
		again := len(sessions[h.To]) - 1 // after a lost history it must be delivered again
		if h.To == contract.Arbiter {
			again = lost
		}
		author := ""
		if lost > 0 {
			author = names[m.From]
		}
		had := receivedBy(requests, m, carrier.Time, sessions[h.To], author)
		if len(had) > 0 && len(had) <= 1+again {
			continue
		}
		if status == nil {
			status = map[string]string{}
			for _, m := range r.messages() {
				status[m.ID] = m.Status
			}
		}
		if len(had) == 0 && (status[m.MessageID] != supervisor.MessageDelivered || endedAfter(lines[i:], h.To)) {
			r.f.n["without a reader"]++
			continue
		}
		r.bad("documents undelivered", "the document of %s to %s was had by %d of its sessions, in message %s (%s)",
			h.From, h.To, len(had), m.MessageID, status[m.MessageID])
	}
}

// receivedBy returns those of an agent's sessions that received a message, which was accepted at that time: as a
// message of its own, or, once another decider has ruled on it, as an entry of the work log that a later message
// carries. If the agent's history was lost before that, author is the name of who wrote the message: the record with
// which the next session begins quotes it.
func receivedBy(
	requests []rehearsal.Request, m contract.Message, at time.Time, sessions []string, author string,
) []string {
	those := func(texts ...string) (had []string) {
		for _, q := range requests {
			if slices.Contains(sessions, q.Session) && !slices.Contains(had, q.Session) &&
				slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(q.Incoming, text) }) {
				had = append(had, q.Session)
			}
		}
		return had
	}
	had := those("| id: "+m.MessageID, fmt.Sprintf("| work log | from: %s | kind: %s | at: %s |", m.From, m.Kind,
		at.UTC().Format(time.RFC3339)))
	if len(had) == 0 && author != "" {
		had = those(fmt.Sprintf("%s to the Arbiter (%s):\n| %s\n", author, m.Kind,
			strings.ReplaceAll(m.Text, "\n", "\n| ")))
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

var handOffBrief = regexp.MustCompile(`⟦[^⟧\n]*\| kind: inheritance[^⟧\n]*⟧`)

// checkArbiters checks that there is one Arbiter at a time. Each of its sessions but the last wrote a document,
// or its history was lost. After that the session makes no call, and its successor receives the hand-off brief
// once. It returns the number of lost histories.
func (r *round) checkArbiters(lines []contract.Line, requests []rehearsal.Request) (lost int) {
	bad := func(format string, args ...any) {
		r.bad("Arbiters at the same time", format, args...)
	}
	var arbiters []string // session ids, in order
	successors, lostBefore, decided := map[string]bool{}, map[string]bool{}, map[string]bool{}
	over := false  // the present one has handed off
	waits := false // the successor has not read the brief yet
	renewed, unheard := 0, 0
	for _, l := range lines {
		if l.ID != contract.Arbiter {
			continue
		}
		switch b := l.Body.(type) {
		case contract.Spawn:
			switch {
			case b.Resumed:
				continue
			case over:
				successors[b.SessionID], waits = true, true
			case waits: // the one before it has received nothing
				successors[b.SessionID] = true
				unheard++
			case len(arbiters) > 0:
				lost++
				lostBefore[b.SessionID] = true
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
			decided[arbiters[len(arbiters)-1]] = true
			over = b.Decision == verdict.Handoff
		case contract.Handoff:
			if b.From == contract.Arbiter {
				renewed++
				over = true // a generated document needs no decision
				if waits {  // begun afresh while the document was checked
					unheard, waits = unheard+1, false
				}
			}
		}
	}
	r.f.n["renewals of the Arbiter"] += renewed
	r.f.n["histories of it lost"] += lost
	if made := len(successors) - unheard; renewed != made && !(over && renewed == made+1) { // or the run ends first
		bad("%d renewals of the Arbiter made %d successors", renewed, made)
	}
	last := r.checkOrder(requests, arbiters)
	first := map[string]string{} // the first session that received a message
	for n, session := range arbiters {
		q, asked := last[session]
		if decided[session] && !asked {
			bad("Arbiter %d of %d decided, and never asked its model", n+1, len(arbiters))
		}
		if lostBefore[session] {
			clear(first) // the lost history's messages must be delivered again
		}
		had := len(handOffBrief.FindAllString(q.UserText(), -1))
		for _, found := range envelopeID.FindAllStringSubmatch(q.UserText(), -1) {
			id := found[1]
			if was := first[id]; was != "" && was != session && r.refuse == nil {
				bad("message %s was given to Arbiter %d of %d, and to one before it", id, n+1, len(arbiters))
			}
			first[id] = session
		}
		if want := b2i(successors[session]); r.refuse == nil && asked && had != want && !(lostBefore[session] && had == 1) {
			bad("Arbiter %d of %d received the hand-off brief %d times, want %d", n+1, len(arbiters), had, want)
		}
	}
	return lost
}

// checkOrder checks that no Arbiter makes a model request after its successor did, and returns the last request
// of each session.
func (r *round) checkOrder(requests []rehearsal.Request, arbiters []string) map[string]rehearsal.Request {
	last, latest := map[string]rehearsal.Request{}, -1
	for _, q := range requests {
		if q.Role != rehearsal.RoleArbiter {
			continue
		}
		n := slices.Index(arbiters, q.Session)
		if n < latest {
			r.bad("Arbiters at the same time", "Arbiter %d of %d asked its model after its successor had", n+1,
				len(arbiters))
		}
		latest, last[q.Session] = max(n, latest), q
	}
	return last
}

// checkPermissions checks the whole log: each permission request was answered, by the process that opened it or by a
// later one, because a process may be killed before the agent is back that asks again; no released agent was started
// again in the same process; and nothing follows a result.
func (r *round) checkPermissions(all []contract.Line) {
	open, ended := map[string]string{}, map[string]string{}
	over := false
	unanswered := func(when string) {
		if len(open) > 0 {
			r.fail("%s, these requests had no answer: %v", when, open)
		}
		clear(open)
	}
	for _, l := range all {
		if _, begins := l.Body.(contract.Session); over && !begins {
			r.fail("after the result: %.300s", sameness(l))
		}
		switch b := l.Body.(type) {
		case contract.Session:
			clear(ended)
			over = false
		case contract.Result:
			over = true
			unanswered("at the end of the run")
		case contract.PermissionRequest:
			open[b.Request] = fmt.Sprintf("%s by %s", b.Tool, l.ID)
		case contract.Permission:
			delete(open, b.Request)
		case contract.Done:
			if slices.Contains(goodbyes, b.Reason) {
				ended[l.ID] = b.Reason
			}
		case contract.Spawn:
			if why := ended[l.ID]; why != "" {
				r.fail("%s was let go (%s), and is started again", l.ID, why)
			}
		}
	}
	unanswered("at the end of the log")
}

// goodbyes are some of the reasons after which an agent is not started again.
var goodbyes = []string{"All is woven.", "killed by the human", "its work is done"}
