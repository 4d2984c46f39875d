package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestEditBeforeItIsSent: a waiting message can be changed and withdrawn; a sent one cannot.
func TestEditBeforeItIsSent(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("Build it.")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.say("First.") // is sent
	p.say("Use port 80.")
	waiting := p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1].ID
	sent := ""
	for _, m := range p.s.Conversation.Mail {
		if m.Text == "First." {
			sent = m.ID
		}
	}
	if ok, why := p.command(contract.EditMessage{MessageID: sent, Text: "x"}); ok || !strings.Contains(why, "sent already") {
		t.Errorf("%v %s", ok, why)
	}
	p.out = nil
	if ok, why := p.command(contract.EditMessage{MessageID: waiting, Text: "Use port 8080."}); !ok {
		t.Fatal(why)
	}
	if m := told[contract.Message](p); len(m) != 1 || !m[0].Edited || m[0].MessageID != waiting || m[0].Text != "Use port 8080." {
		t.Errorf("%+v", m)
	}
	p.out = nil
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if s := effects[input.Send](p); len(s) != 1 || !strings.Contains(s[0].Params.Content, "Use port 8080.") ||
		strings.Contains(s[0].Params.Content, "port 80.") {
		t.Errorf("%+v", s)
	}
	p.say("No, wait.")
	waiting = p.s.Conversation.Mail[len(p.s.Conversation.Mail)-1].ID
	if ok, why := p.command(contract.WithdrawMessage{MessageID: waiting}); !ok {
		t.Fatal(why)
	}
	p.out = nil
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if s := effects[input.Send](p); len(s) != 0 {
		t.Errorf("sent all the same: %+v", s)
	}
	for _, m := range p.s.Conversation.RecentMessages {
		if m.MessageID == waiting || m.Text == "Use port 80." {
			t.Errorf("it is remembered: %+v", m)
		}
	}
	_ = one
}

// TestMessagesThatCannotBeWithdrawn: the dialogue would stop without it, or it is not the human's.
func TestMessagesThatCannotBeWithdrawn(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("Build it.")
	p.verdict(one, report("question", "Which port?", true))
	p.command(contract.Pause{})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
	p.say("8080.")
	p.say("Go on.", contract.Note, one)
	for _, tt := range []struct{ text, why string }{
		{"8080.", "waits for this answer"},
		{"Go on.", "brought to work"},
		{"Which port?", "not yours"},
		{"", "no message"},
	} {
		id := "m-none"
		for _, m := range p.s.Conversation.Mail {
			if m.Text == tt.text {
				id = m.ID
			}
		}
		before := len(p.s.Conversation.Mail)
		if ok, why := p.command(contract.WithdrawMessage{MessageID: id}); ok || !strings.Contains(why, tt.why) || len(p.s.Conversation.Mail) != before {
			t.Errorf("%q: %v %s", tt.text, ok, why)
		}
	}
}

// TestTheTaskIsEdited: a task that has not begun can be changed.
func TestTheTaskIsEdited(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Task = "" })
	p.command(contract.Pause{})
	p.say("Build a boat.")
	id := p.s.Conversation.Mail[0].ID
	if ok, why := p.command(contract.WithdrawMessage{MessageID: id}); ok || !strings.Contains(why, "it is the task") {
		t.Errorf("%v %s", ok, why)
	}
	if ok, why := p.command(contract.EditMessage{MessageID: id, Text: "Build a bridge."}); !ok {
		t.Fatal(why)
	}
	p.out = nil
	p.command(contract.Continue{})
	if s := effects[input.Send](p); p.s.Task.Text != "Build a bridge." || len(s) != 1 ||
		!strings.Contains(s[0].Params.Content, "Build a bridge.") {
		t.Errorf("task %q, %+v", p.s.Task.Text, s)
	}
}
