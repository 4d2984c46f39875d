package subcommands

import (
	"cmp"
	"context"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// meantRun returns the status of the live run that a command line means: the one in --session or the first
// argument, or else the run of this directory.
func meantRun(h *command.Line) (st control.Status) {
	store := openRuns(h)
	if store == nil {
		return st
	}
	defer store.Close()
	named := h.Given["session"]
	if len(h.Args) > 0 && strings.HasPrefix(h.Command.ArgsUsage, "[RUN] ") {
		named = cmp.Or(named, h.Args[0])
	}
	info, err := runstore.FindLive(store, named)
	if err != nil && h.Given["session"] == "" { // the argument is no run
		info, err = runstore.FindLive(store, "")
	}
	if err != nil {
		return st
	}
	client, st, err := store.Dial(context.Background(), info, completes, nil)
	if err == nil {
		client.Close()
	}
	return st
}

func offeredAgents(h *command.Line) (list []command.Entry) {
	for _, a := range meantRun(h).Agents {
		list = append(list, command.Entry{Term: a.ID, Text: sanitize.Line(a.Name+", "+a.Status, 60)})
	}
	return list
}

// offeredRequests returns the pending permission requests, and the word for all of them.
func offeredRequests(h *command.Line) (list []command.Entry) {
	for _, i := range meantRun(h).Inbox {
		if i.Kind == string(supervisor.InboxPermission) {
			list = append(list, command.Entry{Term: i.ID, Text: sanitize.Line(i.Agent+", "+i.Text, 60)})
		}
	}
	if len(list) > 0 {
		list = append(list, command.Entry{Term: AllRequests, Text: "every open request"})
	}
	return list
}

// offeredOptions returns the options of the inbox items that wait for a choice.
func offeredOptions(h *command.Line) (list []command.Entry) {
	for _, i := range meantRun(h).Inbox {
		for _, option := range i.Choices {
			list = append(list, command.Entry{Term: option, Text: sanitize.Line(i.Text, 60)})
		}
	}
	return list
}
