package slash

import (
	"errors"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/editor"
)

// Waiting lists the human's messages that no agent has received yet, oldest first: they can be changed, and
// most of them withdrawn.
func Waiting(s *supervisor.State) []supervisor.Mail {
	if s == nil {
		return nil
	}
	var list []supervisor.Mail
	for _, m := range s.Conversation.Queue() {
		if m.From == contract.Human && m.Wire == "" {
			list = append(list, m)
		}
	}
	return list
}

// touch returns the command for /reword and /withdraw, or an error if it is not possible.
func touch(s *supervisor.State, c editor.Command) (contract.CommandBody, error) {
	list := Waiting(s)
	if len(list) == 0 {
		return nil, errors.New("no word of yours waits: what was said is on its way")
	}
	id := list[len(list)-1].ID
	if c.Name == "withdraw" {
		return contract.WithdrawMessage{MessageID: id}, nil
	}
	return contract.EditMessage{MessageID: id, Text: c.Rest}, nil
}
