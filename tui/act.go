package tui

import (
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// commandOf are the slash commands that keys run, too.
var commandOf = map[keys.Action]string{keys.OpenHelp: "help", keys.OpenLogbook: "logbook", keys.OpenPlan: "plan",
	keys.OpenChanges: "changes", keys.OpenTimes: "timeline", keys.OpenConfig: "settings", keys.OpenRuns: "runs",
	keys.Documents: "file", keys.Modes: "agents", keys.SkipStep: "skip", keys.Retry: "retry", keys.Reset: "reset",
	keys.CancelRun: "cancel", keys.Halt: "halt"}

// act performs an action that works on every screen.
func (d *app) act(a keys.Action) bool {
	if (a == keys.Write || a == keys.WriteSlash) && d.session.replayed() {
		return true
	}
	if name := commandOf[a]; name != "" {
		d.commands.slash(view.EditorCommand{Name: name})
		return true
	}
	switch a {
	case keys.Leave:
		if d.prompt.writing() && !d.prompt.input.Empty() {
			d.prompt.input.Clear()
			return true
		}
		d.dialogs.askLeave()
	case keys.Detach:
		d.session.detach()
	case keys.Suspend:
		d.outside(func(h Host) error { return h.Suspend() })
	case keys.Redraw:
		d.f.screen.Sync()
	case keys.OpenFocus:
		d.focusOn(d.session.liveliest())
	case keys.Back:
		d.back()
	case keys.Write:
		d.prompt.to = ""
		d.prompt.write()
	case keys.WriteSlash:
		d.toInput()
		d.prompt.write()
		if d.prompt.input.Empty() {
			d.prompt.input.Insert("/")
		}
	case keys.Read:
		d.prompt.read()
	case keys.Editor:
		d.prompt.edit()
	case keys.Withdraw:
		d.queuedEdits.withdraw()
	case keys.Judge:
		d.permissions.judgeNext()
	case keys.OpenPalette:
		palette{d}.open()
	case keys.OpenInbox:
		d.inbox.open()
	case keys.Stop:
		d.session.interrupt("")
	case keys.PauseRun:
		d.session.pause()
	case keys.CycleGrants:
		d.permissions.nextMode()
	case keys.Strength:
		d.prompt.stronger()
	case keys.WayOut:
		if d.session.interrupted() {
			d.dialogs.askResume()
		} else {
			d.recovery.askWay()
		}
	case keys.Summon:
		d.commands.chooseSummon()
	case keys.PageUp, keys.PageDown, keys.Up, keys.Down: // while the person writes
		return d.screen().act(a, "")
	default:
		return false
	}
	return true
}

// toInput goes back to a screen with an input.
func (d *app) toInput() {
	for !d.screen().writes() && len(d.screens) > 1 {
		d.back()
	}
}

// outside lends the terminal to the host, and reports whether it is ours again. If the terminal is gone,
// the frontend ends.
func (d *app) outside(do func(Host) error) bool {
	var err error
	d.f.app.Suspend(func() {
		d.f.lent.Store(true)
		err = do(d.f.options.Host)
		d.f.lent.Store(false)
	})
	if d.f.screen.Gone() != nil {
		return false
	}
	d.f.screen.ForgetTitle()
	d.f.screen.Sync()
	if err != nil {
		d.flash(err.Error())
	}
	return true
}
