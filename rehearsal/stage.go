package rehearsal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript"
)

// scope is the data of a template.
type scope map[string]any

// stage is the play in progress: which actor plays which conversation, and the position of each. One mutex
// guards all of it, because expectations capture names for every actor; no I/O is done while it is held.
type stage struct {
	scenario *Scenario
	vars     map[string]string

	mu       sync.Mutex
	parts    map[string]*part // by conversation
	played   map[*actor]int   // how many conversations have matched each actor
	sessions map[string]Role  // role of the main thread of a session, as seen so far
	captured map[string]string
}

func newStage(sc *Scenario, vars map[string]string) *stage {
	return &stage{
		scenario: sc, vars: vars,
		parts: map[string]*part{}, played: map[*actor]int{},
		sessions: map[string]Role{}, captured: map[string]string{},
	}
}

// cue is the stage's decision for one request.
type cue struct {
	role     Role
	actor    string
	step     string // file:line of the step, for the record
	again    bool   // the answer before was lost, and is given again
	reply    reply
	problems []string

	part   *part // whose answer it is
	before place // of the part
}

// play determines the answer to one request and advances the part.
func (s *stage) play(c *call) cue {
	s.mu.Lock()
	defer s.mu.Unlock()
	role := s.roleOf(c)
	q := cue{role: role}
	if c.aside == asideCompaction {
		for key, p := range s.parts {
			if strings.HasPrefix(key, c.session+"/") {
				p.compacted = true
			}
		}
	}
	p := s.partFor(c, role)
	if role == RoleArbiter && p.insists(c.incoming) {
		if p.actor != nil {
			q.actor = p.actor.name
		}
		q.reply = p.complete(c)
		return q
	}
	if p.actor == nil {
		if q.reply = p.says(c, c.asideAnswer()); role != RoleSide {
			q.reply = p.says(c, scriptEnded)
			q.complain(c, "no actor fits this conversation, which begins: %s", excerpt(c.firstText))
		}
		return q
	}
	q.actor = p.actor.name
	if role != RoleSide {
		q.again = p.resumePosition(c)
	}
	before := p.place
	st, problem := s.next(p, c.incoming)
	switch ends := p.sessionEnds(c.incoming); {
	case problem != "" && ends:
		p.place, st = before, nil
	case problem != "":
		q.complain(c, "%s", problem)
	}
	if st == nil {
		q.reply = p.says(c, scriptEnded)
		return q
	}
	q.step = fmt.Sprintf("%s:%d", s.scenario.file, st.line)
	r, errs := st.reply(s.scope(p, c), p, c)
	for _, err := range errs {
		q.complain(c, "%v", err)
	}
	for _, u := range st.use {
		if strings.HasPrefix(u.tool, "mcp__arbiter__") || u.tool == structuredOutput {
			if !c.offers(u.tool) && !(c.direct && u.tool == structuredOutput) {
				q.complain(c, "step %s uses %s, which the request does not offer", q.step, u.tool)
			}
		}
	}
	if c.direct {
		r = r.plain()
	}
	q.reply, q.part, q.before = r, p, before
	p.remember(before, r)
	return q
}

// takeBack resets a part to its position before an answer of which nothing was sent. It does so only if the
// part has not advanced since.
func (s *stage) takeBack(q cue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := q.part
	if p == nil || len(p.given) == 0 {
		return
	}
	if last := len(p.given) - 1; p.given[last].place == q.before {
		p.given, p.place = p.given[:last], q.before
	}
}

// says is an answer of a text alone.
func (p *part) says(c *call, text string) reply {
	return reply{blocks: []transcript.Block{{Type: "text", Text: text}}, usage: p.account(c)}
}

// scriptEnded is the answer when the script has no more steps.
const scriptEnded = "The script has no more words."

func (q *cue) complain(c *call, format string, args ...any) {
	q.problems = append(q.problems, fmt.Sprintf("%s: session %s: %s", cmp.Or(q.actor, string(q.role)), short(c.session),
		fmt.Sprintf(format, args...)))
}

// roleOf determines a request's role from the request and its session: a request without the arbiter's
// tools in a session that has them is a subagent's, even if the client does not mark it as one.
func (s *stage) roleOf(c *call) Role {
	known := s.sessions[c.session]
	switch c.role {
	case RoleArbiter, RoleOrchestrator:
		s.sessions[c.session] = c.role
	case RoleMain:
		if known == RoleArbiter || known == RoleOrchestrator {
			return RoleSubagent
		}
	}
	return c.role
}

// partFor finds or casts the part of a conversation. A subagent is distinguished from others of its session
// by its id, or otherwise by its first text.
func (s *stage) partFor(c *call, role Role) *part {
	key := c.session + "/" + string(role)
	if role == RoleSubagent {
		key += "/" + cmp.Or(c.agent, c.firstText)
	}
	if p, ok := s.parts[key]; ok {
		return p
	}
	p := &part{captured: map[string]string{}}
	s.parts[key] = p
	s.assignActor(p, c, role)
	p.catchUp(s, c)
	return p
}

// assignActor gives the part to the first actor that matches. An actor with `nth` counts the conversations that
// match the rest of its conditions, including those that another actor then plays.
func (s *stage) assignActor(p *part, c *call, role Role) {
	for _, a := range s.scenario.actors {
		if !a.match.matches(c, role) {
			continue
		}
		s.played[a]++
		if p.actor == nil && (a.match.nth == 0 || a.match.nth == s.played[a]) {
			p.actor = a
		}
	}
}

func (m match) matches(c *call, role Role) bool {
	return (m.role == role || m.role == RoleAny && role != RoleSide) &&
		(m.contains == nil || m.contains.MatchString(c.firstText)) && (m.model == nil || m.model.MatchString(c.Model))
}

// scope returns the data of templates. Values that this part captured take precedence over those of others;
// a group without a captured value is empty.
func (s *stage) scope(p *part, c *call) scope {
	sc := scope{}
	for g := range s.scenario.groups {
		sc[g] = cmp.Or(p.captured[g], s.captured[g])
	}
	sc["vars"] = s.vars
	sc["cwd"], sc["session"], sc["actor"], sc["incoming"] = c.cwd, c.session, p.actor.name, c.incoming
	return sc
}

func excerpt(s string) string { return fmt.Sprintf("%.200q", strings.Join(strings.Fields(s), " ")) }

func short(id string) string { return fmt.Sprintf("%.8s", id) }

// place is where a part is in its script.
type place struct {
	pos   int // the next step
	times int // how many times it was played already
}

// part is one actor in one conversation.
type part struct {
	place
	actor     *actor // nil: no actor fits
	captured  map[string]string
	given     []given         // answers, oldest first
	compacted bool            // the history was compacted since the last request
	completed json.RawMessage // its last COMPLETE
	ending    bool            // its last tool call was denied because its session ends
	bytes     int             // of the last request
	context   int             // tokens the last answer claimed
}

// given is an answer of the script, kept to check whether it arrived.
type given struct {
	place   // before
	toolIDs []string
	text    string
}

// next chooses the step for an input, keeps what it captures, and advances. A nil step means that the script has ended.
func (s *stage) next(p *part, incoming string) (st *step, problem string) {
	steps := p.actor.steps
	for p.pos < len(steps) {
		st = steps[p.pos]
		if s.matches(p, st, incoming) {
			p.advance(st)
			return st, ""
		}
		// A repeated step that was played is over when its expectation no longer matches.
		if p.times == 0 || p.pos+1 == len(steps) {
			break
		}
		p.place = place{pos: p.pos + 1}
	}
	for _, st := range p.actor.otherwise {
		if s.matches(p, st, incoming) {
			return st, ""
		}
	}
	if p.pos >= len(steps) {
		return nil, fmt.Sprintf("no step is left for: %s", excerpt(incoming))
	}
	// The play continues, so that one wrong text does not hide what follows.
	p.advance(st)
	return st, fmt.Sprintf("line %d: expected /%v/, got: %s", st.line, st.expect, excerpt(incoming))
}

// sessionEnding matches the text with which arbiter denies a tool call of a session that it is ending
// (bridge/claude's judge and supervisor/runloop's). The CLI passes it to the model, which may be called
// once or twice more before the process has ended.
var sessionEnding = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`This session is being ended\.|[Tt]he (run|agent) is ending`)
})

// requiredOutput begins the CLI's reminder to a model that has not called StructuredOutput.
const requiredOutput = "[structured-output-enforce]"

// sessionEnds reports whether arbiter is ending the conversation's session. No script has a step for later
// requests of such a session, because their number is not predictable.
func (p *part) sessionEnds(incoming string) bool {
	reminded := p.ending && strings.Contains(incoming, requiredOutput)
	p.ending = reminded || sessionEnding().MatchString(incoming)
	return p.ending
}

// openPoints is in the notice with which arbiter sends a COMPLETE back once (supervisor's sendBackOpen).
const openPoints = "COMPLETE did not take effect yet."

// insists reports whether a script repeats its COMPLETE, which was sent back for open points: unless the next step
// expects the notice.
func (p *part) insists(incoming string) bool {
	if !strings.Contains(incoming, openPoints) {
		return false
	}
	if p.actor == nil || p.pos >= len(p.actor.steps) || p.actor.steps[p.pos].expect == nil {
		return true
	}
	return !p.actor.steps[p.pos].expect.MatchString(incoming)
}

// complete repeats the last COMPLETE, or gives one where another decider decided it.
func (p *part) complete(c *call) reply {
	verdict := p.completed
	if verdict == nil {
		verdict = json.RawMessage(`{"decision":"COMPLETE","message":"It is done.","reason":"It is decided.",` +
			`"summary":"done"}`)
	}
	r := reply{usage: p.account(c), blocks: []transcript.Block{{Type: "tool_use", ID: newID("toolu_"),
		Name: structuredOutput, Input: verdict}}}
	r.usage.Output = r.size()/bytesPerToken + 1
	return r
}

func (p *part) advance(st *step) {
	if p.times++; p.times >= st.repeat && st.repeat != math.MaxInt {
		p.place = place{pos: p.pos + 1}
	}
}

// matches reports whether an input is what a step expects, and keeps the groups.
func (s *stage) matches(p *part, st *step, incoming string) bool {
	if st.expect == nil {
		return true
	}
	m := st.expect.FindStringSubmatch(incoming)
	for i, name := range st.expect.SubexpNames() {
		if m != nil && name != "" && m[i] != "" {
			s.captured[name], p.captured[name] = m[i], m[i]
		}
	}
	return m != nil
}

// remember records the answer. An answer that a fault withholds, or that has a stop reason of its own (a
// refusal is never kept), cannot get lost.
func (p *part) remember(before place, r reply) {
	g := given{place: before}
	if r.fault != nil || r.stopReason != "" {
		return
	}
	for _, b := range r.blocks {
		switch b.Type {
		case "text":
			g.text = strings.TrimSpace(b.Text)
		case "tool_use":
			g.toolIDs = append(g.toolIDs, b.ID)
		}
		var v struct{ Decision string }
		if b.Name == structuredOutput && json.Unmarshal(b.Input, &v) == nil && v.Decision == "COMPLETE" {
			p.completed = b.Input
		}
	}
	if g.text != "" || len(g.toolIDs) > 0 {
		p.given = append(p.given, g)
	}
}

// aside is a request outside a conversation's history. It is answered without a step, unless an actor
// matches role side.
type aside int

const (
	asideNone       aside = iota
	asideToolless         // requests that offer no tools: titles, summaries of tool use
	asideQuestion         // side_question of the control protocol: the whole history, all tools
	asideCompaction       // the request for a summary before a compaction: also the whole history, all tools
)

// readAside determines the kind of a request. A side question and a compaction offer the session's tools,
// to hit its prompt cache, and differ from a turn only in the last block. The openings were observed with
// CLI 2.1.329.
func (c *call) readAside() aside {
	// Texts of hooks may follow, as messages of role system.
	at := len(c.Messages) - 1
	for at > 0 && c.Messages[at].Role == "system" {
		at--
	}
	if last := c.Messages[at]; last.Role == "user" {
		for _, b := range last.Content {
			switch {
			case strings.HasPrefix(b.Text, "<system-reminder>This is a side question"):
				return asideQuestion
			case strings.HasPrefix(b.Text, "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."):
				return asideCompaction
			}
		}
	}
	if len(c.Tools) == 0 {
		return asideToolless
	}
	return asideNone
}

// asideAnswer returns a text that the client accepts.
func (c *call) asideAnswer() string {
	switch c.aside {
	case asideQuestion:
		return "The thread remembers; ask what it was told."
	case asideCompaction:
		return "<analysis>The rehearsal holds nothing that must be kept.</analysis>\n" +
			"<summary>The work goes on as scripted.</summary>"
	}
	if schema := c.OutputConfig.Format.Schema; schema != nil && schema.Properties["title"] != nil {
		return `{"title":"Rehearsal"}` // of the session
	}
	return "A rehearsal."
}

// resumePosition goes back to the first answer that is missing or incomplete in the history: the CLI was killed
// before it had kept it, and was resumed. Then it kept none of the later ones either. An answer that was
// cut on purpose counts as given; one that a compaction removed had arrived.
func (p *part) resumePosition(c *call) (moved bool) {
	at, arrived := 0, 0
	for i, g := range p.given {
		if j := slices.IndexFunc(c.history[at:], g.begins); j >= 0 {
			at, arrived = at+j+1, i+1
		}
	}
	if p.compacted = p.compacted && arrived == 0; p.compacted {
		p.compacted, p.given = false, nil
		return false
	}
	cut := onPurpose(c.pending)
	switch last := len(c.history) - 1; {
	case last < 0:
	case arrived > 0 && at == last+1 && !cut && len(p.given[arrived-1].toolIDs) != countCalls(c.history[last].answer):
		arrived--
		c.withdraw(last)
	case arrived < len(p.given) && at <= last && cut && p.given[arrived].beginsWith(c.history[last]):
		arrived++
	}
	arrived += len(spent(c.pending))
	if arrived >= len(p.given) {
		return false
	}
	p.place, p.given = p.given[arrived].place, p.given[:arrived]
	return true
}

// begins reports whether an exchange contains the answer, or the beginning of it.
func (g given) begins(x exchange) bool {
	return slices.ContainsFunc(x.answer, func(b transcript.Block) bool {
		return b.ID != "" && slices.Contains(g.toolIDs, b.ID) || g.text != "" && strings.Contains(b.Text, g.text)
	})
}

// beginsWith reports whether the exchange's text is the beginning of the answer's.
func (g given) beginsWith(x exchange) bool {
	kept := strings.TrimSpace(x.answer.text())
	return kept != "" && strings.HasPrefix(g.text, kept)
}

func countCalls(c content) int {
	n := 0
	for _, b := range c {
		if b.Type == "tool_use" {
			n++
		}
	}
	return n
}

// catchUp moves a part that is met in the middle to the place where its history ends: a session that is
// resumed against a new server continues from there, not from the start. Steps that refuse leave no trace
// in a history and are skipped.
func (p *part) catchUp(s *stage, c *call) {
	if p.actor == nil || c.aside != asideNone {
		return
	}
	for i := 0; i < len(c.history); {
		x := c.history[i]
		p.skipSpent(s, x.incoming)
		p.skipRefusals()
		before := p.place
		st, _ := s.next(p, textOf(x.incoming))
		if st.leftOpen(x.answer) && !onPurpose(c.after(i)) {
			p.place = before
			c.withdraw(i)
			continue
		}
		i++
	}
	p.skipSpent(s, c.pending)
}

func (p *part) skipSpent(s *stage, words []inputPart) {
	for _, i := range spent(words) {
		p.skipRefusals()
		s.next(p, textOf(words[:i]))
	}
}

func (p *part) skipRefusals() {
	for p.pos < len(p.actor.steps) && !p.actor.steps[p.pos].fault.answers() {
		p.place = place{pos: p.pos + 1}
	}
}

// leftOpen reports whether an answer is only the beginning of the step's content: the CLI keeps each block
// when it is complete.
func (st *step) leftOpen(answer content) bool {
	switch {
	case st == nil || st.stopReason != "":
		return false
	case len(st.use) > 0:
		return countCalls(answer) < len(st.use)
	}
	return st.say != nil && answer.text() == ""
}
