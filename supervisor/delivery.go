package supervisor

// This part of the package delivers the messages of a run.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// BeginningKept is how many bytes are kept of a text that was too large to be read.
const BeginningKept = 16 << 10

const saidEarlier = "Sent before the message that you read last, which stopped you before you got this one:\n"

// dropMail takes all mail to an agent that can no longer read it, and returns it.
func (st *step) dropMail(to string) []Mail {
	st.passQuestionsOn(to)
	lost, unread := st.Conversation.Release(to)
	for _, m := range lost {
		if m.Sent {
			st.out.StopTimer(DeliveryTimerPrefix + m.Wire)
		}
	}
	for _, x := range unread {
		m := Mail{ID: x.ID, From: x.From, To: x.To, Kind: x.Kind, Text: "(the text is not kept any more)"}
		if said := st.Conversation.Recent(x.ID); said != nil {
			m.Text, m.Images = said.Text, said.Images
		}
		lost = append(lost, m)
	}
	return lost
}

// passMailOn takes all mail to an Orchestrator that ends. What the human said to it, and no model has answered, goes to
// the Arbiter, which must read it before it can complete the task; if a record of the Orchestrator's work follows, the
// record has it. The rest is returned.
func (st *step) passMailOn(to string, recorded bool) (rest []Mail) {
	st.passDocumentOn(to)
	for _, m := range st.dropMail(to) {
		if m.From == contract.Human && st.Task.Text != "" && st.Ending == nil {
			st.notice(to, st.cite(m.ID)+" was not answered before "+st.DisplayName(to)+" ended: the Arbiter "+
				"gets it")
			if !recorded {
				st.Conversation.Post(Mail{ID: m.ID, From: m.From, To: contract.Arbiter, Kind: KindMessage, Text: m.Text,
					At: st.at, Images: m.Images, Attached: partOf("its reader", "The human said this to "+
						st.DisplayName(to)+" ("+to+"), which ended before it answered. Decide what follows.")})
				continue
			}
		}
		rest = append(rest, m)
	}
	return rest
}

// passDocumentOn queues the document again that an Orchestrator which ends was to continue, and has never read.
func (st *step) passDocumentOn(to string) {
	a, _ := st.Agent(to)
	old, ok := st.Agent(a.Predecessor)
	another := func(b *Agent) bool { return b.Predecessor == old.ID && b.ID != to && (b.HasHistory || b.Alive()) }
	if !ok || a.HasHistory || old.Document == nil || old.Alive() && old.Standing != HandedOff ||
		slices.ContainsFunc(st.Agents, another) || st.Task.Text == "" || st.Ending != nil {
		return
	}
	st.Handoff.QueueForSuccessor(Handover{Agent: old.AgentRef})
	st.logNotice(a.Name + " (" + to + ") has not read the document of " + old.ID + ": the next Orchestrator that you " +
		"summon receives it.")
}

// cite names a message for a human, who knows its words, and for a script, which knows its id.
func (st *step) cite(id string) string {
	m := st.Conversation.Recent(id)
	if m == nil {
		return "message " + id
	}
	said := strings.Fields(words.Cite(m.Text))
	if len(said) > citedWords {
		said = append(said[:citedWords:citedWords], "…")
	}
	whose := "the " + m.Kind + " of " + st.DisplayName(m.From)
	if m.From == contract.Human {
		whose = "your message"
	}
	return fmt.Sprintf("%s %q (%s)", whose, strings.Join(said, " "), id)
}

// citedWords is how many words of a message name it.
const citedWords = 8

// takeBack removes unwanted mail from the queue.
func (st *step) takeBack(unwanted func(Mail) bool) {
	for _, m := range st.Conversation.TakeBack(unwanted) {
		if m.Sent {
			st.out.StopTimer(DeliveryTimerPrefix + m.Wire)
		}
	}
}

// requeue puts back a message that was lost with a process.
func (st *step) requeue(wire string) {
	if _, queued := st.Conversation.SentAs(wire); queued {
		st.out.StopTimer(DeliveryTimerPrefix + wire)
	} else if onWire(st.Conversation.InTurn, wire) < 0 {
		return
	}
	m, _ := st.Conversation.Requeue(wire, st.newID())
	if m.Reported {
		st.Rulings.ForgetReading(m.ID)
	}
}

// requeueUnread queues a message again that an interrupt overtook: it was written, but the session does not contain
// it. If the human stopped the turn with another message, it goes into that message's turn, and says that it is
// older.
func (st *step) requeueUnread(id, wire string) {
	public := st.Conversation.PublicIDs([]string{wire})[0]
	st.requeue(wire)
	st.notice(id, st.cite(public)+" did not reach the model; it is sent again")
	st.Conversation.Overtake(public, saidEarlier)
}

// correctRecord changes the recorded text of a message: the last messages are quoted to a successor, which must not
// fail on the same text again.
func (st *step) correctRecord(id, text string) {
	st.Conversation.Correct(id, func(m *contract.Message) { m.Text = text })
}

// shorten queues a message again that was too large to be read: its reader gets only the beginning.
func (st *step) shorten(m Mail) {
	st.requeue(m.Wire)
	st.correctRecord(m.ID, words.Head(m.Text, BeginningKept))
	for i := range st.Conversation.EditMail() {
		if x := &st.Conversation.Mail[i]; x.ID == m.ID {
			st.keepBeginnings(x)
		}
	}
}

// keepBeginnings keeps only the beginnings of the parts of a message.
func (st *step) keepBeginnings(m *Mail) {
	attached := m.Attached
	left := len(m.Content)
	m.Text, m.Attached = words.Head(m.Text, BeginningKept), nil
	for _, a := range attached {
		a.Text = words.Head(a.Text, BeginningKept/4)
		m.Attached = append(m.Attached, a)
	}
	m.Carries, m.CarriesBrief, m.BriefBytes = nil, false, 0
	m.Content = st.render(m)
	m.Attached = append(m.Attached, EnvelopePart{Title: "cut", From: contract.Supervisor, Trusted: true,
		Text: fmt.Sprintf(
			"This message, with what came with it, had %s and was too large to be read. What you see is its beginning; "+
				"%s were left out, and the human was told. "+
				"If you need the rest, ask for it in a file.", words.Size(int64(left)), words.Size(int64(left-len(m.Content))))})
	m.Content = st.render(m)
}

// takeFromArbiter takes back the messages that were sent to an Arbiter whose process has ended.
func (st *step) takeFromArbiter() {
	if st.Agents[0].Up() {
		return
	}
	for _, m := range slices.Concat(st.Conversation.Mail, st.Conversation.InTurn) {
		if m.To == contract.Arbiter && m.Sent {
			st.requeue(m.Wire)
		}
	}
}

// DeliveryTimerPrefix begins the key of the timer for a message whose delivery is not proven; its wire ID follows.
const DeliveryTimerPrefix = "proof/"

// newID returns the id of the next message.
func (st *step) newID() string {
	ids := &st.Conversation.IDs
	ids.Count++
	return idFor(st.Options.Run, fmt.Sprintf("message/%d%s", ids.Count, ids.Salt))
}

// sessionID returns the id of an agent's session that begins in a generation.
func (st *step) sessionID(agent string, generation int) string {
	return idFor(st.Options.Run, fmt.Sprintf("session/%s/%d%s", agent, generation, st.Conversation.IDs.Salt))
}

// idFor derives an id from the run's id, so that applying the same inputs again gives the same ids.
func idFor(run, what string) string {
	space, err := uuid.Parse(run)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(run))
	}
	return uuid.NewSHA1(space, []byte(what)).String()
}

// editMessage changes a message of the human that no agent has received yet.
func (st *step) editMessage(ref string, given contract.EditMessage) {
	i, why := st.findUnsent(given.MessageID)
	if why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	m := &st.Conversation.EditMail()[i]
	if m.Kind == KindTask && st.Task.Text == m.Text {
		st.Task.Text = given.Text
		st.Rulings.DeciderRequest = nil // the question is about the old text: it is asked again
	}
	if a := st.Edit(m.To); m.Kind == KindBrief && a != nil {
		a.Brief = given.Text
	}
	m.Text = given.Text
	said := contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text,
		Images: m.Images, Edited: true}
	st.out.Accept(ref, "message "+m.ID+" says something else now")
	st.emit(m.From, said)
	st.Conversation.Correct(m.ID, func(x *contract.Message) { *x = said })
}

// withdrawMessage takes a message of the human back, unless something waits for it.
func (st *step) withdrawMessage(ref string, given contract.WithdrawMessage) {
	i, why := st.findUnsent(given.MessageID)
	if why == "" {
		why = st.whyKept(st.Conversation.Mail[i])
	}
	if why != "" {
		st.out.Reject(ref, "%s", why)
		return
	}
	m := st.Conversation.Mail[i]
	st.out.Accept(ref, "message "+m.ID+" is taken back")
	st.takeBack(func(x Mail) bool { return x.ID == m.ID })
	st.emit(m.From, contract.Withdrawn{MessageID: m.ID})
	st.Conversation.Forget(m.ID)
}

// findUnsent finds a message of the human that was never sent, or says why it cannot be changed. A message that
// was sent and came back may have been read.
func (s *State) findUnsent(id string) (at int, why string) {
	at = s.Conversation.Waiting(id)
	switch {
	case at < 0:
		return at, "no message " + id + " waits: it was delivered, or never said"
	case s.Conversation.Mail[at].From != contract.Human:
		return at, "message " + id + " is " + s.DisplayName(s.Conversation.Mail[at].From) + "'s, not yours"
	case s.Conversation.Mail[at].Wire != "":
		return at, "message " + id + " was sent already: say another, or interrupt"
	}
	return at, ""
}

// whyKept says why a message cannot be taken back: the dialogue would stop without it.
func (s *State) whyKept(m Mail) string {
	a, _ := s.Agent(m.To)
	switch {
	case m.Kind == KindTask:
		return "it is the task: edit it, or reset"
	case m.Kind == KindAnswer:
		return "the Arbiter waits for this answer: edit it"
	case m.To != contract.Arbiter && a.Status != AgentBusy:
		return a.Name + " was brought to work by it: edit it, or kill " + a.ID
	case m.To == contract.Arbiter && (a.Status != AgentBusy || s.Renewal.Stage == RenewalAsked) && !s.continuesWithout(m):
		return "the Arbiter has no other message to continue with: edit this one"
	}
	return ""
}

// continuesWithout reports whether the run continues, or waits for the human, without a message to the Arbiter.
func (s *State) continuesWithout(m Mail) bool {
	return s.Task.Text == "" || s.Question.Open != nil || s.AnyWorks() || s.Handoff.IsDue() ||
		slices.ContainsFunc(s.Conversation.Mail, func(x Mail) bool {
			return x.ID != m.ID && x.To == m.To && x.Kind != KindRenewal
		})
}

// post queues a message and announces it. A run that is ending accepts none, even if it began to end in the
// same step.
func (st *step) post(m Mail) {
	if st.Ending != nil {
		return
	}
	if !st.mayWrite(m.From, m.To) {
		st.notice(contract.Supervisor, "a message is not passed on: "+m.From+" may not write to "+m.To)
		return
	}
	if m.To != contract.Arbiter { // it goes on with this message
		st.takeBack(func(x Mail) bool { return x.To == m.To && !x.Sent && x.Pauses })
	}
	if a := st.Edit(m.To); a != nil && m.Kind != KindBrief && (m.From != contract.Supervisor ||
		m.Kind == KindAnswer || m.Kind == KindInstruction) {
		a.Unexamined = false
	}
	m.ID, m.At = st.newID(), st.at
	st.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Whole(),
		Images: m.Images})
	if m.Strength == contract.Stop || m.From == contract.Supervisor &&
		(m.Kind == KindRetry || m.Kind == KindRenewal) {
		// It goes first: no other message may follow the turn that it interrupts or resumes.
		st.Conversation.Ledger.Posted++
		st.Conversation.Ahead(m)
		return
	}
	st.Conversation.Post(m)
}

// speak announces a message, with its sender's session, and records it as part of the conversation.
func (st *step) speak(from string, m contract.Message) {
	if a, ok := st.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	st.emit(from, m)
	st.Conversation.Remember(&m)
}

// notify posts a message of the supervisor to an agent.
func (st *step) notify(to, kind, text string) {
	st.post(Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// steer posts a notice for the turn that runs. An agent of another make cannot be reached in its turn; afterwards the
// notice would be out of date, and would begin another turn.
func (st *step) steer(a *Agent, text string) {
	if a.Status == AgentBusy && a.Make == "" {
		st.post(Mail{From: contract.Supervisor, To: a.ID, Kind: KindNotice, Strength: contract.Steer, Text: text})
	}
}

// tell posts a notice to the Arbiter.
func (st *step) tell(text string, attached ...EnvelopePart) {
	st.post(Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: KindNotice, Text: text, Attached: attached})
}

// logNotice queues a notice for the Arbiter that it reads with its next message.
func (st *step) logNotice(text string) { st.log(contract.Supervisor, KindNotice, text) }

// tellHuman announces a message that no agent receives.
func (st *step) tellHuman(kind, text string) {
	st.speak(contract.Arbiter, contract.Message{
		MessageID: st.newID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// log queues a report that expects no answer.
func (st *step) log(from, kind, text string) {
	e := ConversationEntry{ID: st.newID(), From: from, Kind: kind, Text: text, At: st.at}
	st.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	st.Conversation.AddEntry(e)
	st.boundLog()
}

// boundLog drops the oldest entries of the work log if the Arbiter does not get a message at each point of
// decision, and may never read them.
func (st *step) boundLog() {
	c := &st.Conversation
	if st.Rulings.FallbackReason == "" && !st.asksOther() {
		return
	}
	for range len(c.WorkLog) - demotedMost {
		if i := slices.IndexFunc(c.WorkLog, func(e ConversationEntry) bool { return e.Carrier == "" }); i >= 0 {
			c.WorkLog = slices.Delete(c.EditLog(), i, i+1)
		}
	}
}

// moveDecided puts what was decided into the Arbiter's work log, shortened: the Arbiter reads about it with its
// next message.
func (st *step) moveDecided(p *RulingRequest, d decider.Decision) {
	othersToo := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // their results are decided, too
	st.moveToWorkLog(func(m *Mail) bool {
		return st.withholds(m) && (m.Kind == KindTask || m.EndsExecution() && m.From == p.About ||
			othersToo && m.Kind == verdict.KindDone && slices.Contains(p.EndedExecutions, m.ID))
	})
	// The `decision` event informs everyone else.
	st.Conversation.AddEntry(ConversationEntry{
		ID: st.newID(), From: contract.Supervisor, Kind: KindNotice, At: st.at, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode),
			words.Head(d.Reason, 500)),
	})
}

// moveToWorkLog turns messages into reports of the work log: they were ruled on without their reader.
func (st *step) moveToWorkLog(taken func(*Mail) bool) {
	st.Conversation.MoveToWorkLog(taken)
	st.boundLog()
}

// askPredecessor passes a question on; the loop answers the call when the predecessor has answered.
func (st *step) askPredecessor(f input.ToolCalled, a Agent) {
	var in AskInput
	fail := func(text string) { st.do(input.AnswerTool{Call: f.Call, Text: text, IsError: true}) }
	if err := json.Unmarshal(f.Params.Input, &in); err != nil || strings.TrimSpace(in.Question) == "" {
		fail("A question is needed.")
		return
	}
	old, ok := st.Agent(a.Predecessor)
	switch {
	case a.Predecessor == "" || !ok:
		fail("You have no predecessor. Ask the Arbiter.")
	case !old.Alive():
		fail(old.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.")
	case old.Status != AgentReady && old.Status != AgentBusy:
		st.Handoff.WaitingQuestions = append(slices.Clip(st.Handoff.WaitingQuestions),
			HandoffAsked{Call: f.Call, By: a.AgentRef, Of: old.ID, Question: in.Question})
	default:
		st.do(input.AskAgent{Call: f.Call, Agent: old.AgentRef, Question: in.Question})
	}
}

// passQuestionsOn passes on the questions that waited for an agent, or answers that the agent has ended.
func (st *step) passQuestionsOn(id string) {
	if !slices.ContainsFunc(st.Handoff.WaitingQuestions, func(q HandoffAsked) bool { return q.Of == id }) {
		return
	}
	a, _ := st.Agent(id)
	var rest []HandoffAsked
	for _, q := range st.Handoff.WaitingQuestions {
		asker, _ := st.Agent(q.By.ID)
		switch {
		case q.Of != id:
			rest = append(rest, q)
		case !asker.Up() || asker.AgentRef != q.By: // the call has ended with its process
		case a.Up():
			st.do(input.AskAgent{Call: q.Call, Agent: a.AgentRef, Question: q.Question})
		default:
			st.do(input.AnswerTool{Call: q.Call, Text: a.Name +
				" is gone. What it knew is in its document; for the rest ask the Arbiter.", IsError: true})
		}
	}
	st.Handoff.WaitingQuestions = rest
}

// ProofWait is how long a message may go without proof that the agent has processed it. The CLI gives the proof
// at once (observed with CLI 2.1.329: 0.0 s), so this is generous. While the CLI retries the API, or is
// stopped, a missing proof means nothing.
const ProofWait = 30 * time.Second

// awaitProof sets the timer for the proof of a message.
func (st *step) awaitProof(m Mail) {
	st.do(input.SetTimer{Key: DeliveryTimerPrefix + m.Wire, After: st.Options.Scaled(ProofWait)})
}

// delivered removes a message from the queue that is in its reader's session, with the reports it carried. It is
// announced when a model has read it.
func (st *step) delivered(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	m, _ := st.Conversation.Deliver(wire, a != nil && slices.Contains(a.Turn, wire))
	st.out.StopTimer(DeliveryTimerPrefix + wire)
	st.Rulings.Read(m)
	if a != nil {
		a.HasHistory, a.ReturnNotice = true, ""
		if m.CarriesBrief {
			a.HandoffBrief = ""
		}
	}
	if m.Reported {
		return
	}
	st.Conversation.Accept(m)
}

// answers announces as delivered what is in an agent's session, because a model has answered there; except the
// messages that it did not read.
func (st *step) answers(id string, except ...string) {
	for _, x := range st.Conversation.AnsweredBy(id, except...) {
		d := contract.Delivered{MessageID: x.ID}
		if a := st.Edit(x.To); a != nil {
			a.Delivered++
			d.From, d.SessionID, d.Generation, d.Sequence = x.From, a.SessionID, a.Generation, a.Delivered
			if a.Make != "" {
				d.Proof = bridge.ProofWritten
			}
		}
		st.emit(x.To, d)
	}
}

// fromModel reports whether an event shows that a model has answered in the main thread of a session: each answer is
// measured. What it says and calls shows that too, but the journal may drop those inputs.
func fromModel(b bridge.EventBody) bool {
	c, ok := b.(bridge.Context)
	return ok && c.Source != "cli" // the CLI also counts requests that the API has refused
}

// Unreadable reports whether a turn failed because its message was too large: the model said nothing before the
// prompt was too long, although its context had space.
func Unreadable(a *Agent, t bridge.Turn, m Mail) bool {
	ours := m.From == contract.Supervisor && m.OfSession() || m.Kind == KindTask &&
		len(m.Content)-m.BriefBytes < BeginningKept
	return a.Role == RoleArbiter && t.Outcome == bridge.TurnFailed && t.Category == bridge.CatPromptTooLong &&
		t.Usage == (bridge.Usage{}) && t.Tools == 0 && !a.ContextLow() && !ours
}

// send writes one message to its agent. The work log is sent with the first message to the Arbiter that can
// carry it: not one that was in its session already, because nothing follows the proof that it arrived.
func (st *step) send(i int, steer bool) {
	m := &st.Conversation.EditMail()[i]
	m.Sent = true
	if m.Wire == "" {
		m.Wire = m.ID
	}
	if m.Content == "" {
		m.Carries = nil
	}
	if m.Content == "" && m.To == contract.Arbiter && m.Kind != KindCorrection && !m.Reported {
		st.Conversation.Attach(m)
	}
	a := st.Edit(m.To)
	if a.Role == RoleOrchestrator && a.ContextLow() && m.Content == "" {
		a.HandoffDemands++ // render adds the demand
	}
	if !steer {
		a.Status, a.Since, a.Turn, a.Backoff, a.Stopped = AgentBusy, st.at, nil, nil, false
	}
	a.Turn = append(slices.Clip(a.Turn), m.Wire)
	if m.Content == "" {
		if a.Role == RoleArbiter {
			st.showArbiter(*m)
		}
		m.Content = st.render(m)
	}
	// Steering overtakes the proof that another message arrived.
	carried := func(x Mail) bool { return x.To == m.To && x.Sent && x.CarriesBrief }
	if a.HandoffBrief != "" && !slices.ContainsFunc(st.Conversation.Mail, carried) {
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(a.HandoffBrief), a.HandoffBrief+m.Content
	}
	st.Conversation.Ledger.Sent++
	st.do(input.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: steer}, Images: m.Images})
	if !steer {
		st.awaitProof(*m)
	}
}

// preface renders what a new session receives before its first message.
func (s *State) preface(kind, text string) string {
	return Envelope{
		Delimiter: s.Options.Delimiter, From: contract.Supervisor, Name: s.DisplayName(contract.Supervisor), Kind: kind,
		Parts: []EnvelopePart{{Text: text, Trusted: true}},
	}.Render() + "\n"
}

// render puts a message into its envelope: the sender is determined by the pipe, never by text. The work log that is
// sent with the message comes first.
func (s *State) render(m *Mail) string {
	to, _ := s.Agent(m.To)
	e := Envelope{Delimiter: s.Options.Delimiter, From: m.From, Name: s.DisplayName(m.From), Kind: m.Kind, ID: m.ID}
	add := func(title, text string) {
		if text != "" {
			e.Parts = append(e.Parts, EnvelopePart{Title: title, From: contract.Supervisor, Text: text, Trusted: true})
		}
	}
	for _, id := range m.Carries {
		for _, entry := range s.Conversation.WorkLog {
			if entry.ID == id {
				e.Parts = append(e.Parts, EnvelopePart{Title: "work log", From: entry.From, Kind: entry.Kind, At: entry.At,
					Text: entry.Text})
			}
		}
	}
	add("your session", to.ReturnNotice)
	e.Parts = append(e.Parts, EnvelopePart{Text: m.Text, Trusted: !s.IsOrchestrator(m.From)})
	e.Parts = append(e.Parts, m.Attached...)
	if len(m.Images) > 0 {
		add("images", imagesText(m.Images))
	}
	switch {
	case m.To == contract.Arbiter:
		add("where the task stands", s.Rulings.ArbiterRequest.Text(s.Options.Templates))
	case to.Role == RoleOrchestrator && to.ContextLow():
		add("context", to.HandoffDemand())
	}
	return e.Render()
}
