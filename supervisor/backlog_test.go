package supervisor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// crowded is a run in which so many messages of the human wait for the Arbiter, which is working.
func crowded(t *testing.T, n int) *play {
	p := begin(t, nil)
	p.spawn("build it")
	for i := range n {
		p.say(fmt.Sprintf("word %d.", i))
	}
	return p
}

// TestMessagesKeepTheirOrder: however many messages wait, each is sent once, in the order in which they were
// given.
func TestMessagesKeepTheirOrder(t *testing.T) {
	const n = 5*InReach + 7
	p := crowded(t, n)
	if len(p.s.Conversation.Mail) > 2*InReach || len(p.s.Conversation.Queue()) < n {
		t.Fatalf("%d messages are gone through at every step, %d wait", len(p.s.Conversation.Mail), len(p.s.Conversation.Queue()))
	}
	for i := range n {
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.contains("the Arbiter", p.lastSent("arbiter"), fmt.Sprintf("word %d.", i))
	}
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	if l := p.s.Conversation.Ledger; len(p.s.Conversation.Queue()) != 1 || len(p.s.Conversation.Backlog) != 0 || l.Posted != l.Seen+1 { // the brief of orch-1 is on its way
		t.Errorf("%d are left, %+v", len(p.s.Conversation.Queue()), l)
	}
}

// TestWordsOfTheBacklog: messages in the backlog can be changed and withdrawn, are listed as waiting, and are
// returned when their reader is released.
func TestWordsOfTheBacklog(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	for i := range 4 * InReach {
		p.say(fmt.Sprintf("word %d.", i), contract.Note, one)
	}
	list := p.s.Conversation.Queue()
	last, other := list[len(list)-1], list[len(list)-2]
	if ok, why := p.command(contract.EditMessage{MessageID: last.ID, Text: "changed"}); !ok {
		t.Error(why)
	}
	if ok, why := p.command(contract.WithdrawMessage{MessageID: other.ID}); !ok {
		t.Error(why)
	}
	list = p.s.Conversation.Queue()
	if list[len(list)-1].Text != "changed" || slices.ContainsFunc(list, func(m Mail) bool { return m.ID == other.ID }) {
		t.Errorf("the last that wait: %+v", list[len(list)-2:])
	}
	for i := range 2 * InReach {
		p.say(fmt.Sprintf("more %d.", i), contract.Note, one)
	}
	before := p.s.Conversation.Ledger.Returned
	p.command(contract.Kill{ID: one})
	if n := p.s.Conversation.Ledger.Returned - before; n < 6*InReach-2 || slices.ContainsFunc(p.s.Conversation.Queue(), func(m Mail) bool { return m.To == one }) {
		t.Errorf("%d were given back, and %d are left", n, len(p.s.Conversation.Queue()))
	}
}

// queued is a run whose Arbiter is working while so many messages of the human wait for it.
func queued(n int) State {
	s, _ := Apply(State{}, input.Input{At: time.Unix(1, 0),
		Body: input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", Task: "t",
			HumanPresent: true}.WithDefaults()}})
	s, _ = Apply(s, input.Input{At: time.Unix(2, 0), Body: input.Spawned{Agent: s.Agents[0].AgentRef,
		Result: bridge.SpawnResult{Window: 200_000}}})
	for range n {
		s, _ = Apply(s, aWord)
	}
	return s
}

var aWord = input.Input{At: time.Unix(3, 0), Body: input.Command{Channel: input.ChannelStdin,
	Command: contract.Command{Body: contract.Say{Text: "And this."}}}}

// TestMessageCostIsConstant: a message costs the same, however many wait before it.
func TestMessageCostIsConstant(t *testing.T) {
	cost := func(n int) float64 {
		s := queued(n)
		return testing.AllocsPerRun(10, func() { Apply(s, aWord) })
	}
	if few, many := cost(10*InReach), cost(100*InReach); many > few+InReach/2 {
		t.Errorf("a word takes %.0f allocations behind %d others, and %.0f behind %d", few, 10*InReach, many, 100*InReach)
	}
}
