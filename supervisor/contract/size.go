package contract

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// TooLarge says why a command is too large; empty: it is not.
func TooLarge(b CommandBody) string {
	size := 0
	switch b := b.(type) {
	case Say:
		size = len(b.Text)
	case EditMessage:
		size = len(b.Text)
	case Permit:
		size = len(b.Message)
	case SetPlan:
		for _, s := range b.Steps {
			size += len(s.Text)
		}
	case SetAcceptance:
		for _, c := range b.Criteria {
			size += len(c.Text) + len(c.Command)
		}
	}
	if size <= MaxCommandText {
		return ""
	}
	return fmt.Sprintf("the text is too large: it has %s bytes, the limit is %s; %s", words.Number(size),
		words.Number(MaxCommandText), SmallerText)
}

// SmallerText says what to do with a text that is too large.
const SmallerText = "put it into files of the workspace, and say which to read"

// MaxCommandText bounds the text of a command, in bytes. It is more than most models can read at once. A larger
// text is sent to no agent.
const MaxCommandText = 1 << 20
