package host

import (
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
)

// TestHookTokens: a process of an agent is served only with the token of the session that it speaks for: not
// without a token, with a wrong one, with another agent's or an earlier incarnation's, or as another user. A
// person's own process needs none.
func TestHookTokens(t *testing.T) {
	const second = "44e2ace1-d4bc-47dd-9200-fa457d13e61f"
	var given Tokens
	agents := map[string]HookSocketAgent{
		aSession: {AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 2}, Session: aSession, Window: 200_000,
			Policy: hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85}},
		second: {AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1}, Session: second, Window: 200_000,
			Policy: hooks.Policy{Role: hooks.RoleOrchestrator, Warn: 70, Critical: 85}},
	}
	stale := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 1})
	overtaken := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 2}) // of a terminal that was opened before
	right, others := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 2}),
		given.Issue(bridge.AgentRef{ID: "orch-2", Generation: 1})
	ofNobody := Tokens{}
	if ofNobody.Good(bridge.AgentRef{ID: "orch-1", Generation: 2}, "") || ofNobody.Good(bridge.AgentRef{}, "") {
		t.Error("no token is good where none was given out")
	}

	var peer atomic.Pointer[control.Peer]
	received := make(chan string, 1)
	s, err := serve(shortDir(t), HookSocketService{
		Agent: func(session string) (HookSocketAgent, bool) {
			received <- session // the request was accepted
			return HookSocketAgent{}, false
		},
		Token: func(session, secret string) bool {
			a, ok := agents[session]
			return ok && given.Good(a.AgentRef, secret)
		},
	}, func(*net.UnixConn) control.Peer { return *peer.Load() }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	descendant := control.Peer{UID: os.Getuid(), PID: 7, Name: "sh", Agent: "orch-1",
		Problem: "this arbiter started it"}
	otherUser := control.Peer{UID: os.Getuid() + 1, PID: 7, Problem: "it belongs to another user"}
	person := control.Peer{UID: os.Getuid(), PID: 7}
	for _, c := range []struct {
		name    string
		peer    control.Peer
		session string
		token   string
		want    bool
	}{
		{"the right one", descendant, aSession, right, true},
		{"the other's for the other's session", descendant, second, others, true},
		{"none", descendant, aSession, "", false},
		{"a wrong one", descendant, aSession, right + "A", false},
		{"the beginning of it", descendant, aSession, right[:len(right)-1], false},
		{"of a generation before", descendant, aSession, stale, false},
		{"of a terminal before", descendant, aSession, overtaken, false},
		{"another agent's", descendant, aSession, others, false},
		{"its own for another's session", descendant, second, right, false},
		{"for no session of the run", descendant, "x", right, false},
		{"for no session at all", descendant, "", right, false},
		{"the right one from another user", otherUser, aSession, right, false},
		{"a person without one", person, aSession, "", true},
		{"a person with a wrong one", person, aSession, "x", true},
	} {
		peer.Store(&c.peer)
		raw, err := hookclient.Exchange(s.Path(), hookclient.Request(bashOf(c.session), c.token), time.Now().Add(longEnough))
		if err != nil || !json.Valid(raw) {
			t.Errorf("%s: answer %q, %v", c.name, raw, err)
		}
		select {
		case session := <-received:
			if !c.want || session != c.session {
				t.Errorf("%s: heard about %q", c.name, session)
			}
		default:
			if c.want {
				t.Errorf("%s: not heard", c.name)
			}
		}
	}

	// The next generation of the agent makes the token of its terminal invalid.
	a := agents[aSession]
	a.Generation++
	if given.Good(a.AgentRef, right) {
		t.Error("the token outlives its terminal")
	}
}
