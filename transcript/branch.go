package transcript

import "slices"

// remembered returns the nodes that a resumed session knows, in the order of the file: the branch of the last
// leaf, and the nodes that belong to it.
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

// leaf returns the end of the branch that counts: of all ends the one whose last message has the latest time,
// and of equal ones the last in the file (observed with CLI 2.1.329: it does not follow a branch that was
// appended with an earlier time, but it follows a conversation whose clock went back, since that has only one
// end).
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

// findSpeakers sets, for each node, the nearest message at or before it. The nodes of a loop without a message
// get none.
func (h *history) findSpeakers() {
	for _, n := range h.nodes {
		var path []*node
		at := n
		for at != nil && !at.walked && !at.isMessage {
			at.walked = true
			path = append(path, at)
			at = h.before(at)
		}
		var found *node
		switch {
		case at == nil:
		case at.isMessage:
			at.speaker, found = at, at
		default:
			found = at.speaker
		}
		for _, p := range path {
			p.speaker = found
		}
	}
}

// before returns the node that n continues. A link to a lost node leads to the line before n, as in the CLI.
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

// widen adds parallel nodes to the branch: the other blocks of API messages that are on it. Each tool's result
// continues its own block, so that only one of them is on the branch itself; a resume includes all of them.
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
