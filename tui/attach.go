package tui

import "context"

// attach takes an agent's session into the terminal, until it is given back.
func (d *app) attach(id string) {
	switch {
	case d.run == nil || d.over():
		d.flash("There is no run. Speak, and one begins.")
	case id == "":
		d.flash("Whose session? /attach AGENT, or A while you look at one.")
	default:
		d.outside(func(h Host) error { return h.Attach(id) })
	}
}

// halt stops every agent. It does not ask, and it does not wait behind other commands: the
// run may be what hangs.
func (d *app) halt() {
	if d.run == nil || d.over() {
		d.flash("Nothing runs.")
		return
	}
	d.flash("Halt.")
	run := d.run
	d.f.work(func(context.Context) {
		say := run.Halt()
		d.f.post(func() { d.flash(say) })
	})
}
