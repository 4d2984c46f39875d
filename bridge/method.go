package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// Empty is the result of methods that only succeed or fail.
type Empty struct{}

// checker is implemented by parameters with constraints beyond their types.
type checker interface{ check() error }

// method makes a handler from a typed function. Parameters of the wrong type, or that fail their check, are
// refused with -32602; unknown ones are ignored, so that a newer client can use an older bridge.
func method[P, R any](serve func(context.Context, P) (R, error)) handlerFunc {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var p P
		if len(raw) > 0 && string(raw) != "null" {
			if err := json.Unmarshal(raw, &p); err != nil {
				return nil, rpcErrorf(jsonrpc2.CodeInvalidParams, "bad params: "+typeError(err))
			}
		}
		var err error
		if a, ok := any(p).(interface{ ref() AgentRef }); ok {
			err = a.ref().valid()
		}
		if c, ok := any(p).(checker); ok && err == nil {
			err = c.check()
		}
		if err != nil {
			return nil, rpcErrorf(jsonrpc2.CodeInvalidParams, "bad params: "+err.Error())
		}
		return serve(ctx, p)
	}
}

// typeError describes the error in terms of JSON instead of Go.
func typeError(err error) string {
	var e *json.UnmarshalTypeError
	switch {
	case errors.As(err, &e) && e.Field != "":
		return fmt.Sprintf("%s has the wrong type (%s)", strings.TrimPrefix(e.Field, "AgentRef."), e.Value)
	case e != nil:
		return fmt.Sprintf("want an object with named members (got: %s)", e.Value)
	}
	return err.Error()
}

func (r AgentRef) valid() error {
	switch {
	case r.ID == "":
		return errors.New("id is missing")
	case r.Generation < 1:
		return errors.New("generation is missing; it counts from 1")
	}
	return nil
}

// Bounds of SpawnParams.Pending. An agent gets one message per turn, so that more than a few unfinished
// ones are a mistake.
const (
	maxPending   = 256
	maxMessageID = 128
)

func (p InitializeParams) check() error {
	if p.Bridge != "" && !bridgeName().MatchString(p.Bridge) {
		return fmt.Errorf("bridge: a name has 1 to 64 letters, digits, dots, dashes and underlines, not %.100q", p.Bridge)
	}
	if p.Remote != nil && p.Bridge == "" {
		return errors.New("bridge is missing: a remote bridge has a name")
	}
	return cmp.Or(p.Remote.check(), required("run", p.Run))
}

// bridgeName matches the names of bridges: they are parts of file names and of environments.
var bridgeName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

func (p InitializeParams) owner() Owner { return Owner{Run: p.Run, Bridge: p.Bridge} }

func (p SpawnParams) check() error {
	if len(p.Pending) > maxPending {
		return fmt.Errorf("pending lists %d messages; the limit is %d", len(p.Pending), maxPending)
	}
	for i, id := range p.Pending {
		switch {
		case id == "":
			return fmt.Errorf("pending: message id %d is empty", i+1)
		case len(id) > maxMessageID:
			return fmt.Errorf("pending: message id %d is longer than %d bytes", i+1, maxMessageID)
		}
	}
	return p.Config.check()
}

func (c AgentConfig) check() error {
	if err := c.Sandbox.check(); err != nil {
		return fmt.Errorf("config.%w", err)
	}
	return required("config.session_id", c.SessionID, "config.cwd", c.CWD)
}

func (p MessageParams) check() error {
	return required("message_id", p.MessageID, "content", p.Content)
}

func (p AskParams) check() error {
	return required("question", p.Question)
}

func (p ConfigureParams) check() error {
	if p.Model == "" && p.PermissionMode == "" && p.Reminder == "" && p.Rules == nil {
		return errors.New("give at least one of model, permission_mode, rules and reminder")
	}
	return nil
}

// maxCommand keeps a command below the 128 KiB that one argument can have (Linux).
const maxCommand = 96 << 10

func (p CheckParams) check() error {
	switch {
	case len(p.Command) > maxCommand:
		return fmt.Errorf("command is longer than %d bytes", maxCommand)
	case strings.ContainsRune(p.Command, 0):
		return errors.New("command holds a NUL byte")
	case p.TimeoutMS < 0:
		return errors.New("timeout_ms is negative")
	case p.Scratch && p.Sandbox == nil:
		return errors.New("scratch needs a sandbox")
	}
	return cmp.Or(required("command", p.Command), p.Sandbox.check(), checkPlace(p.CWD, p.Env))
}

func (p InspectParams) check() error {
	return cmp.Or(required("session_id", p.SessionID), checkPlace(p.CWD, p.Env))
}

// checkPlace checks a directory and an environment. A relative directory would depend on where the bridge
// was started.
func checkPlace(cwd string, env map[string]string) error {
	if cwd != "" && !filepath.IsAbs(cwd) {
		return fmt.Errorf("cwd is not absolute: %.100q", cwd)
	}
	return cmp.Or(required("cwd", cwd), checkEnv(env))
}

func checkEnv(env map[string]string) error {
	for name, value := range env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env: %.100q cannot be set", name)
		}
	}
	return nil
}

func (p ShutdownParams) check() error {
	if p.GraceMS < 0 {
		return errors.New("grace_ms is negative")
	}
	return nil
}

// required takes alternating names and values, and returns an error for the first empty value.
func required(pairs ...string) error {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == "" {
			return fmt.Errorf("%s is missing", pairs[i])
		}
	}
	return nil
}
