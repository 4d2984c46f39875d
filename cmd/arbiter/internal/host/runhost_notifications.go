package host

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// lastNotifications bounds the final wait for servers of --notify at the end of a run's process.
const lastNotifications = 3 * time.Second

// notifications posts new items that wait for the human, and how the run ended. The zero value posts nothing.
type notifications struct {
	notifier *settings.Notifier // nil unless --notify names a URL
	mask     func(string) string
}

// openNotifications starts posting to targets. The human is informed about the first failure of each.
func openNotifications(
	targets []settings.Target, run string, mask func(string) string, in *Sender, log *slog.Logger,
) notifications {
	if len(targets) == 0 {
		return notifications{}
	}
	failed := func(err error) {
		log.Warn("notification failed", "err", err)
		in.Notice(contract.Arbiter,
			fmt.Sprintf("--notify: %v. The run continues; further failures there are not reported.", err))
	}
	return notifications{settings.NewNotifier(settings.NotifierOptions{Targets: targets, Run: run, Failed: failed}), mask}
}

// look posts the new items that wait for the human.
func (n notifications) look(s *supervisor.State) {
	if n.notifier != nil {
		n.notifier.Look(n.mask(command.Title(s.Task.Text)), supervisor.InboxOf(s))
	}
}

// end posts how the run ended.
func (n notifications) end(s *supervisor.State, exit contract.Exit) {
	if n.notifier == nil || s.Pointless() {
		return
	}
	status := exit.String()
	if s.Ending != nil {
		status = s.Ending.Status
	}
	n.notifier.End(n.mask(command.Title(s.Task.Text)), status)
}

// close waits a limited time for the last posts.
func (n notifications) close() {
	if n.notifier != nil {
		n.notifier.Close(lastNotifications)
	}
}
