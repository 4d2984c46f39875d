package view

import (
	"errors"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// SlashWaiting lists the human's messages that no agent has received yet, oldest first: they can be changed, and
// most of them withdrawn.
func SlashWaiting(s *supervisor.State) []supervisor.Mail {
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
func touch(s *supervisor.State, c EditorCommand) (contract.CommandBody, error) {
	list := SlashWaiting(s)
	if len(list) == 0 {
		return nil, errors.New("no word of yours waits: what was said is on its way")
	}
	id := list[len(list)-1].ID
	if c.Name == "withdraw" {
		return contract.WithdrawMessage{MessageID: id}, nil
	}
	return contract.EditMessage{MessageID: id, Text: c.Rest}, nil
}
