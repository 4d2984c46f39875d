package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
)

// Reading is a message that the Arbiter's session has taken up since it last ruled, as it
// was sent: what the next ruling is made from, beside the conversation before it.
type Reading struct{ Message, Content string }

// readingKept bounds what is recorded of the messages of one ruling, in bytes.
const readingKept = 256 << 10

// read notes that the Arbiter has taken up a message.
func (st *step) read(m conversation.Mail) {
	if m.To != contract.Arbiter || m.Content == "" {
		return
	}
	st.forgetReading(m.ID) // it may have been sent twice
	st.Readings = append(slices.Clip(st.Readings), Reading{Message: m.ID, Content: m.Content})
}

// forgetReading takes back that a message was read: it is sent again.
func (st *step) forgetReading(id string) {
	if slices.ContainsFunc(st.Readings, func(r Reading) bool { return r.Message == id }) {
		st.Readings = slices.DeleteFunc(slices.Clone(st.Readings), func(r Reading) bool { return r.Message == id })
	}
}

// whatWasRead is the text of what the Arbiter read for the ruling at hand; the next ruling
// begins with nothing.
func (st *step) whatWasRead() string {
	parts := make([]string, len(st.Readings))
	for i, r := range st.Readings {
		parts[i] = r.Content
	}
	st.Readings = nil
	text := strings.Join(parts, "\n")
	if len(text) <= readingKept {
		return text
	}
	return strings.ToValidUTF8(text[:readingKept], "") + fmt.Sprintf("\n(cut here: the first %d of %d bytes are recorded)", readingKept, len(text))
}
