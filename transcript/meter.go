package transcript

import "slices"

// Usage is the tokens of one answer of the model.
type Usage struct {
	Input         int `json:"input_tokens"` // not in any cache
	Output        int `json:"output_tokens"`
	CacheRead     int `json:"cache_read_input_tokens"`
	CacheCreation int `json:"cache_creation_input_tokens"`
}

// Context returns the size of the input side: what was in the window when the answer began. The CLI counts the
// same (observed with CLI 2.1.329: its total is this sum for the last answer; the output is added with the next
// one).
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheCreation }

// plausible reports whether the figures can be true: no API reports negative ones, and no window is that large.
// An implausible figure could overflow, so it must not be used.
func (u Usage) plausible() bool {
	for _, n := range [...]int{u.Input, u.CacheRead, u.CacheCreation, u.Output} {
		if n < 0 || n > maxTokens {
			return false
		}
	}
	return true
}

const maxTokens = 1 << 30

// Sample is the usage in one line or frame of an assistant. Each block of a message has a line, and all of them
// report the usage of the same message.
type Sample struct {
	MessageID string
	Model     string
	Usage     Usage
	Sidechain bool // of a subagent
}

// Counts reports whether a sample is a reading of the main thread's context: not of a subagent, from a model
// and not from the CLI in its name, and with a size.
func (s Sample) Counts() bool {
	return !s.Sidechain && s.Model != synthetic && s.Usage.plausible() && s.Usage.Context() > 0
}

// Meter tracks the context of one session. The zero value is ready to use. It has one owner and does no
// locking.
type Meter struct {
	tokens int
	recent []figure // the last messages and compactions that were read, oldest first
	fresh  bool     // something was read since the last mark
	marks  []int    // sizes at the ends of the last turns since a compaction, oldest first
}

const (
	maxMarks  = 8   // turns that the forecast uses
	maxRecent = 256 // more messages than one source can lag behind another
)

// figure is the size of the context that a message reports. That of a compaction is 0.
type figure struct {
	id     string
	tokens int
}

// Known reports whether a message or a compaction was read, and the size that it reported.
func (m *Meter) Known(id string) (tokens int, ok bool) {
	i := slices.IndexFunc(m.recent, func(f figure) bool { return f.id == id })
	if id == "" || i < 0 {
		return 0, false
	}
	return m.recent[i].tokens, true
}

func (m *Meter) remember(id string, tokens int) {
	if id != "" {
		m.recent = latest(m.recent, figure{id, tokens}, maxRecent)
	}
}

// Sample records the usage in one line or frame of an assistant, and reports whether it is a new reading: one
// that counts, and the first with its message id. The stream and the transcript of one session may both be
// recorded; the later of the two adds nothing.
func (m *Meter) Sample(s Sample) bool {
	if _, known := m.Known(s.MessageID); known || !s.Counts() {
		return false
	}
	m.tokens, m.fresh = s.Usage.Context(), true
	m.remember(s.MessageID, m.tokens)
	return true
}

// Passed makes a message known without a reading: a later one has followed it.
func (m *Meter) Passed(s Sample) {
	if _, known := m.Known(s.MessageID); !known && s.Counts() {
		m.remember(s.MessageID, s.Usage.Context())
	}
}

// Compacted makes all earlier readings invalid: Tokens is 0 until the next reading, and a repeat of a known
// message is not one. Each compaction counts once, by its id; Compacted returns false for a known one.
func (m *Meter) Compacted(id string) bool {
	if _, known := m.Known(id); known {
		return false
	}
	m.tokens, m.marks, m.fresh = 0, nil, false
	m.remember(id, 0)
	return true
}

// TurnEnded marks the end of a turn for the forecast. A turn without a reading says nothing about growth and
// leaves no mark.
func (m *Meter) TurnEnded() {
	if !m.fresh {
		return
	}
	m.fresh = false
	m.marks = latest(m.marks, m.tokens, maxMarks)
}

// latest appends v to a list and keeps only the last most elements.
func latest[T any](list []T, v T, most int) []T {
	if len(list) >= most {
		list = slices.Delete(list, 0, len(list)-most+1)
	}
	return append(list, v)
}

// Tokens returns the size of the context, 0 if it is not known.
func (m *Meter) Tokens() int { return m.tokens }

// TurnsLeft returns how many more turns fit below limit, at the mean growth of the last turns. It leaves out
// turns that shrank the context (the CLI drops old tool results), as they say nothing about the cost of work. 0
// means that it is not known, or that no turn is left.
func (m *Meter) TurnsLeft(limit int) int {
	grown, turns := 0, 0
	for i := 1; i < len(m.marks); i++ {
		if d := m.marks[i] - m.marks[i-1]; d >= 0 {
			grown += d
			turns++
		}
	}
	remaining := limit - m.tokens
	if grown == 0 || remaining <= 0 || m.tokens == 0 {
		return 0
	}
	return int(int64(remaining) * int64(turns) / int64(grown))
}

// Window has the limits of a session's context, in tokens; 0 means not known, or no limit.
type Window struct {
	Model      int // the model's window
	Compaction int // where the CLI compacts automatically, if it does
	Cap        int // what the user allows
}

// Effective returns the lowest of the limits, 0 if there is none.
func (w Window) Effective() int {
	least := 0
	for _, n := range [...]int{w.Model, w.Compaction, w.Cap} {
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// Percent returns how full a window is: 0 if the window is not known, more than 100 if it overflows.
func Percent(tokens, window int) float64 {
	if window <= 0 || tokens <= 0 {
		return 0
	}
	return 100 * float64(tokens) / float64(window)
}
