package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func inGit(o *runconfig.Options) { isolated(o); o.Workspace.Isolation = "" }

// answered returns the answers to a command with this reference.
func (p *play) answered(ref string) (accepted, rejected string) {
	for _, e := range effects[input.Emit](p) {
		switch b := e.Event.Body.(type) {
		case contract.Accepted:
			if b.Ref == ref {
				accepted = b.Message
			}
		case contract.Rejected:
			if b.Ref == ref {
				rejected = b.Message
			}
		}
	}
	return accepted, rejected
}

func (p *play) revert(ref string, r contract.Revert) {
	p.t.Helper()
	p.do(input.Command{Channel: input.ChannelScreen, Command: contract.Command{Ref: ref, Body: r}})
}

// TestAgentsLearnOfARevert: the command is answered when the file is reverted. A working agent gets a message
// about it, a waiting one reads it with its next message, and the Arbiter in its work log. The next snapshot
// attributes the file to no agent.
func TestAgentsLearnOfARevert(t *testing.T) {
	p := begin(t, inGit)
	one, two := p.spawn("parser"), p.spawn("printer")
	p.verdict(two, report("question", "Which font?", true))
	p.revert("r1", contract.Revert{Path: "a.go"})
	if yes, no := p.answered("r1"); yes+no != "" {
		t.Fatalf("answered at once: %q, %q", yes, no)
	}
	p.do(input.Reverted{Serial: lastEffect[input.Revert](p).Serial})
	if yes, _ := p.answered("r1"); yes != "reverted a.go" {
		t.Errorf("the answer is %q", yes)
	}
	told := func(id string) bool {
		for _, m := range p.s.Conversation.Mail {
			if m.To == id && strings.Contains(m.Text, "The human reverted a.go") {
				return true
			}
		}
		return false
	}
	if !told(one) || told(two) || told(contract.Arbiter) {
		t.Errorf("told by a message: %t, %t, %t", told(one), told(two), told(contract.Arbiter))
	}
	if a := p.agent(two); !strings.Contains(a.ReturnNotice, "The human reverted a.go") {
		t.Errorf("%s receives %q with its next message", two, a.ReturnNotice)
	}
	if n := len(p.s.Conversation.WorkLog); n != 1 {
		t.Errorf("%d entries in the work log", n)
	}
	if p.s.Changes.RevertsDone != 1 || len(p.s.Changes.Reverts) != 0 {
		t.Errorf("%+v", p.s.Changes.Undoing)
	}
	p.works(one, nil, "true")
	p.recorded("a.go")
	if f, ok := p.s.Changes.File("a.go"); ok && len(f.Authors) > 0 {
		t.Errorf("a.go is counted as changed by %v %v", f.Known(), f.Maybe())
	}
}

// TestRevertRefused: a revert that is not possible is refused with the reason, and no agent is informed.
func TestRevertRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*runconfig.Options)
		revert contract.Revert
		want   string
	}{
		"no Git":                   {nil, contract.Revert{Path: "a"}, "works without Git"},
		"directories of their own": {isolated, contract.Revert{Path: "a"}, "directories of their own"},
		"a hunk of nothing":        {inGit, contract.Revert{Path: "a", Hunk: "-1 +1"}, "needs `seen`"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, c.change)
			p.revert("r", c.revert)
			if _, no := p.answered("r"); !strings.Contains(no, c.want) {
				t.Errorf("rejected with %q", no)
			}
		})
	}
	p := begin(t, inGit)
	p.spawn("parser")
	p.revert("r", contract.Revert{Path: "a.go", Seen: "0f", Hunk: "-1 +1"})
	p.do(input.Reverted{Serial: lastEffect[input.Revert](p).Serial, Refused: "it was modified since"})
	if _, no := p.answered("r"); no != "a.go was not reverted: it was modified since" {
		t.Errorf("rejected with %q", no)
	}
	if len(p.s.Conversation.WorkLog) > 0 || p.s.Changes.RevertsDone > 0 {
		t.Error("it counts as done")
	}
}

// TestRevertAfterACrash: a revert that was requested and not done is requested again, and answered once.
func TestRevertAfterACrash(t *testing.T) {
	p := begin(t, inGit)
	p.revert("r", contract.Revert{Path: "a.go"})
	p.do(input.Resumed{Options: p.s.Options, Claude: bridge.ClaudeInfo{Version: "2.1.329"}})
	all := effects[input.Revert](p)
	if len(all) != 2 || all[0] != all[1] {
		t.Fatalf("asked for %+v", all)
	}
	p.do(input.Reverted{Serial: all[0].Serial})
	n := len(p.out)
	p.do(input.Reverted{Serial: all[0].Serial})
	if yes, _ := p.answered("r"); yes == "" || len(p.out) != n {
		t.Errorf("answered %q, then %v", yes, p.out[n:])
	}
}
