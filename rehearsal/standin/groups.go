package standin

// A compaction counts in groups: an answer with the results of its calls, and what
// else followed it. What stands before the first answer is a group, too, and so is
// a message after a turn that ended without an answer.

// fewestGroups is what an automatic compaction needs, to sum up all but the last
// group; a conversation that was compacted before is summed up as a whole then
// (both observed with CLI 2.1.329).
const fewestGroups = 3

// begins reports whether an entry begins a group after the one before it.
func (e entry) begins(before *entry) bool {
	switch {
	case before == nil:
		return true
	case e.role == "assistant":
		return e.id == "" || e.id != before.id
	}
	return e.prompt && before.role != "assistant"
}

// groups are where the groups begin after what the last compaction left, which is
// one group whatever it holds.
func (h *history) groups() (starts []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var before *entry
	for i := range h.entries {
		e := &h.entries[i]
		if e.role == "system" && before != nil {
			continue
		}
		if i == 0 || i >= h.base && e.begins(before) && !h.answered(i) {
			starts = append(starts, i)
		}
		before = e
	}
	return starts
}

// answered reports whether entry i is a later block of an answer some of whose calls
// have results already.
func (h *history) answered(i int) bool {
	e := h.entries[i]
	if e.role != "assistant" || e.id == "" {
		return false
	}
	for j := i - 1; j >= h.base; j-- {
		if h.entries[j].role == "assistant" {
			return h.entries[j].id == e.id
		}
	}
	return false
}

// from returns the entries from i on.
func (h *history) from(i int) []entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]entry(nil), h.entries[i:]...)
}

// settle says that all entries so far are what a compaction left.
func (h *history) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.base = len(h.entries)
}

// compactedBefore reports whether a compaction has left anything.
func (h *history) compactedBefore() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.base > 0
}

// unread estimates the tokens of what followed the last answer, four bytes each.
func (h *history) unread() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for i := len(h.entries) - 1; i >= 0 && h.entries[i].role != "assistant"; i-- {
		for _, b := range h.entries[i].blocks {
			n += len(b)
		}
	}
	return n / 4
}

// line is what a compaction has to know of a linked line.
type line struct {
	kind    string // user, assistant, attachment, system
	uuid    string
	message string // API message id of an answer
	prompt  bool   // a message of the host's
}

func describeLine(o obj) line {
	l := line{}
	l.kind, _ = o["type"].(string)
	l.uuid, _ = o["uuid"].(string)
	_, l.prompt = o["promptSource"]
	if m, ok := o["message"].(obj); ok {
		l.message, _ = m["id"].(string)
	}
	return l
}

// lastGroup are the uuids of the lines of the last group.
func lastGroup(lines []line) (uuids []string) {
	start, before := 0, line{}
	for i, l := range lines {
		switch {
		case l.kind == "assistant" && (l.message == "" || l.message != before.message):
			start, before = i, l
		case l.kind == "user" && l.prompt && before.kind != "assistant":
			start, before = i, l
		case l.kind == "user":
			before = line{kind: "user", message: before.message}
		}
	}
	for _, l := range lines[start:] {
		uuids = append(uuids, l.uuid)
	}
	return uuids
}

// refills counts compactions after which the context was full again at once.
type refills struct {
	any   bool // there was a compaction
	calls int  // answers since the last one
	row   int
}

// Bounds of refills, as the CLI words them.
const (
	refillTurns = 3
	refillRow   = 3
)

func (r *refills) called() { r.calls++ }

func (r *refills) compacted() { r.any, r.calls = true, 0 }

// tooMany is asked when the context is full; when it says yes, it counts anew.
func (r *refills) tooMany() bool {
	switch {
	case !r.any:
		return false
	case r.calls > refillTurns:
		r.row = 0
		return false
	}
	r.row++
	if r.row < refillRow {
		return false
	}
	*r = refills{}
	return true
}
