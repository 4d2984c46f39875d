package transcript

import "slices"

// remembered returns the nodes that a process knows which resumes the session, in the order of
// the file: the branch of the last leaf, and the nodes that belong to it.
func (h *history) remembered() []*node {
	at := h.leaf()
	for at != nil && !at.live {
		at.live = true
		at = h.before(at)
	}
	h.widen()
	live := make([]*node, 0, len(h.nodes))
	for _, n := range h.nodes {
		if n.live {
			live = append(live, n)
		}
	}
	return live
}

// leaf is the end of the branch that counts: of all ends the one whose last
// message has the latest time, of equal ones the last in the file (observed with
// CLI 2.1.329: a branch appended with an earlier time is not followed, and a
// conversation whose clock went back still is, as it has one end only).
func (h *history) leaf() *node {
	for _, n := range h.nodes {
		if p := h.before(n); p != nil {
			p.children = true
		}
	}
	var leaf, leafSpeaker *node
	h.findSpeakers()
	for _, n := range h.nodes {
		if n.children {
			continue
		}
		speaker := n.speaker
		if speaker == nil {
			continue
		}
		if leaf == nil || speaker.time > leafSpeaker.time ||
			speaker.time == leafSpeaker.time && speaker.order >= leafSpeaker.order {
			leaf, leafSpeaker = n, speaker
		}
	}
	return leaf
}

// findSpeakers sets for each node the nearest message at it or before it. A loop
// that no message is part of has none.
func (h *history) findSpeakers() {
	for _, n := range h.nodes {
		var path []*node
		at := n
		for at != nil && !at.walked && !at.speaks {
			at.walked = true
			path = append(path, at)
			at = h.before(at)
		}
		var found *node
		switch {
		case at == nil:
		case at.speaks:
			at.speaker, found = at, at
		default:
			found = at.speaker
		}
		for _, p := range path {
			p.speaker = found
		}
	}
}

// before is the node that n continues. A link to something that was lost leads to
// the line before n, as with the CLI.
func (h *history) before(n *node) *node {
	if n.parent == "" {
		return nil
	}
	if p := h.byUUID[n.parent]; p != nil {
		return p
	}
	if n.order > 0 {
		return h.nodes[n.order-1]
	}
	return nil
}

// widen adds what ran side by side with the branch: blocks of an API message
// that has others on it. Each tool's result continues its own block, so that only
// one of them is on the branch itself; a resume brings all together.
func (h *history) widen() {
	var messages []string
	for _, n := range h.nodes {
		if n.live && n.api != "" && n.kind == answer {
			messages = append(messages, n.api)
		}
	}
	slices.Sort(messages)
	for _, n := range h.nodes {
		if n.kind == answer && n.api != "" {
			if _, found := slices.BinarySearch(messages, n.api); found {
				n.live = true
			}
		}
	}
}
