package supervisor

// This part of the package delivers the messages of a run.
//
// [DeliveryContext.Post] queues and announces a message, [DeliveryContext.Send] writes one to an agent,
// [DeliveryContext.Delivered] handles the proof that an agent has read it. A message without proof is written again
// ([DeliveryContext.ProofOverdue]); one that was lost with a process goes back to its queue
// ([DeliveryContext.Requeue]). Reports that expect no answer go to the work log ([DeliveryContext.Log]). Package
// conversation keeps the queues.
//
// The package changes the parts of the state that a [DeliveryContext] points to, and collects effects. Package
// supervisor decides when a message is sent, and restarts an agent's process when a method asks for it.
//
// Events: message, delivered, withdrawn. Effects: Send, AskAgent, AnswerTool, timers.

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
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// BeginningKept is how many bytes are kept of a text that was too large to be read.
const BeginningKept = 16 << 10

const saidEarlier = "Said before the word that you read last, which stopped you before you had this one:\n"

// Drop takes all mail to an agent that can no longer read it, and returns it.
func (c *DeliveryContext) Drop(to string) []Mail {
	c.PutAsked(to)
	lost, refused := c.Conversation.Release(to)
	for _, m := range lost {
		if m.Sent {
			c.Out.StopTimer(DeliveryTimerKey(m.Wire))
		}
	}
	for _, m := range refused {
		if m.From == contract.Human {
			c.Out.Emit(to, contract.Notice{Text: "message " + m.ID + " was not answered: the API refused the turn, and " +
				c.Roster.DisplayName(to) + " was released before it could be sent again"})
		}
	}
	return append(lost, refused...)
}

// TakeBack removes unwanted mail from the queue.
func (c *DeliveryContext) TakeBack(unwanted func(Mail) bool) {
	for _, m := range c.Conversation.TakeBack(unwanted) {
		if m.Sent {
			c.Out.StopTimer(DeliveryTimerKey(m.Wire))
		}
	}
}

// Requeue puts back a message that was lost with a process.
func (c *DeliveryContext) Requeue(wire string) {
	if _, queued := c.Conversation.SentAs(wire); queued {
		c.Out.StopTimer(DeliveryTimerKey(wire))
	} else if !c.Conversation.IsInTurn(wire) {
		return
	}
	m, _ := c.Conversation.Requeue(wire, c.NewID())
	if m.Reported {
		c.Rulings.ForgetReading(m.ID)
	}
}

// Unread queues a message again that an interrupt overtook: it was written, but the session does not contain
// it. If the human stopped the turn with another message, it goes into that message's turn, and says that it is
// older.
func (c *DeliveryContext) Unread(id, wire string) {
	public := c.Conversation.PublicIDs([]string{wire})[0]
	c.Requeue(wire)
	c.Out.Emit(id, contract.Notice{Text: "message " + public + " was interrupted before it was read; it is sent again"})
	c.Conversation.Overtake(public, saidEarlier)
}

// Quote changes the recorded text of a message: the last messages are quoted to a successor, which must not
// fail on the same text again.
func (c *DeliveryContext) Quote(id, text string) {
	c.Conversation.Correct(id, func(m *contract.Message) { m.Text = text })
}

// Shorten queues a message again that was too large to be read: its reader gets only the beginning.
func (c *DeliveryContext) Shorten(m Mail) {
	c.Requeue(m.Wire)
	c.Quote(m.ID, words.Head(m.Text, BeginningKept))
	for i := range c.Conversation.EditMail() {
		if x := &c.Conversation.Mail[i]; x.ID == m.ID {
			c.shorten(x)
		}
	}
}

// shorten keeps only the beginnings of the parts of a message.
func (c *DeliveryContext) shorten(m *Mail) {
	attached := m.Attached
	left := len(m.Content)
	m.Text, m.Attached = words.Head(m.Text, BeginningKept), nil
	for _, a := range attached {
		a.Text = words.Head(a.Text, BeginningKept/4)
		m.Attached = append(m.Attached, a)
	}
	m.Carries, m.CarriesBrief, m.BriefBytes = nil, false, 0
	m.Content = c.Conversation.Render(*m, c.reading(m))
	m.Attached = append(m.Attached, ConversationAttached{Title: "cut", From: contract.Supervisor, Trusted: true,
		Text: fmt.Sprintf(
			"This message, with what came with it, had %s and was too large to be read. What you see is its beginning; "+
				"%s were left out, and the human was told. "+
				"If you need the rest, ask for it in a file.", words.Size(int64(left)), words.Size(int64(left-len(m.Content))))})
	m.Content = c.Conversation.Render(*m, c.reading(m))
}

// TakeFromArbiter takes back the messages that were sent to an Arbiter whose process has ended.
func (c *DeliveryContext) TakeFromArbiter() {
	if c.Roster.Agents[0].Up() {
		return
	}
	for _, m := range slices.Concat(c.Conversation.Mail, c.Conversation.InTurn) {
		if m.To == contract.Arbiter && m.Sent {
			c.Requeue(m.Wire)
		}
	}
}

// DeliveryContext is what a step uses to deliver messages: the parts of the state that messages concern, and the
// collector of effects. It is created for one use within a step, which owns everything that it points to.
type DeliveryContext struct {
	RulingStanding
	Rulings      *RulingState
	Out          *effect.Collector
	Senders      SenderRun
	Closed       bool // the run is ending: no message is queued
	QuestionOpen bool // a question to the human is open
}

// DeliveryTimerPrefix begins the key of the timer for a message whose delivery is not proven; its wire ID follows.
const DeliveryTimerPrefix = "proof/"

// DeliveryTimerKey is the key of the timer for the message with a wire ID.
func DeliveryTimerKey(wire string) string { return DeliveryTimerPrefix + wire }

// NewID returns the id of the next message.
func (c *DeliveryContext) NewID() string {
	ids := &c.Conversation.IDs
	ids.Count++
	return idFor(c.Options.Run, fmt.Sprintf("message/%d%s", ids.Count, ids.Salt))
}

// SessionID returns the id of an agent's session that begins in a generation.
func (c *DeliveryContext) SessionID(agent string, generation int) string {
	return idFor(c.Options.Run, fmt.Sprintf("session/%s/%d%s", agent, generation, c.Conversation.IDs.Salt))
}

// idFor derives an id from the run's id, so that applying the same inputs again gives the same ids.
func idFor(run, what string) string {
	space, err := uuid.Parse(run)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(run))
	}
	return uuid.NewSHA1(space, []byte(what)).String()
}

// Edit changes a message of the human that no agent has received yet.
func (c *DeliveryContext) Edit(ref string, given contract.EditMessage) {
	i, why := c.findUnsent(given.MessageID)
	if why != "" {
		c.Out.Reject(ref, "%s", why)
		return
	}
	m := &c.Conversation.EditMail()[i]
	if m.Kind == KindTask && c.Task.Text == m.Text {
		c.Task.Text = given.Text
		c.Rulings.DeciderRequest = nil // the question is about the old text: it is asked again
	}
	if a := c.Roster.Edit(m.To); m.Kind == KindBrief && a != nil {
		a.Brief = given.Text
	}
	m.Text = given.Text
	said := contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Text,
		Images: m.Images, Edited: true}
	c.Out.Accept(ref, "message "+m.ID+" says something else now")
	c.Out.Emit(m.From, said)
	c.Conversation.Correct(m.ID, func(x *contract.Message) { *x = said })
}

// Withdraw takes a message of the human back, unless something waits for it.
func (c *DeliveryContext) Withdraw(ref string, given contract.WithdrawMessage) {
	i, why := c.findUnsent(given.MessageID)
	if why == "" {
		why = c.awaited(c.Conversation.Mail[i])
	}
	if why != "" {
		c.Out.Reject(ref, "%s", why)
		return
	}
	m := c.Conversation.Mail[i]
	c.Out.Accept(ref, "message "+m.ID+" is taken back")
	c.TakeBack(func(x Mail) bool { return x.ID == m.ID })
	c.Out.Emit(m.From, contract.Withdrawn{MessageID: m.ID})
	c.Conversation.Forget(m.ID)
}

// findUnsent finds a message of the human that was never sent, or says why it cannot be changed. A message that
// was sent and came back may have been read.
func (c *DeliveryContext) findUnsent(id string) (at int, why string) {
	at = c.Conversation.Waiting(id)
	switch {
	case at < 0:
		return at, "no message " + id + " waits: it was delivered, or never said"
	case c.Conversation.Mail[at].From != contract.Human:
		return at, "message " + id + " is " + c.Roster.DisplayName(c.Conversation.Mail[at].From) + "'s, not yours"
	case c.Conversation.Mail[at].Wire != "":
		return at, "message " + id + " was sent already: say another, or interrupt"
	}
	return at, ""
}

// awaited says why a message cannot be taken back: the dialogue would stop without it.
func (c *DeliveryContext) awaited(m Mail) string {
	a, _ := c.Roster.Agent(m.To)
	switch {
	case m.Kind == KindTask:
		return "it is the task: edit it, or reset"
	case m.Kind == KindAnswer:
		return "the Arbiter waits for this answer: edit it"
	case m.To != contract.Arbiter && a.Status != AgentBusy:
		return a.Name + " was brought to work by it: edit it, or kill " + a.ID
	case m.To == contract.Arbiter && a.Status != AgentBusy && !c.goesOnWithout(m):
		return "the Arbiter has no other message to continue with: edit this one"
	}
	return ""
}

// goesOnWithout reports whether the run continues, or waits for the human, without a message to the Arbiter.
func (c *DeliveryContext) goesOnWithout(m Mail) bool {
	return c.Task.Text == "" || c.QuestionOpen || c.Roster.AnyWorks() || c.Handoff.IsDue() ||
		slices.ContainsFunc(c.Conversation.Mail, func(x Mail) bool { return x.ID != m.ID && x.To == m.To })
}

// Post queues a message and announces it. A run that is ending accepts none, even if it began to end in the
// same step.
func (c *DeliveryContext) Post(m Mail) {
	if c.Closed {
		return
	}
	if !c.Senders.MayWrite(m.From, m.To) {
		c.Out.Emit(contract.Supervisor, contract.Notice{Text: "a message is not passed on: " + m.From +
			" may not write to " + m.To})
		return
	}
	m.ID, m.At = c.NewID(), c.Out.Now
	c.speak(m.From, contract.Message{MessageID: m.ID, From: m.From, To: m.To, Kind: m.Kind, Text: m.Whole(),
		Images: m.Images})
	if m.Strength == contract.Stop || m.From == contract.Supervisor &&
		(m.Kind == KindRetry || m.Kind == KindRenewal) {
		// It goes first: no other message may follow the turn that it interrupts or resumes.
		c.Conversation.PostAhead(m)
		return
	}
	c.Conversation.Post(m)
}

// speak announces a message, with its sender's session, and records it as part of the conversation.
func (c *DeliveryContext) speak(from string, m contract.Message) {
	if a, ok := c.Roster.Agent(m.From); ok {
		m.SessionID, m.Generation = a.SessionID, a.Generation
	}
	c.Out.Emit(from, m)
	c.Conversation.Remember(&m)
}

// Notify posts a message of the supervisor to an agent.
func (c *DeliveryContext) Notify(to, kind, text string) {
	c.Post(Mail{From: contract.Supervisor, To: to, Kind: kind, Text: text})
}

// NotifyWith posts a message of the supervisor to the Arbiter, with attachments.
func (c *DeliveryContext) NotifyWith(text string, attached []ConversationAttached) {
	c.Post(Mail{From: contract.Supervisor, To: contract.Arbiter, Kind: KindNotice,
		Text: text, Attached: attached})
}

// ToHuman announces a message that no agent receives.
func (c *DeliveryContext) ToHuman(kind, text string) {
	c.speak(contract.Arbiter, contract.Message{
		MessageID: c.NewID(), From: contract.Arbiter, To: contract.Human, Kind: kind, Text: text,
	})
}

// Log queues a report that expects no answer.
func (c *DeliveryContext) Log(from, kind, text string) {
	e := ConversationEntry{ID: c.NewID(), From: from, Kind: kind, Text: text, At: c.Out.Now}
	c.speak(from, contract.Message{MessageID: e.ID, From: from, To: contract.Arbiter, Kind: kind, Text: text})
	c.Conversation.AddEntry(e)
	c.boundLog()
}

// boundLog drops the oldest entries of the work log if the Arbiter does not get a message at each point of
// decision, and may never read them.
func (c *DeliveryContext) boundLog() {
	if c.Rulings.FallbackReason != "" || c.Rulings.AsksOther(c.Options) {
		c.Conversation.BoundLog()
	}
}

// MoveDecided puts what was decided into the Arbiter's work log, shortened: the Arbiter reads about it with its
// next message.
func (c *DeliveryContext) MoveDecided(p *RulingRequest, d decider.Decision) {
	othersToo := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // their results are decided, too
	decided := func(m *Mail) bool {
		if m.Kind == KindTask || m.EndsExecution() && m.From == p.About {
			return true
		}
		return othersToo && m.Kind == verdict.KindDone && slices.Contains(p.EndedExecutions, m.ID)
	}
	c.MoveToWorkLog(func(m *Mail) bool {
		return c.Rulings.Withholds(c.Options, c.Task, m) && decided(m)
	})
	// The `decision` event informs everyone else.
	c.Conversation.AddEntry(ConversationEntry{
		ID: c.NewID(), From: contract.Supervisor, Kind: KindNotice, At: c.Out.Now, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode),
			words.Head(d.Reason, 500)),
	})
}

// MoveToWorkLog turns messages into reports of the work log: they were ruled on without their reader.
func (c *DeliveryContext) MoveToWorkLog(taken func(*Mail) bool) {
	c.Conversation.MoveToWorkLog(taken)
	c.boundLog()
}

// AskPredecessor passes a question on; the loop answers the call when the predecessor has answered.
func (c *DeliveryContext) AskPredecessor(f input.ToolCalled, a Agent) {
	var in AskInput
	fail := func(text string) { c.Out.Do(effect.AnswerTool{Call: f.Call, Text: text, IsError: true}) }
	if err := json.Unmarshal(f.Params.Input, &in); err != nil || strings.TrimSpace(in.Question) == "" {
		fail("A question is needed.")
		return
	}
	old, ok := c.Roster.Agent(a.Predecessor)
	switch {
	case a.Predecessor == "" || !ok:
		fail("You have no predecessor. Ask the Arbiter.")
	case !old.Alive():
		fail(old.Name + " is gone. What it knew is in its document; for the rest ask the Arbiter.")
	case old.Status != AgentReady && old.Status != AgentBusy:
		c.Handoff.WaitingQuestions = append(slices.Clip(c.Handoff.WaitingQuestions),
			HandoffAsked{Call: f.Call, By: a.ID, Of: old.ID, Question: in.Question})
	default:
		c.Out.Do(effect.AskAgent{Call: f.Call, Agent: old.AgentRef, Question: in.Question})
	}
}

// PutAsked passes on the questions that waited for an agent, or answers that the agent has ended.
func (c *DeliveryContext) PutAsked(id string) {
	if !slices.ContainsFunc(c.Handoff.WaitingQuestions, func(q HandoffAsked) bool { return q.Of == id }) {
		return
	}
	a, _ := c.Roster.Agent(id)
	var rest []HandoffAsked
	for _, q := range c.Handoff.WaitingQuestions {
		switch {
		case q.Of != id:
			rest = append(rest, q)
		case a.Up():
			c.Out.Do(effect.AskAgent{Call: q.Call, Agent: a.AgentRef, Question: q.Question})
		default:
			c.Out.Do(effect.AnswerTool{Call: q.Call, Text: a.Name +
				" is gone. What it knew is in its document; for the rest ask the Arbiter.", IsError: true})
		}
	}
	c.Handoff.WaitingQuestions = rest
}

// ProofWait is how long a message may go without proof that the agent has processed it. The CLI gives the proof
// at once (observed with CLI 2.1.329: 0.0 s), so this is generous. While the CLI retries the API, or is
// stopped, a missing proof means nothing.
const ProofWait = 30 * time.Second

// awaitProof sets the timer for the proof of a message.
func (c *DeliveryContext) awaitProof(m Mail) {
	c.Out.Do(effect.SetTimer{Key: DeliveryTimerKey(m.Wire), After: c.Options.Scaled(ProofWait)})
}

// AwaitNextTurn starts the timers for messages that were sent into a turn and did not end with it: the CLI puts
// them into its next turn.
func (c *DeliveryContext) AwaitNextTurn(a *Agent) {
	for _, wire := range a.Turn {
		if m, ok := c.Conversation.SentAs(wire); ok {
			c.awaitProof(m)
		}
	}
}

// ProofOverdue handles a message without proof of delivery: it is written once more under the same id, which
// the CLI ignores if it has the message. After that, another process is started, whose history shows what
// happened.
func (c *DeliveryContext) ProofOverdue(wire string) (agent, restart string) {
	sent, ok := c.Conversation.SentAs(wire)
	if !ok {
		return "", ""
	}
	a := c.Roster.Edit(sent.To)
	if a == nil || a.Status != AgentBusy || !slices.Contains(a.Turn, wire) {
		return "", ""
	}
	if a.Backoff != nil || a.Watch.Stopped {
		c.awaitProof(sent)
		return "", ""
	}
	m, again := c.Conversation.Resend(wire)
	if !again {
		c.Out.Emit(a.ID, contract.Notice{Text: "message " + m.ID + " was sent twice and not received; " + a.Name +
			" is being restarted"})
		return a.ID, "swallows its messages"
	}
	c.Out.Emit(a.ID, contract.Notice{Text: "message " + m.ID + " was not received within " +
		c.Options.Scaled(ProofWait).String() +
		"; it is sent again"})
	c.Out.Do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: len(a.Turn) > 1}, Images: m.Images})
	c.awaitProof(m)
	return "", ""
}

// Delivered removes a message from the queue, with the reports it carried.
func (c *DeliveryContext) Delivered(wire string) {
	sent, ok := c.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := c.Roster.Edit(sent.To)
	m, _ := c.Conversation.Deliver(wire, a != nil && slices.Contains(a.Turn, wire))
	c.Out.StopTimer(DeliveryTimerKey(wire))
	c.Rulings.Read(m)
	if a != nil {
		a.HasHistory, a.ReturnNotice = true, ""
		if m.CarriesBrief {
			a.HandoffBrief = ""
		}
	}
	if m.Reported {
		return
	}
	c.announceDelivery(m.To, m.From, m.ID)
	if len(m.Carries) == 0 {
		return
	}
	for _, e := range c.Conversation.TakeCarried(m.ID) {
		if !e.Quiet {
			c.announceDelivery(m.To, e.From, e.ID)
		}
	}
}

// announceDelivery reports that an agent has proven that it read a message.
func (c *DeliveryContext) announceDelivery(to, from, id string) {
	d := contract.Delivered{MessageID: id}
	if a := c.Roster.Edit(to); a != nil {
		a.Delivered++
		d.From, d.SessionID, d.Generation, d.Sequence = from, a.SessionID, a.Generation, a.Delivered
	}
	c.Out.Emit(to, d)
}

// ModelAnswered reports whether a model answered in a turn: then it has read what was delivered before.
func ModelAnswered(t bridge.Turn) bool {
	return t.Outcome == bridge.TurnDone || t.Usage != (bridge.Usage{})
}

// MaybeUnanswered reports whether a model may never have read a message of a turn that ended: no model answered
// in the turn, or the message went into a running turn, in which a later request may have failed.
func MaybeUnanswered(a *Agent, t bridge.Turn, m Mail) bool {
	return a.Role == RoleOrchestrator && t.Outcome == bridge.TurnFailed && t.Category != bridge.CatVerdict &&
		(!ModelAnswered(t) || m.Strength == contract.Steer)
}

// Unreadable reports whether a turn failed because its message was too large: the model said nothing before the
// prompt was too long, although its context had space.
func Unreadable(a *Agent, t bridge.Turn, m Mail) bool {
	ours := m.From == contract.Supervisor && m.OfSession() || m.Kind == KindTask &&
		len(m.Content) < BeginningKept
	return a.Role == RoleArbiter && t.Outcome == bridge.TurnFailed && t.Category == bridge.CatPromptTooLong &&
		t.Usage == (bridge.Usage{}) && t.Tools == 0 && !a.ContextLow() && !ours
}

// Send writes one message to its agent. The work log is sent with the first message to the Arbiter that can
// carry it.
func (c *DeliveryContext) Send(i int, steer bool) {
	m := &c.Conversation.EditMail()[i]
	m.Sent = true
	if m.Wire == "" {
		m.Wire = m.ID
	}
	if m.Content == "" {
		m.Carries = nil
	}
	if m.Content == "" && m.To == contract.Arbiter && m.Kind != KindCorrection {
		c.Conversation.Attach(m)
	}
	a := c.Roster.Edit(m.To)
	if a.Role == RoleOrchestrator && a.ContextLow() && m.Content == "" {
		a.HandoffDemands++ // Render adds the demand
	}
	if !steer {
		a.Status, a.Since, a.Turn, a.Backoff, a.Stopped = AgentBusy, c.Out.Now, nil, nil, false
	}
	a.Turn = append(slices.Clip(a.Turn), m.Wire)
	if m.Content == "" {
		if a.Role == RoleArbiter {
			c.Rulings.ShowArbiter(c.RulingStanding, *m)
		}
		m.Content = c.Conversation.Render(*m, c.reading(m))
	}
	if a.HandoffBrief != "" && !m.CarriesBrief && !c.Conversation.CarriesBriefTo(m.To) {
		brief := HandoffBrief(c.Options.Delimiter, c.Roster.DisplayName(contract.Supervisor), a.HandoffBrief) +
			"\n"
		m.CarriesBrief, m.BriefBytes, m.Content = true, len(brief), brief+m.Content
	}
	c.Conversation.Ledger.Sent++
	c.Out.Do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content,
		Steer: steer}, Images: m.Images})
	if !steer {
		c.awaitProof(*m)
	}
}

// reading is what a message is rendered with.
func (c *DeliveryContext) reading(m *Mail) ConversationReading {
	to, _ := c.Roster.Agent(m.To)
	r := ConversationReading{Delimiter: c.Options.Delimiter, Sender: c.Roster.DisplayName(m.From),
		Untrusted: c.Roster.IsOrchestrator(m.From), Returned: to.ReturnNotice}
	switch {
	case m.To == contract.Arbiter:
		r.Standing = c.Rulings.ArbiterRequest.Text(c.Options.Templates)
	case to.Role == RoleOrchestrator && to.ContextLow():
		r.Demand = to.HandoffDemand()
	}
	return r
}

// NotSent handles a message that the bridge could not write. If the CLI has meanwhile proven that it has the
// message, only the answer about it was lost.
func (c *DeliveryContext) NotSent(f input.NotSent) (restart string) {
	a := c.Roster.Edit(f.Agent.ID)
	_, sent := c.Conversation.SentAs(f.MessageID)
	if a == nil || a.Generation != f.Agent.Generation || !sent || !a.Up() {
		return ""
	}
	exhausted := c.Conversation.SendFailed(f.MessageID, maxSends)
	c.Out.StopTimer(DeliveryTimerKey(f.MessageID))
	a.Turn = slices.DeleteFunc(slices.Clone(a.Turn), func(id string) bool { return id == f.MessageID })
	if a.Status == AgentBusy && len(a.Turn) == 0 {
		a.Status, a.Since = AgentReady, c.Out.Now
	}
	if !exhausted {
		return "" // pump sends it again
	}
	// Its stdin is stuck or closed: the message stays in the queue, and another process reads it.
	return "a message could not be written: " + f.Message
}

// maxSends is how often a message is written to one process before the process counts as one that cannot be
// written to.
const maxSends = 3
