package host

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net"
	"os"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
)

// Tokens has the tokens that the hooks of sessions in terminals present: a random one for each generation of an
// agent.
type Tokens struct {
	mu   sync.Mutex
	list map[string]token // by agent
}

type token struct {
	generation int
	secret     string
}

// Issue makes the token of a generation; it replaces the older one.
func (t *Tokens) Issue(a bridge.AgentRef) string {
	secret := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[string]token{}
	}
	t.list[a.ID] = token{a.Generation, secret}
	return secret
}

// Good reports whether secret is the agent's token. It compares in constant time.
func (t *Tokens) Good(a bridge.AgentRef, secret string) bool {
	t.mu.Lock()
	have := t.list[a.ID]
	t.mu.Unlock()
	same := subtle.ConstantTimeCompare([]byte(have.secret), []byte(secret)) == 1
	return same && have.secret != "" && have.generation == a.Generation
}

// tokenOf returns the token in a request; empty if there is none.
func tokenOf(request []byte) string {
	var r struct {
		Token string `json:"arbiter_token"`
	}
	_ = json.Unmarshal(request, &r) // receive reports requests that are not events
	return r.Token
}

// mayAsk returns why the peer of conn may not ask: it is another user's process, or an agent's process without the
// token of the agent it speaks for. A person's own session, which no agent started, needs no token.
func (s *HookSocketServer) mayAsk(conn *net.UnixConn, in hooks.Input, secret string) (problem string) {
	p := s.identify(conn)
	switch {
	case p.Problem == "", s.service.Token != nil && p.UID == os.Getuid() && s.service.Token(in.SessionID, secret):
		return ""
	}
	return p.String() + ": " + p.Problem + ", and it does not show its agent's token"
}
