package main

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// answer reacts to an event as a human would.
func (r *round) answer(l *processRun, ev contract.Line) {
	r.follow(ev)
	if isCompared(ev.Body) {
		r.printed = append(r.printed, ev)
	}
	switch b := ev.Body.(type) {
	case contract.Session:
		l.resumed, r.run = true, b.Session
		if b.Resumed {
			l.send("go on", contract.Continue{}) // it may have been paused when its process was killed
			r.closeAgain = r.sentBack            // the Arbiter may not have got to ruling once more
			r.close(l)
		}
	case contract.Question:
		r.questions++
		switch {
		case r.jobDone():
			l.sendMessage(closing)
		case strings.Contains(b.Text, "already alive, which is the limit"): // and the script's Arbiter releases nobody
			if m := idle.FindStringSubmatch(b.Text); m != nil {
				l.send("make room", contract.Kill{ID: m[1]})
			}
		case r.questions > 2: // a spawn was lost
			l.send("force", contract.ForceAgent{Mode: "developer"})
		default:
			l.sendMessage("weave dawn")
		}
	case contract.Done:
		if ev.ID != contract.Arbiter {
			r.close(l)
		}
	case contract.Message:
		r.sentBack = r.sentBack || b.From == contract.Supervisor && strings.HasPrefix(b.Text, "COMPLETE ")
		if r.sentBack && b.Kind == "retry" || strings.Contains(b.Text, "none is at work") {
			r.closeAgain = true // its process ended, or it forgot: somebody may have taken it over in that turn
		}
		if b.To == contract.Arbiter && b.From != contract.Human {
			r.close(l)
		}
	case contract.Takeover:
		if b.State == "open" {
			l.later(func() { l.send("give back", contract.Detach{ID: ev.ID}) })
		}
	case contract.Halted:
		l.later(func() { l.send("go on", contract.Continue{}) })
	case contract.Accepted:
		if s := r.sent[b.Ref]; s != nil {
			s.accepted = true
		}
	case contract.PermissionRequest:
		permit := func() { l.send("permit", contract.Permit{Request: b.Request, Behavior: "allow"}) }
		if r.is[acts] {
			l.later(permit)
		} else {
			permit()
		}
	case contract.Error:
		if ev.ID == contract.Arbiter && slices.Equal(b.RecoveryOptions, supervisor.ParkedOptions()) {
			l.send("retry", contract.Choose{Option: "retry"}) // a busy machine: it did not start in time
		}
	case contract.Result:
		l.ended = &b
	}
	if ev.Body.EventName() == "spawn" || ev.Body.EventName() == "delivered" {
		r.checkSessions()
		if r.rnd.IntN(4) == 0 && !r.jobDone() {
			l.sendMessage("a passing note")
		}
	}
}

// idle finds an Orchestrator that has nothing to do in the list of those that are alive.
var idle = regexp.MustCompile(`(orch-\d+) done`)

// closing is the human's last message, once the files exist. Nothing is sent after it, so that no message is
// unread when the job ends.
const closing = "all is woven"

// close sends closing, unless it was sent by this process or accepted before. It is sent again if the COMPLETE that
// followed it went back to the Arbiter before a process was killed, or did not come.
func (r *round) close(l *processRun) {
	for _, s := range r.sent {
		if s.text == closing && !r.closeAgain && (s.accepted || s.by == l) {
			return
		}
	}
	if r.jobDone() {
		r.closeAgain = false
		l.sendMessage(closing)
	}
}

// The states of an Orchestrator, as its events show them.
const (
	atWork   = iota + 1 // it has a message
	finished            // it has handed off or was released
)

// follow updates the state of an Orchestrator by an event.
func (r *round) follow(ev contract.Line) {
	if ev.ID == contract.Arbiter || ev.ID == contract.Human || ev.ID == contract.Supervisor || r.at[ev.ID] == finished {
		return
	}
	switch b := ev.Body.(type) {
	case contract.Spawn:
		r.at[ev.ID] = b2i(b.Resumed) * atWork
	case contract.Delivered:
		r.at[ev.ID] = atWork
	case contract.Done:
		delete(r.at, ev.ID)
	case contract.Message:
		if b.Kind == verdict.KindDone || b.Kind == verdict.KindHandoff {
			r.at[ev.ID] = finished
		}
	case contract.Handoff, contract.Check:
		r.at[ev.ID] = finished
	}
}

// anybody returns at random an Orchestrator at work, or another one.
func (r *round) anybody(other string) string {
	list := slices.DeleteFunc(slices.Sorted(maps.Keys(r.at)), func(id string) bool { return r.at[id] != atWork })
	list = append(list, other)
	return list[r.rnd.IntN(len(list))]
}

// actions are of the human, in addition to the kills. An action that begins something ends it at a random time later;
// answer does that for those of which an event tells.
var actions = []struct {
	name string
	do   func(l *processRun)
}{
	// An agent's session is taken over, and returned.
	{"take", func(l *processRun) { l.send("take", contract.Attach{ID: l.r.anybody(contract.Arbiter)}) }},
	{"halt", func(l *processRun) { l.send("halt", contract.Halt{}) }},
	{"pause", func(l *processRun) {
		l.send("pause", contract.Pause{})
		l.later(func() { l.send("go on", contract.Continue{}) })
	}},
	{"steer", func(l *processRun) { l.urge(l.r.anybody(contract.Arbiter), contract.Steer) }}, // into a running turn
	{"stop", func(l *processRun) { // interrupts a turn
		if id := l.r.anybody(""); id != "" {
			l.urge(id, contract.Stop)
		}
	}},
}

func (l *processRun) urge(id, strength string) {
	if !l.r.jobDone() {
		l.say(strength, contract.Say{To: id, Strength: strength, Text: "a word on the way"})
	}
}

// act has the human act, now and then.
func (l *processRun) act() {
	if !l.r.is[acts] || l.ended != nil || l.r.rnd.IntN(60) > 0 {
		return
	}
	a := actions[l.r.rnd.IntN(len(actions))]
	l.r.f.n[acted+a.name]++
	l.r.logf("line %d, the human's %s", l.count, a.name)
	a.do(l)
}

// later has f run a little later, unless the process has ended.
func (l *processRun) later(f func()) {
	time.AfterFunc(time.Duration(1+l.r.rnd.IntN(600))*time.Millisecond, func() { l.due <- f })
}
