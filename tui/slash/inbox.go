package slash

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/inbox"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// waits lists what waits for the human, the oldest first.
func waits(s *supervisor.State, now time.Time) string {
	if s == nil {
		return "There is no run yet."
	}
	list := inbox.Of(s)
	if len(list) == 0 {
		return "Nothing waits for you."
	}
	var b strings.Builder
	for _, i := range list {
		fmt.Fprintf(&b, "- **%s**, %s: %s\n", eventtext.Asks(i, Name(s, i.Agent)), eventtext.Age(i, now),
			eventtext.HowToAnswer(i))
		switch text := sanitize.Line(i.Text, 600); i.Kind {
		case inbox.Permission:
			fmt.Fprintf(&b, "  - `%s`\n", strings.ReplaceAll(text, "`", "'"))
		case inbox.Question, inbox.Acceptance, inbox.Trust, inbox.Recovery:
			fmt.Fprintf(&b, "  - %s\n", text)
		}
	}
	return b.String()
}
