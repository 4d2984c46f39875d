package rehearsal

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync"
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
	before given // position of the part before, and the input it answered
}

// play determines the answer to one request and advances the part.
func (s *stage) play(c *call) cue {
	s.mu.Lock()
	defer s.mu.Unlock()
	role := s.roleOf(c)
	q := cue{role: role}
	if c.aside == asideCompaction {
		s.summedUp(c.session)
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
		text := c.asideAnswer()
		if role != RoleSide {
			text = scriptEnded
			q.complain(c, "no actor fits this conversation, which begins: %s", excerpt(c.firstText))
		}
		q.reply = reply{blocks: []outBlock{{kind: "text", text: text}}, usage: p.account(c)}
		return q
	}
	q.actor = p.actor.name
	if role != RoleSide {
		q.again = p.resumePosition(c)
	}
	before := given{pos: p.pos, times: p.times}
	st, groups, problem := p.next(c.incoming)
	if p.sessionEnds(c.incoming) && problem != "" {
		p.pos, p.times = before.pos, before.times
		st, groups, problem = nil, nil, ""
	}
	if problem != "" {
		q.complain(c, "%s", problem)
	}
	s.capture(p, groups)
	if st == nil {
		q.reply = reply{blocks: []outBlock{{kind: "text", text: scriptEnded}}, usage: p.account(c)}
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
	p.keepComplete(r)
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
	last := p.given[len(p.given)-1]
	if last.pos != q.before.pos || last.times != q.before.times {
		return
	}
	p.given = p.given[:len(p.given)-1]
	p.pos, p.times = q.before.pos, q.before.times
}

// scriptEnded is the answer when the script has no more steps.
const scriptEnded = "The script has no more words."

func (q *cue) complain(c *call, format string, args ...any) {
	who := string(q.role)
	if q.actor != "" {
		who = q.actor
	}
	p := fmt.Sprintf("%s: session %s: %s", who, short(c.session), fmt.Sprintf(format, args...))
	q.problems = append(q.problems, p)
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

// summedUp records that a conversation of the session is about to be compacted.
func (s *stage) summedUp(session string) {
	for key, p := range s.parts {
		if strings.HasPrefix(key, session+"/") {
			p.compacted = true
		}
	}
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
			p.actor, p.ordinal = a, s.played[a]
		}
	}
}

func (m match) matches(c *call, role Role) bool {
	if m.role != role && (m.role != RoleAny || role == RoleSide) {
		return false
	}
	if m.contains != nil && !m.contains.MatchString(c.firstText) {
		return false
	}
	return m.model == nil || m.model.MatchString(c.Model)
}

func (s *stage) capture(p *part, groups map[string]string) {
	maps.Copy(s.captured, groups)
	maps.Copy(p.captured, groups)
}

// scope returns the data of templates. Values that this part captured take precedence over those of others;
// a group without a captured value is empty.
func (s *stage) scope(p *part, c *call) scope {
	sc := scope{}
	for g := range s.scenario.groups {
		sc[g] = ""
	}
	for _, m := range []map[string]string{s.captured, p.captured} {
		for k, v := range m {
			sc[k] = v
		}
	}
	sc["vars"] = s.vars
	sc["cwd"], sc["session"], sc["actor"], sc["incoming"] = c.cwd, c.session, p.actor.name, c.incoming
	return sc
}

func excerpt(s string) string { return fmt.Sprintf("%.200q", strings.Join(strings.Fields(s), " ")) }

func short(id string) string { return fmt.Sprintf("%.8s", id) }
