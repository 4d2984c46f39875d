package claude

import (
	"context"
	"encoding/json"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Login is the CLI's report about its login.
type Login struct {
	Known    bool   // the CLI answered
	LoggedIn bool   // it has a login, or a key of its own or from the environment
	Method   string // none, api_key, claude.ai …: as the CLI names it
	Email    string // if the CLI reports it
}

// Login asks the CLI whether it is logged in, with the environment that agents get. No request leaves the
// machine: `auth status` only looks at files (observed with CLI 2.1.329; it exits with 1 if it is not
// logged in). For a CLI without that command, Known is false.
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
