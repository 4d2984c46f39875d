package supervisor

// This part of the package holds the hand-off documents of a run, and the proofs of their checks.
//
// A document comes from an Orchestrator, or the supervisor generates it ([State.generateHandoff]). It waits in
// [HandoffState.Documents] while its checks run, in the order of its author's documents, and then goes to the Arbiter.
// The document of an Orchestrator that hands off also waits in the successor queue for the next Orchestrator.
// The receipts of all checks of a task are kept as proofs: the checks run again before the task is complete.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// DocumentText renders a document for a model.
func DocumentText(d *verdict.Document, receipts []verdict.Receipt, generatedBecause string) string {
	text := d.Proven(receipts)
	if generatedBecause != "" {
		return "# Record, written by the supervisor\n\n" + text
	}
	return text
}

// successorText is a document as a successor receives it.
func successorText(old *Agent) string {
	text := "This is its author's claim. "
	switch {
	case old.GeneratedWhy != "":
		text = "Its author could not hand off. "
	case len(old.Receipts) > 0:
		text = "This is its author's claim; the supervisor added the results of the checks. "
	}
	if old.GeneratedWhy == "" {
		text += "Check what you build on, and ask its author with ask_predecessor while it is there.\n\n"
	}
	text += "Change nothing yet. First compare the document with the files. Then say how you understood it, with kind " +
		"question: what holds, what was rejected, what comes next. Begin when the Arbiter has answered.\n\n"
	return text + DocumentText(old.Document, old.Receipts, old.GeneratedWhy)
}

// ForArbiter returns what the Arbiter reads with a document: the author's message, and attachments that the
// author did not write. A generated document still quotes the agent that it is about.
func ForArbiter(h Handover) (string, []EnvelopePart) {
	document := DocumentText(h.Document, h.Receipts, h.Why)
	if h.Kind == KindDone || h.Kind == KindHandoff {
		checks := strings.TrimSpace(tallyOf(h) + " " + mergeOf(h))
		return strings.TrimSpace(h.Message + "\n\n" + document), partOf("checks", checks)
	}
	return h.Message, append([]EnvelopePart{{Title: "record", From: contract.Supervisor, Kind: "document",
		Text: strings.TrimSpace(document)}}, partOf("checks", tallyOf(h))...)
}

// tallyOf is what the supervisor says about a document's checks.
func tallyOf(h Handover) string {
	if h.Why != "" || len(h.Document.Checks) == 0 {
		return ""
	}
	passed, failed, open := h.Document.Tally(h.Receipts)
	return fmt.Sprintf("The supervisor ran the %d checks of the document: %d passed, %d failed, %d unrun or unclear. "+
		"The marks PASSED, FAILED, VERIFIED and REFUTED are its own; all else in the document is its author's claim.",
		len(h.Document.Checks), passed, failed, open)
}

// mergeOf is what the supervisor says about where the author's work is.
func mergeOf(h Handover) string {
	switch {
	case h.Merged == nil:
		return ""
	case h.Merged.Merged:
		return "The work is merged, and the checks ran on the merged files."
	}
	return "The work is NOT merged: " + h.Merged.Why + ". Tell its author or a successor to fix that and to report done " +
		"again, or go on without the work."
}

// partOf is a part of a message that the supervisor adds.
func partOf(title, text string) []EnvelopePart {
	if text == "" {
		return nil
	}
	return []EnvelopePart{{Title: title, From: contract.Supervisor, Text: text, Trusted: true}}
}

// Event is the event that a document is passed on.
func (h *Handover) Event(from, to string) contract.Handoff {
	return contract.Handoff{
		From: from, To: to, Document: h.Document, Receipts: h.Receipts, Proofs: h.Document.Proofs(h.Receipts),
		GeneratedBecause: h.Why,
	}
}

// ArbiterRecord is the document of an Arbiter that could not give one. Other information for its successor is
// added to every document.
func ArbiterRecord(why string, plan []contract.Step, question string) *verdict.Document {
	d := &verdict.Document{
		KeyContext: "The Arbiter before you could not write a document: " + why +
			". Only its messages and decisions are known.",
	}
	for i, step := range plan {
		text := fmt.Sprintf("step %d of the plan: %s", i+1, step.Text)
		switch step.Status {
		case contract.StepDone:
			d.Accomplished = append(d.Accomplished, text)
		case contract.StepPending, contract.StepActive, contract.StepFailed:
			d.Remaining = append(d.Remaining, text+" ("+step.Status+")")
		}
	}
	if question != "" {
		d.OpenQuestions = append(d.OpenQuestions, question)
	}
	d.Normalize()
	return d
}

// noText stands for an empty text in what a model reads.
const noText = "(nothing)"

// MaxProofs is how many proofs are kept, the latest ones: each check runs again before the task is complete.
const MaxProofs = 50

// leftKept bounds what is kept of one thing that a document leaves open, in bytes.
const leftKept = 200

// MaxFiles is how many files of a document are kept with its checks.
const MaxFiles = 50

// Prove records the checks of a document. They replace checks that failed in an earlier document of the same
// author. mode is the author's; files are those that the document names.
func (s *HandoffState) Prove(h Handover, mode string, files []string) {
	files = files[:min(len(files), MaxFiles)]
	proofs := slices.DeleteFunc(slices.Clone(s.Proofs), func(p Proved) bool {
		return p.Author.ID == h.Agent.ID && p.Receipt.Result == verdict.CheckFailed ||
			slices.Contains(h.Document.Checks, p.Check)
	})
	for i := range proofs {
		proofs[i].Reported = false
	}
	for i, c := range h.Document.Checks {
		r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun,
			Why: "it was not run"}
		if i < len(h.Receipts) {
			r = h.Receipts[i]
		}
		if slices.ContainsFunc(proofs, func(p Proved) bool { return p.Check == c }) {
			continue // the document contains it twice
		}
		proofs = append(proofs,
			Proved{Author: h.Agent, Mode: mode, Check: c, Files: files, Receipt: r,
				Held: r.Result == verdict.CheckPassed})
	}
	for n := len(proofs) - MaxProofs; n > 0; n-- {
		s.EarlierProofs.count(proofs[0].Receipt)
		proofs = proofs[1:]
	}
	s.Proofs = proofs
}

// count adds a receipt to a tally.
func (p *Proof) count(r verdict.Receipt) {
	switch r.Result {
	case verdict.CheckPassed:
		p.Passed++
	case verdict.CheckFailed:
		p.Failed++
	default:
		p.Open++
	}
}

// ForgetProofs drops all proofs: another task begins.
func (s *HandoffState) ForgetProofs() {
	s.EarlierProofs, s.Proofs, s.CompletionsSentBack, s.Completing = Proof{}, nil, 0, nil
	s.LastDocument, s.FilesListed, s.PointsTold = LastDocument{}, nil, nil
}

// text describes a check that failed.
func (p *Proved) text() string {
	return fmt.Sprintf("%s: `%s`: %s", p.Author.ID, words.Head(words.FirstLine(p.Check.Command), 200),
		words.Head(p.Receipt.Why, 200)) + p.changedText()
}

// changedText is the end of a sentence that says who changed the files last; empty: not known.
func (p *Proved) changedText() string {
	if p.Changed == "" {
		return ""
	}
	return "; " + p.Changed
}

func (s *HandoffState) proofsThat(are func(*Proved) bool) []string {
	var list []string
	for i := range s.Proofs {
		if p := &s.Proofs[i]; are(p) {
			list = append(list, p.text())
		}
	}
	return list
}

// ChecksRun counts the results of the checks; nil: there were none.
func (s *HandoffState) ChecksRun() *contract.Checks {
	sum := s.EarlierProofs
	for _, p := range s.Proofs {
		sum.count(p.Receipt)
	}
	if sum.Passed+sum.Failed+sum.Open == 0 {
		return nil
	}
	return &contract.Checks{Passed: sum.Passed, Failed: sum.Failed, Unproven: sum.Open}
}

// Proof returns the record of a check.
func (s *HandoffState) Proof(check verdict.Check) (Proved, bool) {
	i := slices.IndexFunc(s.Proofs, func(p Proved) bool { return p.Check == check })
	if i < 0 {
		return Proved{}, false
	}
	return s.Proofs[i], true
}

// Repeated records the results of repeated checks. changed says who changed the files of a failed one; empty:
// not known.
func (s *HandoffState) Repeated(h Handover, changed func(Proved) string) {
	s.Proofs = slices.Clone(s.Proofs)
	for i, check := range h.Document.Checks {
		if n := slices.IndexFunc(s.Proofs, func(p Proved) bool { return p.Check == check }); n >= 0 &&
			i < len(h.Receipts) {
			p := &s.Proofs[n]
			before := p.Receipt.Before
			p.Receipt, p.Held = h.Receipts[i], p.Held || h.Receipts[i].Result == verdict.CheckPassed
			if p.Receipt.Result == verdict.CheckPassed {
				p.Receipt.Before = before
			}
			if p.Changed = ""; p.Receipt.Result == verdict.CheckFailed {
				p.Changed = changed(*p)
			}
		}
	}
}

// ReportBroken marks the checks that no longer hold as reported, and reports whether one of them was not reported
// before. A check that never held was reported with its document.
func (s *HandoffState) ReportBroken() (news bool) {
	s.Proofs = slices.Clone(s.Proofs)
	for i := range s.Proofs {
		if p := &s.Proofs[i]; p.Broken() {
			news = news || !p.Reported
			p.Reported = true
		}
	}
	return news
}

// ToRepeat returns the checks that run again before the task is complete, with the author of each. A check that
// was not permitted is not requested again.
func (s *HandoffState) ToRepeat() (checks []verdict.Check, authors []bridge.AgentRef) {
	for _, p := range s.Proofs {
		if p.Receipt.Result != verdict.CheckUnrun {
			checks, authors = append(checks, p.Check), append(authors, p.Author)
		}
	}
	return checks, authors
}

// listDocument keeps what a document of the task leaves open, and which files it names.
func (s *HandoffState) listDocument(h Handover, files []string) {
	s.LastDocument = LastDocument{Agent: h.Agent.ID, Serial: h.Serial}
	for _, left := range [][]string{h.Document.Remaining, h.Document.OpenQuestions} {
		for _, text := range left[:min(len(left), MaxFiles)] {
			s.LastDocument.Left = append(s.LastDocument.Left, words.Head(text, leftKept))
		}
	}
	if h.Merged != nil && !h.Merged.Merged {
		s.LastDocument.Unmerged = h.Merged.Why
	}
	s.FilesListed = slices.Clip(s.FilesListed)
	for _, name := range files {
		if len(s.FilesListed) < MaxFiles*MaxProofs && !slices.Contains(s.FilesListed, name) {
			s.FilesListed = append(s.FilesListed, name)
		}
	}
}

// failedKind is the kind of the open point that checks failed: another document may fail others.
func (s *HandoffState) failedKind() string { return fmt.Sprint("failed ", s.LastDocument.Serial) }

// FailedChecks are the checks for which a COMPLETE was sent back, as deciders see them.
func (s *HandoffState) FailedChecks() []decider.DecisionCheck {
	var list []decider.DecisionCheck
	for _, p := range s.Proofs {
		if p.Reported && p.Broken() {
			c := decider.Ran(p.Check, p.Receipt)
			c.Agent, c.Why = p.Mode, c.Why+p.changedText()
			list = append(list, c)
		}
	}
	return list
}

// LastChange is the last change of the files of a check: of those that its document names, or if it names none,
// of those that its author changed.
func (p *Proved) LastChange(c *input.ChangeState) input.LastChange {
	return c.LastChange(func(f input.ChangeFile) bool {
		if len(p.Files) == 0 {
			return slices.Contains(f.Known(), p.Author.ID)
		}
		return slices.ContainsFunc(p.Files, func(name string) bool { return covers(name, f.Path) })
	})
}

// covers reports whether a name in a document is a file, or a directory above it.
func covers(name, file string) bool { return name == file || strings.HasPrefix(file, name+"/") }

// LastChangeText says who changed the files of a check last; empty: not known.
func (p *Proved) LastChangeText(s *input.ChangeState) string {
	c := p.LastChange(s)
	if c.Agent == "" {
		return ""
	}
	names := make([]string, len(c.Files))
	for i, name := range c.Files {
		names[i] = words.Head(name, 200)
	}
	return fmt.Sprintf("%s was the last to change its files (%s)", c.Agent, strings.Join(names, ", "))
}

// IsDue reports whether a document is being processed that the Arbiter or a successor will read, or a COMPLETE
// is being judged.
func (s *HandoffState) IsDue() bool {
	return s.Completing != nil || slices.ContainsFunc(s.Documents, func(h Handover) bool {
		return h.Kind != KindReleased
	})
}

// ReportIsDue reports whether a document for the Arbiter is being processed.
func (s *HandoffState) ReportIsDue() bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Kind != KindReleased && !h.Completes() })
}

// IsCheck reports whether a permission request is for a running check.
func (s *HandoffState) IsCheck(request string) bool {
	return slices.ContainsFunc(s.Documents, func(h Handover) bool { return h.Request != "" && h.Request == request })
}

// Edit returns a document that is being processed for writing, or nil.
func (s *HandoffState) Edit(serial int) *Handover {
	i := slices.IndexFunc(s.Documents, func(h Handover) bool { return h.Serial == serial })
	if i < 0 {
		return nil
	}
	s.Documents = slices.Clone(s.Documents)
	return &s.Documents[i]
}

// Add queues a document and returns its serial.
func (s *HandoffState) Add(h Handover) int {
	s.DocumentSerial++
	h.Serial = s.DocumentSerial
	s.Documents = append(slices.Clone(s.Documents), h)
	return h.Serial
}

// Ready returns the serial of an author's oldest document whose checks have all run, given the time limit of a
// check; 0: there is none.
func (s *HandoffState) Ready(author string, timeout time.Duration) int {
	for i := range s.Documents {
		if h := &s.Documents[i]; h.Agent.ID == author && h.Document != nil && len(h.Receipts) >= h.ChecksOf(timeout) {
			return h.Serial
		}
	}
	return 0
}

// Remove removes documents from the queue, and returns them.
func (s *HandoffState) Remove(unwanted func(*Handover) bool) (removed []Handover) {
	removed, s.Documents = parted(s.Documents, func(h Handover) bool { return unwanted(&h) })
	return removed
}

// ChecksOf is how many checks of a document run, given the time limit of a check.
func (h *Handover) ChecksOf(timeout time.Duration) int {
	switch {
	case h.Why != "" || timeout <= 0 && h.Kind != KindAccept:
		return 0
	case h.Completes():
		return len(h.Document.Checks)
	}
	return min(len(h.Document.Checks), MaxChecks)
}

// Completes reports whether the checks decide whether a COMPLETE takes effect.
func (h *Handover) Completes() bool { return h.Kind == KindRepeated || h.Kind == KindAccept }

// MaxDuration bounds the processing of a document, because the work waits for it. A repetition gets this time for
// every ten checks.
func (h *Handover) MaxDuration() time.Duration {
	switch h.Kind {
	case KindAccept: // each command has its own time limit
		return AcceptTimeout * time.Duration(1+len(h.Document.Checks))
	case KindRepeated:
	default:
		return HandoverPatience
	}
	return HandoverPatience * time.Duration(1+len(h.Document.Checks)/MaxChecks)
}

// HandoffTimerPrefix begins the key of the timer for a document; its serial follows.
const HandoffTimerPrefix = "handover/"

const (
	// MaxChecks is how many checks of one document run; a hand-off must not become a test plan.
	MaxChecks = 10
	// AcceptTimeout bounds the command of one acceptance criterion, which may be a test suite.
	AcceptTimeout = 30 * time.Minute
	// HandoverPatience bounds the processing of a document, because the work waits for it.
	HandoverPatience = 10 * time.Minute
)

// Host is the host on which the checks of a document run: its author's, and this one where the work was merged.
func (h *Handover) Host(r *Roster) string {
	if h.Completes() || h.Merged != nil && h.Merged.Merged {
		return ""
	}
	return r.HostOf(h.Agent.ID)
}

// NextHost is the host of the next step for a document.
func (h *Handover) NextHost(r *Roster) string {
	if h.Document == nil {
		return r.HostOf(h.Agent.ID)
	}
	return h.Host(r)
}

// MustMerge reports whether a document waits for its author's work to be merged.
func (h *Handover) MustMerge(r *Roster) bool {
	a, ok := r.Agent(h.Agent.ID)
	return ok && h.Kind == KindDone && h.Merged == nil && a.Isolation != ""
}

// Timeout bounds one check of a document; timeout is the run's limit for a check.
func (h *Handover) Timeout(timeout time.Duration) time.Duration {
	if h.Kind == KindAccept {
		return AcceptTimeout
	}
	return timeout
}

// Author is the author of the nth check of a document, counted from 0.
func (h *Handover) Author(r *Roster, n int) bridge.AgentRef {
	if n >= len(h.Authors) {
		return h.Agent
	}
	if a, ok := r.Agent(h.Authors[n].ID); ok {
		return a.AgentRef
	}
	return h.Authors[n]
}

// receiptOutput is how much of a check's output its receipt quotes, in bytes.
const receiptOutput = 1000

// Receipt is the receipt of a run of a check. failed says why it was not run.
func Receipt(c verdict.Check, x bridge.CheckResult, failed string) verdict.Receipt {
	r := verdict.Receipt{Command: c.Command, Expect: c.Expect, Exit: -1, Result: verdict.CheckUnrun, Why: failed}
	if failed != "" {
		return r
	}
	r.Exit, r.SHA256, r.Bytes, r.DurationMS = x.Exit, x.SHA256, x.Bytes, x.DurationMS
	r.Output = words.Tail(x.Output, receiptOutput)
	switch {
	case x.TimedOut:
		r.Result, r.Why = verdict.CheckUnrun, "it was ended: out of time"
	case x.Signal != "":
		r.Result, r.Why = verdict.CheckFailed, "signal: "+x.Signal
	default:
		r.Result, r.Why = verdict.Outcome{Exit: x.Exit, Output: x.Output, Bytes: x.Bytes}.Meets(c.Expect)
	}
	return r
}

// HandoffState holds the hand-off documents of a run, and the proofs of their checks.
type HandoffState struct {
	SuccessorQueue      []string    // the Orchestrators whose documents wait for a successor, oldest first
	Documents           []Handover  // documents that are being processed, oldest first
	DocumentSerial      int         // of the last of them
	Proofs              []Proved    // the checks of the task's documents, oldest first
	EarlierProofs       Proof       // of the checks before those
	Completing          *Completing // a COMPLETE that waits for the checks to be repeated
	CompletionsSentBack int         // how often one was sent back because of them
	LastDocument        LastDocument
	FilesListed         []string `json:",omitempty"` // by the documents of the task, below the top of the work tree
	PointsTold          []string `json:",omitempty"` // kinds of open points that a COMPLETE was sent back for
	Merges              input.IsolationState
	WaitingQuestions    []HandoffAsked // questions to a predecessor that is being restarted
}

// Proof counts the results of checks.
type Proof struct {
	Passed, Failed, Open int
}

// HandoffAsked is a side question that waits until the agent it is for is running again.
type HandoffAsked struct {
	Call     string          // of ask_predecessor
	By       bridge.AgentRef // the process that asked
	Of       string
	Question string
}

// Handover is a document that is being processed, between its author and its readers. Meanwhile the supervisor
// runs its checks. If the author can no longer write it, the supervisor does.
type Handover struct {
	Serial   int             // identifies it among all of the run
	Agent    bridge.AgentRef // the agent whose work it is about
	Kind     HandoffKind
	Message  string                  // is sent with it
	Why      string                  // why the supervisor generates it; empty: the author gave it
	Document *verdict.Document       // nil until it is generated
	Receipts []verdict.Receipt       // of its checks so far
	Request  string                  // the running check, as a permission request
	Earlier  bool                    // the last receipt's check runs once more, on the files as they were before the work
	Taken    bool                    // meanwhile a successor was spawned, or its author went on
	Authors  []bridge.AgentRef       `json:",omitempty"` // of KindRepeated: the author of each check
	Merged   *input.IsolationOutcome `json:",omitempty"` // of KindDone, of an author with a directory of its own
}

// HandoffKind says what happens to a document.
type HandoffKind string

const (
	KindDone           HandoffKind = "done"    // to the Arbiter, with the Orchestrator's `done`
	KindHandoff        HandoffKind = "handoff" // to the Arbiter, and to the next Orchestrator spawned
	KindGone           HandoffKind = "gone"    // the same, for an agent that can answer no more
	KindReleased       HandoffKind = "left"    // into the work log: the agent was released before its work was done
	KindKilled         HandoffKind = "killed"  // to the Arbiter: the human ended it
	HandoffKindRenewal HandoffKind = "renew"   // from one Arbiter to the next
	KindAccept         HandoffKind = "accept"  // has no reader: the commands of acceptance criteria, before COMPLETE
	KindRepeated       HandoffKind = "final"   // has no reader: the checks of all documents, repeated before COMPLETE
)

// Completing is a COMPLETE whose checks are being repeated.
type Completing struct {
	Ruling verdict.Arbiter
	Asked  string // the open question to the human when it was decided; empty: none
	Waits  bool   // the checks are repeated once the file changes of the last turns are recorded
}

// LastDocument is what the last document of the task leaves open.
type LastDocument struct {
	Agent    string
	Serial   int
	Left     []string `json:",omitempty"` // work and questions
	Unmerged string   `json:",omitempty"` // why its work is not merged; empty: it is, or its author has no own directory
}

// Proved is a check of a document of the task, with its last result.
type Proved struct {
	Author   bridge.AgentRef
	Mode     string
	Check    verdict.Check
	Files    []string `json:",omitempty"` // that the document names, below the top of the work tree; MaxFiles at most
	Receipt  verdict.Receipt
	Changed  string `json:",omitempty"` // of one that failed when repeated: says who changed its files last
	Held     bool   // it has passed once
	Reported bool   // it failed, and the decider was told since the last document
}

// Broken reports whether it held once and no longer does.
func (p *Proved) Broken() bool { return p.Held && p.Receipt.Result == verdict.CheckFailed }

// NextPredecessor is the agent whose document the next Orchestrator receives; empty: none.
func (s *HandoffState) NextPredecessor() string {
	if len(s.SuccessorQueue) == 0 {
		return ""
	}
	return s.SuccessorQueue[0]
}

// Overtakes reports whether an earlier document of the same author is still being processed.
func (s *HandoffState) Overtakes(h *Handover) bool {
	return slices.ContainsFunc(s.Documents, func(x Handover) bool {
		return x.Agent.ID == h.Agent.ID && x.Serial < h.Serial
	})
}

// QueueForSuccessor queues a document for the next Orchestrator that is spawned, after those that wait
// already: the Arbiter reads about them in the same order.
func (s *HandoffState) QueueForSuccessor(h Handover) {
	if id := h.Agent.ID; !h.Taken && !slices.Contains(s.SuccessorQueue, id) {
		s.SuccessorQueue = append(slices.Clip(s.SuccessorQueue), id)
	}
}

// LeaveSuccessorQueue removes an agent from the queue: its successor was spawned, or is no longer wanted. That holds
// for a document that is still being processed, too.
func (s *HandoffState) LeaveSuccessorQueue(id string) {
	s.Documents = slices.Clone(s.Documents)
	for i := range s.Documents {
		s.Documents[i].Taken = s.Documents[i].Taken || s.Documents[i].Agent.ID == id
	}
	s.SuccessorQueue = slices.DeleteFunc(slices.Clone(s.SuccessorQueue), func(x string) bool { return x == id })
}
