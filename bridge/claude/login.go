package claude

import (
	"context"
	"encoding/json"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Login is the CLI's report about its login.
type Login struct {
	Known    bool   // it answered
	LoggedIn bool   // it has a login, or a key, of its own or from the environment
	Method   string // none, api_key, claude.ai …: the CLI's word
	Email    string // where the CLI tells
}

// Login asks the CLI whether it is logged in, with the environment that agents get.
// Nothing is sent anywhere: `auth status` only looks (observed with CLI 2.1.329; it
// ends with 1 where it is not). A CLI that does not know the question leaves it open.
func (l *Launcher) Login(ctx context.Context, spec bridge.ClaudeSpec) Login {
	p, err := resolve(spec)
	if err != nil {
		return Login{}
	}
	out, _ := ask(ctx, p, "auth", "status", "--json")
	var answer struct {
		LoggedIn *bool  `json:"loggedIn"`
		Method   string `json:"authMethod"`
		Email    string `json:"email"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || answer.LoggedIn == nil {
		return Login{}
	}
	return Login{Known: true, LoggedIn: *answer.LoggedIn, Method: answer.Method, Email: answer.Email}
}
