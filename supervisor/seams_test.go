package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestOneInheritance: a word that steers, sent to a new Arbiter before its first message was
// proved to have arrived, does not bring the inheritance a second time; if the first is lost,
// what is sent in its place brings it.
func TestOneInheritance(t *testing.T) {
	p := begin(t, nil)
	one := p.summon("build it")
	p.full("arbiter", 86)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.renewNow("the key")
	p.verdict(one, report("question", "Which port?", true))
	p.contains("the first message", p.lastSent("arbiter"), "kind: inheritance", "the key")
	p.say("Take the lower one.", contract.Steer, "arbiter")
	if sent := p.lastSent("arbiter"); !strings.Contains(sent, "Take the lower one.") || strings.Contains(sent, "kind: inheritance") {
		t.Errorf("the word on the way:\n%s", sent)
	}
	p.out = nil
	p.crash("arbiter", 1)
	sends := effects[Send](p)
	if len(sends) != 2 || !strings.Contains(sends[0].Params.Content, "kind: inheritance") || strings.Contains(sends[1].Params.Content, "kind: inheritance") {
		t.Fatalf("after a crash that lost both: %+v", sends)
	}
}

// TestNothingAfterTheResult: what comes before the loop has stopped is recorded, and told to
// nobody: a replay prints what was printed.
func TestNothingAfterTheResult(t *testing.T) {
	p := begin(t, nil)
	p.do(Signalled{Signal: "INT"})
	p.finished()
	p.out = nil
	a := p.agent("arbiter").AgentRef
	for _, f := range []Fact{
		Commanded{Channel: ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.Say{Text: "wait"}}},
		Commanded{Channel: ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.Halt{}}},
		Happened{bridge.Event{AgentRef: a, Body: bridge.Notice{Text: "late"}}}, Happened{bridge.Event{AgentRef: a, Body: bridge.Turn{}}},
		PermissionAsked{Params: bridge.PermissionParams{AgentRef: a, Request: "p1", Tool: "Bash"}, Behavior: "ask"},
		Stopped{Unstopped: []string{"one"}}, BridgeLost{Message: "gone"},
	} {
		p.do(f)
	}
	if n := len(effects[Emit](p)); n > 0 {
		t.Errorf("told %d events: %+v", n, effects[Emit](p))
	}
}
