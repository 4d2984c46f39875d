package main

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/hooks"
)

// hookTokenEnv carries the token of an agent's session in a terminal.
const hookTokenEnv = "ARBITER_HOOK_TOKEN"

// tokens are what the hooks of a session in a terminal show: a random one for each
// generation of an agent.
type tokens struct {
	mu   sync.Mutex
	list map[string]token // by agent
}

type token struct {
	generation int
	secret     string
}

// issue makes the token of a generation; an older one is good for nothing any more.
func (t *tokens) issue(a bridge.AgentRef) string {
	secret := rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.list == nil {
		t.list = map[string]token{}
	}
	t.list[a.ID] = token{a.Generation, secret}
	return secret
}

// good says whether it is that agent's, in as long as the comparison takes.
func (t *tokens) good(a bridge.AgentRef, secret string) bool {
	t.mu.Lock()
	have := t.list[a.ID]
	t.mu.Unlock()
	same := subtle.ConstantTimeCompare([]byte(have.secret), []byte(secret)) == 1
	return same && have.secret != "" && have.generation == a.Generation
}

// terminalSetup is a supervisor.Setup: hooks that ask this process, and the token they
// show.
func (r *runtimeRun) terminalSetup(a bridge.AgentRef) (settings string, env map[string]string) {
	env = map[string]string{}
	if h := r.terminals.of(a.ID); h != nil && h.term != "" {
		env["TERM"] = h.term
	}
	self, err := os.Executable()
	if err != nil || r.hooks == nil {
		return "", env
	}
	socket := r.hooks.place.socket
	if abs, err := filepath.Abs(socket); err == nil {
		socket = abs
	}
	env[hookTokenEnv] = r.tokens.issue(a)
	return string(hooks.Settings(hookCommandLine(self, socket))), env
}

// tokenField is beside an event's own fields in what goes over the socket.
const tokenField = "arbiter_token"

// withToken adds a token to an event, a JSON object.
func withToken(event json.RawMessage, secret string) json.RawMessage {
	rest, ok := bytes.CutPrefix(event, []byte("{"))
	quoted, err := json.Marshal(secret)
	if secret == "" || !ok || err != nil {
		return event
	}
	return slices.Concat([]byte(`{"`+tokenField+`":`), quoted, []byte(","), rest)
}

// tokenOf is the token in a request; empty if there is none.
func tokenOf(request []byte) string {
	var r struct {
		Token string `json:"arbiter_token"`
	}
	_ = json.Unmarshal(request, &r) // what is no event was found out before
	return r.Token
}

// mayAsk says what is wrong with whoever asks on a conn: another user's process, or one of
// an agent's without the token of the agent it speaks for. A person's own session, which no
// agent started, needs none.
func (s *hookServer) mayAsk(conn *net.UnixConn, in hooks.Input, secret string) (trouble string) {
	p := s.identify(conn)
	switch {
	case p.Trouble == "", s.house.Token != nil && p.UID == os.Getuid() && s.house.Token(in.SessionID, secret):
		return ""
	}
	return p.String() + ": " + p.Trouble + ", and it does not show its agent's token"
}
