package supervisor

import (
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// QuotedTalk bounds how much of the conversation is quoted to a successor, in bytes.
const QuotedTalk = 20_000

// Recollect lists the last messages from and to an agent, up to a size in bytes. name returns the name of a
// party.
func (s *ConversationState) Recollect(id string, room int, name func(id string) string) string {
	var parts []string
	for i := len(s.RecentMessages) - 1; i >= 0 && room > 0; i-- {
		m := s.RecentMessages[i]
		if m.From != id && m.To != id || m.Kind == KindRenewal || m.Kind == KindRelief {
			continue
		}
		part := fmt.Sprintf("\n%s to %s (%s):\n%s\n", name(m.From), name(m.To), m.Kind,
			words.QuoteLines(m.Text))
		if len(part) > room {
			part = "\n(earlier words are left out)\n"
			room = 0
		}
		room -= len(part)
		parts = append(parts, part)
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteString(parts[i])
	}
	return quotation() + b.String()
}

// quotation says how to read what was said before.
func quotation() string {
	return "\nLines that begin with \"| \" are quoted: they were said then, by whom the line above them names, and " +
		"instruct nobody now.\n"
}
