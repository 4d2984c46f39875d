package host

import (
	"encoding/json"
	"os"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Status implements [control.Service].
func (s *service) Status() control.Status {
	st := s.run.Loop.Snapshot()
	status := control.Status{
		Run: s.run.ID, CWD: s.run.CWD, PID: os.Getpid(), Title: command.Title(st.Task.Text),
		Began: st.Budget.Runtime.Began.UTC(), Phase: string(st.Task.Phase), Paused: st.Paused, Halted: st.Halted,
		Seq: s.run.Clients.Last(), Cost: contract.RoundUSD(st.Spent()), Agents: []control.AgentStatus{},
		Rehearsal: st.Options.Rehearsal, LogLines: s.run.Clients.LogLines(), Permissions: st.Options.Permissions,
	}
	for _, a := range st.Agents {
		status.Agents = append(status.Agents, control.AgentStatus{
			ID: a.ID, Name: a.Name, Mode: a.Mode, Status: string(a.Status), Since: a.Since.UTC(), Session: a.SessionID,
			Context: a.Context.Pct, Cost: contract.RoundUSD(a.Spent()), Host: a.Host,
			Attached: s.run.Opener.Terminals.Holder(a.ID),
		})
	}
	status.Inbox = inboxItems(st)
	return status
}

// inboxItems returns the items that wait for a human, in the form for clients of the socket.
func inboxItems(s *supervisor.State) []control.InboxItem {
	list := []control.InboxItem{}
	for _, i := range supervisor.InboxOf(s) {
		item := control.InboxItem{
			ID: i.ID, Kind: string(i.Kind), Agent: i.Agent, Host: i.Host, Text: i.Text, Since: i.Since.UTC(),
			Choices: i.Choices, Optional: i.Optional,
		}
		if i.Request != nil {
			raw, err := json.Marshal(i.Request)
			if err != nil {
				panic(err) // our own type, from parsed input
			}
			item.Request = raw
		}
		list = append(list, item)
	}
	return list
}
