package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Actions of the human, in rounds in which the human acts, in addition to the kills: each process gets some of
// them, at random lines. An action that begins something ends it at a random time later.
const (
	actionTake     = "take"     // an agent's session is taken over, and returned
	actionHalt     = "halt"     // the run is halted, and continued
	actionPause    = "pause"    // the run is paused, and continued
	actionSteer    = "steer"    // a message into a running turn
	actionStop     = "stop"     // a message that interrupts a turn
	actionEdit     = "edit"     // a message that is edited, if it was not sent yet
	actionWithdraw = "withdraw" // a message that is withdrawn
	actionTamper   = "tamper"   // the workspace's settings change, and the run asks about them
)

var actions = []string{actionTake, actionTake, actionHalt, actionPause, actionSteer, actionStop, actionEdit,
	actionWithdraw, actionTamper}

// action is an action in a plan.
type action struct {
	name  string
	after int // number of lines before it
}

// followUp is a later step: the end of what an action began.
type followUp struct {
	ticks int
	do    func()
}

// actionTick is the unit of time in which follow-ups wait.
const actionTick = 50 * time.Millisecond

// acts reports whether the human acts in this round. Then writing needs permission too, which the human grants
// late, and each agent hits a usage limit.
func (r *round) acts() bool {
	return r.o.actions > 0 && r.must == "" && r.seed%r.o.actions == 1%r.o.actions
}

// actionsOf selects the actions for a process.
func (r *round) actionsOf() []action {
	if !r.acts() {
		return nil
	}
	var list []action
	for range 2 + r.rnd.IntN(2) {
		list = append(list, action{name: actions[r.rnd.IntN(len(actions))], after: 5 + r.rnd.IntN(60)})
	}
	return list
}

// later runs f after some ticks.
func (l *processRun) later(f func()) {
	l.followUps = append(l.followUps, followUp{ticks: 1 + l.r.rnd.IntN(12), do: f})
}

// tick runs the follow-ups that are due.
func (l *processRun) tick() {
	var due []func()
	l.followUps = slices.DeleteFunc(l.followUps, func(e followUp) bool {
		if e.ticks == 0 {
			due = append(due, e.do)
		}
		return e.ticks == 0
	})
	for i := range l.followUps {
		l.followUps[i].ticks--
	}
	for _, f := range due {
		f()
	}
}

// act runs the actions whose line has been reached.
func (l *processRun) act() {
	l.actions = slices.DeleteFunc(l.actions, func(d action) bool {
		if l.count < d.after || l.ended != nil {
			return false
		}
		l.r.f.actions[d.name]++
		l.r.logf("  %s: line %d, the human's %s", l.r.name(), l.count, d.name)
		l.do(d.name)
		return true
	})
}

func (l *processRun) do(name string) {
	switch name {
	case actionTake:
		l.send("take", contract.Attach{ID: l.anybody(contract.Arbiter)})
	case actionHalt:
		l.send("halt", contract.Halt{})
	case actionPause:
		l.send("pause", contract.Pause{})
		l.later(func() { l.send("go on", contract.Continue{}) })
	case actionSteer:
		l.sendMessageTo(l.anybody(contract.Arbiter), contract.Steer)
	case actionStop:
		if id := l.anybody(""); id != "" {
			l.sendMessageTo(id, contract.Stop)
		}
	case actionEdit, actionWithdraw:
		if !l.r.jobDone() {
			token := l.r.token()
			l.r.sent[token] = &sentMessage{text: name, by: l}
			l.send(token, contract.Say{Text: name + " " + token})
		}
	case actionTamper:
		if err := l.r.tamper(); err != nil {
			l.r.fail("%v", err)
		}
	}
}

// anybody returns an agent at random, either one at work or other, if that is not empty; "" if there is none.
func (l *processRun) anybody(other string) string {
	var list []string
	if other != "" {
		list = append(list, other)
	}
	for id, where := range l.r.at {
		if where == atWork {
			list = append(list, id)
		}
	}
	if len(list) == 0 {
		return ""
	}
	slices.Sort(list)
	return list[l.r.rnd.IntN(len(list))]
}

// sendMessageTo sends an agent a message with a strength, unless the job is done.
func (l *processRun) sendMessageTo(id, strength string) {
	if l.r.jobDone() {
		return
	}
	token := l.r.token()
	l.r.sent[token] = &sentMessage{text: strength, by: l}
	l.send(token, contract.Say{To: id, Strength: strength, Text: "a word on the way " + token})
}

// respond reacts to the effects of the actions, as a human would.
func (l *processRun) respond(ev contract.Line) {
	switch b := ev.Body.(type) {
	case contract.Takeover:
		if b.State == "open" {
			l.later(func() { l.send("give back", contract.Detach{ID: ev.ID}) })
		}
	case contract.Halted:
		l.later(func() { l.send("go on", contract.Continue{}) })
	case contract.Error:
		if b.Category == bridge.CatTrust {
			option := []string{"trust", "without"}[l.r.rnd.IntN(2)]
			l.later(func() { l.send("trust", contract.Choose{Option: option}) })
		}
	case contract.PermissionRequest:
		l.later(func() { l.send("permit", contract.Permit{Request: b.Request, Behavior: "allow"}) })
	case contract.Message:
		for token, s := range l.r.sent {
			switch {
			case b.From != contract.Human || s.by != l || s.id != "" || !strings.Contains(b.Text, token):
			case s.text == actionEdit:
				s.id = b.MessageID
				l.send("edit", contract.EditMessage{MessageID: b.MessageID, Text: "changed " + token})
			case s.text == actionWithdraw:
				s.id = b.MessageID
				l.send("withdraw", contract.WithdrawMessage{MessageID: b.MessageID})
			}
		}
	case contract.Withdrawn:
		for token, s := range l.r.sent {
			if s.id == b.MessageID {
				delete(l.r.sent, token)
			}
		}
	}
}

// tamper changes the workspace's settings to a new text.
func (r *round) tamper() error {
	r.tampered++
	text := fmt.Sprintf(`{"env":{"THREAD":"%d"}}`, r.tampered)
	path := filepath.Join(r.dir, "work", ".claude", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("tamper: %w", err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return fmt.Errorf("tamper: %w", err)
	}
	return nil
}

// checkPermissions checks the whole log: each permission request was answered, by the process that opened it or by a
// later one, because a process may be killed before the agent is back that asks again; no released agent was started
// again in the same process; and nothing follows a result.
func (r *round) checkPermissions(all []contract.Line) {
	open, ended := map[string]string{}, map[string]string{}
	over := false
	unanswered := func(when string) {
		if len(open) > 0 {
			r.fail("%s, these requests had no answer: %v", when, open)
		}
		clear(open)
	}
	for _, l := range all {
		if _, begins := l.Body.(contract.Session); over && !begins {
			r.fail("after the result: %.300s", sameness(l))
		}
		switch b := l.Body.(type) {
		case contract.Session:
			clear(ended)
			over = false
		case contract.Result:
			over = true
			unanswered("at the end of the run")
		case contract.PermissionRequest:
			open[b.Request] = fmt.Sprintf("%s by %s", b.Tool, l.ID)
		case contract.Permission:
			delete(open, b.Request)
		case contract.Done:
			if slices.Contains(goodbyes, b.Reason) {
				ended[l.ID] = b.Reason
			}
		case contract.Spawn:
			if why := ended[l.ID]; why != "" {
				r.fail("%s was let go (%s), and is started again", l.ID, why)
			}
		}
	}
	unanswered("at the end of the log")
}

// goodbyes are some of the reasons after which an agent is not started again.
var goodbyes = []string{"All is woven.", "killed by the human", "its work is done"}
