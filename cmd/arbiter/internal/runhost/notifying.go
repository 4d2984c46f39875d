package runhost

import (
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/webnotify"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/inbox"
)

// lastNotifications is how long the end of a run's process waits for servers of --notify, when all else is done.
const lastNotifications = 3 * time.Second

// openNotifier begins to post notifications, if --notify names a URL.
func (r *runtimeRun) openNotifier() {
	if len(r.choices.Face.Posts) == 0 {
		return
	}
	r.notifier = webnotify.New(webnotify.Options{
		Targets: r.choices.Face.Posts, Run: r.choices.Options.Run, Failed: r.notificationFailed,
	})
}

// notificationFailed tells the human, once for each target.
func (r *runtimeRun) notificationFailed(err error) {
	r.log.Warn("notification failed", "err", err)
	r.remark(fmt.Sprintf("--notify: %v. The run goes on; further failures there are not reported.", err))
}

// remark tells the human of something met and survived, as of the Arbiter.
func (r *runtimeRun) remark(text string) {
	e := bridge.Event{AgentRef: bridge.AgentRef{ID: contract.Arbiter}, Body: bridge.Notice{Text: text}}
	for _, a := range r.loop.Snapshot().Agents {
		if a.ID == contract.Arbiter {
			e.AgentRef = a.AgentRef
		}
	}
	r.attached.Go(func() { r.loop.Event(e) })
}

// notifyWaiting posts what newly waits for the human.
func (r *runtimeRun) notifyWaiting() {
	if r.notifier != nil {
		s := r.loop.Snapshot()
		r.notifier.Look(r.mask(command.Title(s.Task.Text)), inbox.Of(s))
	}
}

// notifyEnd posts how the run ended.
func (r *runtimeRun) notifyEnd(end control.RunEnded) {
	s := r.loop.Snapshot()
	if r.notifier == nil || s.Pointless() {
		return
	}
	status := contract.Exit(end.Exit).String()
	if s.Ending != nil {
		status = s.Ending.Status
	}
	r.notifier.End(r.mask(command.Title(s.Task.Text)), status)
}

func (r *runtimeRun) closeNotifier() {
	if r.notifier != nil {
		r.notifier.Close(lastNotifications)
	}
}
