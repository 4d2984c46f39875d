package clients

import (
	"cmp"
	"fmt"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// spawn shows an agent: as a session of its own, or as a tool call in the session of the run.
func (m *mapper) spawn(id string, b contract.Spawn) []frame {
	a, known := m.agents[id], m.agents[id] != nil
	if !known {
		a = &agentView{}
		m.agents[id] = a
	}
	a.name, a.gone, a.busy = sanitize.Line(cmp.Or(b.Name, id), maxTitle), false, false
	if b.Host != "" {
		a.name += " @" + sanitize.Line(b.Host, maxTitle)
	}
	frames := m.closeCalls(id) // of an earlier process
	if id == contract.Arbiter {
		return frames
	}
	title := a.name
	if b.SuccessorOf != "" {
		title += ", successor of " + m.name(b.SuccessorOf)
	}
	if b.Mode != "" {
		title += " (" + sanitize.Line(b.Mode, maxTitle) + ")"
	}
	prompt := bound(b.Prompt, maxDescription)
	if m.can.subagents {
		a.state = childState{State: "running"}
		return append(frames, frame{m.root, subagentUpdate{Kind: subagent, SessionID: m.child(id), Title: title,
			Description: prompt, Capabilities: &childCapabilities{&empty{}}, State: &childState{State: "running"}}})
	}
	if known {
		return append(frames, frame{m.root, toolCall{Update: toolChanged, ToolCallID: id, Status: inProgress}})
	}
	call := toolCall{Update: toolStarted, ToolCallID: id, Title: title, Kind: "think", Status: inProgress}
	if prompt != "" {
		call.Content = []toolContent{textContent(prompt)}
	}
	return m.on(m.root, call)
}

// done shows that an agent has ended.
func (m *mapper) done(id string, b contract.Done) []frame {
	a := m.agents[id]
	if a == nil || a.gone || id == contract.Arbiter {
		return nil
	}
	frames := m.closeCalls(id)
	a.gone = true
	if m.can.subagents {
		a.state = childState{State: "idle", StopReason: stopEndTurn}
		return append(frames, frame{m.root, subagentUpdate{Kind: subagent, SessionID: m.child(id),
			Capabilities: &childCapabilities{}, State: &childState{State: "idle", StopReason: stopEndTurn}}})
	}
	text := textContent("Ended: " + sanitize.Line(b.Reason, maxTitle))
	return append(frames, frame{m.root, toolCall{Update: toolChanged, ToolCallID: id, Status: completed,
		Content: []toolContent{text}}})
}

// childState shows the state of an Orchestrator, if it has changed.
func (m *mapper) childState(id string, s childState) []frame {
	a := m.agents[id]
	if a == nil || !m.can.subagents || id == contract.Arbiter || a.gone || a.state == s {
		return nil
	}
	a.state = s
	return m.on(m.root, subagentUpdate{Kind: subagent, SessionID: m.child(id), State: &s})
}

// workspace shows the working directory of an Orchestrator, if it has its own.
func (m *mapper) workspace(id string, b contract.Workspace) []frame {
	a := m.agents[id]
	if a == nil || a.dir == b.Dir {
		return nil
	}
	before := cmp.Or(a.dir, m.dir)
	a.dir = b.Dir
	if !m.can.subagents || id == contract.Arbiter || before == b.Dir {
		return nil
	}
	return m.on(m.root, subagentUpdate{Kind: subagent, SessionID: m.child(id), CWD: b.Dir})
}

// message shows a message from one party to another.
func (m *mapper) message(b contract.Message) []frame {
	id := b.MessageID
	if b.Edited {
		id = m.newID(id)
	}
	from, to := m.agents[b.From], m.agents[b.To]
	switch {
	case b.From == contract.Human && b.To == contract.Arbiter:
		frames := m.chunk(m.root, userChunk, id, b.Text)
		if b.Kind == "task" && m.shownTexts[b.Kind] == "" { // the run keeps its first title
			m.shownTexts[b.Kind] = b.Text
			frames = append(frames, frame{m.root, info{Kind: infoChanged, Title: sanitize.Line(b.Text, maxTitle)}})
		}
		return frames
	case b.From == contract.Human:
		session, _ := m.home(b.To)
		text := b.Text
		if session == m.root {
			text = "To " + m.name(b.To) + ": " + text
		}
		return m.chunk(session, userChunk, id, text)
	case b.To == contract.Human && b.From == contract.Arbiter:
		return m.chunk(m.root, agentChunk, id, b.Text)
	case b.To == contract.Human:
		return m.chunk(m.root, agentChunk, id, m.name(b.From)+": "+b.Text)
	case m.can.subagents && from != nil && to != nil:
		return m.between(b, id)
	}
	session := m.root
	if m.can.subagents && to != nil {
		session, _ = m.home(b.To)
	}
	text := fmt.Sprintf("%s → %s (%s): %s", m.name(b.From), m.name(b.To), sanitize.Line(b.Kind, maxTitle), b.Text)
	return m.chunk(session, thoughtChunk, id, text)
}

// between shows a message between two agents in the transcripts of both.
func (m *mapper) between(b contract.Message, id string) []frame {
	from, _ := m.home(b.From)
	to, _ := m.home(b.To)
	u := acpBetween{Kind: sessionMessage, MessageID: id, SenderSessionID: from, RecipientSessionID: to,
		Content: []textBlock{textOf(sanitize.Text(b.Text))}}
	if from == to {
		return m.on(from, u)
	}
	sent, received := u, u
	sent.RecipientMessageID, received.SenderMessageID = id, id
	return []frame{{from, sent}, {to, received}}
}

// prose shows text of an agent outside its verdict: as a message in the agent's own session, otherwise as a
// thought.
func (m *mapper) prose(id string, b contract.Assistant) []frame {
	session, prefix := m.home(id)
	kind := thoughtChunk
	switch {
	case b.Subagent != "":
		prefix += "(subagent) "
	case session != m.root:
		kind = agentChunk
	}
	return m.chunk(session, kind, "", prefix+b.Text)
}

// bound truncates a text to a number of runes.
func bound(s string, runes int) string {
	s = sanitize.Text(s)
	for i := range s {
		if runes--; runes < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
