package tui

import (
	"context"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/permission"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// act does what a key stands for wherever one is.
func (d *app) act(a keys.Action) bool {
	switch a {
	case keys.Leave:
		if d.writing() && !d.input.Empty() {
			d.input.Clear()
			return true
		}
		d.askLeave()
	case keys.Suspend:
		d.outside(func(h Host) error { return h.Suspend() })
	case keys.Redraw:
		d.f.screen.Sync()
	case keys.OpenHelp:
		d.open(newHelpScreen(d))
	case keys.OpenFocus:
		d.focusOn(d.liveliest())
	case keys.OpenLogbook:
		d.openLogbook()
	case keys.OpenPlan:
		d.open(newPlanScreen(d))
	case keys.OpenRuns:
		d.open(newSessionsScreen(d))
	case keys.Back:
		d.back()
	case keys.Write:
		d.to = ""
		d.write()
	case keys.WriteSlash:
		for !d.screen().writes() && len(d.screens) > 1 {
			d.back()
		}
		d.write()
		if d.input.Empty() {
			d.input.Insert("/")
		}
	case keys.Read:
		d.read()
	case keys.Editor:
		d.edit()
	case keys.Documents:
		d.documents()
	case keys.Withdraw:
		d.withdraw()
	case keys.Judge:
		d.judgeNext()
	case keys.Stop:
		d.interrupt("")
	case keys.Halt:
		d.halt()
	case keys.PauseRun:
		d.pause()
	case keys.Strength:
		d.stronger()
	case keys.WayOut:
		d.askWay()
	case keys.Modes:
		d.answer(slash.Answers["agents"], "")
	case keys.Summon:
		d.chooseSummon()
	case keys.SkipStep:
		d.send(contract.SkipStep{})
	case keys.Retry:
		d.send(contract.RetryLast{})
	case keys.Reset:
		d.askReset()
	case keys.CancelRun:
		d.askEnd("End the run?", func() { d.send(contract.Cancel{}) })
	case keys.PageUp, keys.PageDown, keys.Up, keys.Down: // while one writes
		return d.screen().act(a, "")
	default:
		return false
	}
	return true
}

// outside lends the terminal to the host, and reports whether it is ours again. Where it is gone,
// the face ends.
func (d *app) outside(do func(Host) error) bool {
	var err error
	d.f.app.Suspend(func() { err = do(d.f.options.Host) })
	if d.f.screen.gone() != nil {
		return false
	}
	d.f.screen.title = "" // whoever had the terminal may have changed it
	d.f.screen.Sync()
	if err != nil {
		d.flash(err.Error())
	}
	return true
}

// edit has the text edited elsewhere.
func (d *app) edit() {
	text := d.input.Text()
	d.outside(func(h Host) error {
		edited, err := h.Edit(text)
		if err == nil {
			text = edited
		}
		return err
	})
	d.input.SetText(text)
	d.write()
}

// interrupt stops the running turn of an agent, or of all.
func (d *app) interrupt(id string) {
	if d.send(contract.Interrupt{ID: id}) {
		d.flash("Let it rest.")
	}
}

// pause holds the run, or lets it go on.
func (d *app) pause() {
	if d.state != nil && d.state.Paused {
		d.send(contract.Continue{})
	} else {
		d.send(contract.Pause{})
	}
}

// stronger goes to the next strength of the next word.
func (d *app) stronger() {
	switch d.force {
	case contract.Note:
		d.force = contract.Steer
	case contract.Steer:
		d.force = contract.Stop
	default:
		d.force = contract.Note
	}
	d.prompt()
}

// strength is that of the next word: none is said where it makes no difference.
func (d *app) strength() string {
	if d.force == contract.Note {
		return ""
	}
	return d.force
}

// judgeNext opens the permission request that has waited longest, also one that was
// put aside; where one is open already, the next one.
func (d *app) judgeNext() {
	if d.state == nil || len(d.state.Permission.Open) == 0 {
		d.flash("Nobody asks leave.")
		return
	}
	d.dismissed = nil
	next := 0
	if g := d.asking(); g != nil {
		open := func(p permission.Request) bool { return p.ID == g.request }
		next = (slices.IndexFunc(d.state.Permission.Open, open) + 1) % len(d.state.Permission.Open)
	}
	d.judge(&d.state.Permission.Open[next], false)
}

// openLogbook shows every event.
func (d *app) openLogbook() {
	d.open(newLogbook(d))
}

// documents offers the files that may hold requirements.
func (d *app) documents() {
	d.flash("Looking for files …")
	d.f.work(func(ctx context.Context) {
		list := d.f.options.Host.Documents(ctx)
		d.f.post(func() { d.pickDocument(list) })
	})
}
