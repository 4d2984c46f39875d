package hookclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/hooks"
)

const (
	Command = "hook"
	// PathEnv names the socket of the arbiter to ask, unless --socket is given.
	PathEnv = "ARBITER_HOOK_SOCKET"
	// TokenEnv is the environment variable with the token of an agent's session in a terminal.
	TokenEnv = "ARBITER_HOOK_TOKEN"
	// tokenField carries the token to the socket, beside the event's own members.
	tokenField = "arbiter_token"
	// Deadline bounds the duration of a hook, from start to exit.
	Deadline = 2 * time.Second
	// maxInput bounds the size of an event, which includes the tool's input and output.
	maxInput = 16 << 20
	// maxAnswer bounds an answer; see [hooks.MaxContext].
	maxAnswer = 256 << 10
)

// Answers reports whether the arguments are those of a hook that answers an event, not a person's request for help
// or settings.
func Answers(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		switch flagName(arg) {
		case "settings", "help", "h":
			return true
		}
		return false
	})
}

// flagName returns the name of a flag with one or two dashes, without its value.
func flagName(arg string) string {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return name
}

// flags reads the flags that an answer depends on, and ignores all others.
func flags(args []string) (socket string, debug bool) {
	socket = os.Getenv(PathEnv)
	for i, arg := range args {
		switch flagName(arg) {
		case "socket":
			if _, value, ok := strings.Cut(arg, "="); ok {
				socket = value
			} else if i+1 < len(args) {
				socket = args[i+1]
			}
		case "debug":
			debug = true
		}
	}
	return socket, debug
}

// Answer answers one event of a session that a person opened in a terminal. On any error it prints nothing and
// exits with 0: a hook that fails would block the person's prompt (exit code 2) or show an error at every call. For
// the same reason it ignores unknown flags, which may come from the settings of another version.
func Answer(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	socket, debug := flags(args)
	type outcome struct {
		answer []byte
		err    error
	}
	done := make(chan outcome, 1)
	deadline := time.Now().Add(Deadline)
	// Answer does not wait for this goroutine beyond the deadline: a read from stdin cannot be cancelled, and ends
	// with the process.
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("bug in arbiter: %v", p)}
			}
		}()
		answer, err := ask(socket, stdin, deadline)
		done <- outcome{answer, err}
	}()
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	var out outcome
	select {
	case out = <-done:
	case <-timer.C:
		out.err = fmt.Errorf("no answer within %s", Deadline)
	}
	if out.err == nil && len(out.answer) > 0 {
		_, out.err = stdout.Write(append(out.answer, '\n'))
	}
	if out.err != nil && debug {
		fmt.Fprintf(stderr, "arbiter hook: %v\n", out.err)
	}
	return 0
}

// ask reads an event and returns the running arbiter's answer, or nothing for an empty answer. It sends only the
// members that the policy uses.
func ask(socket string, stdin io.Reader, deadline time.Time) ([]byte, error) {
	if socket == "" {
		return nil, errors.New("no socket: name it with --socket or $" + PathEnv)
	}
	raw, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err != nil {
		return nil, fmt.Errorf("read the event: %w", err)
	}
	if len(raw) > maxInput {
		return nil, fmt.Errorf("the event is larger than %d bytes", maxInput)
	}
	in, err := hooks.Parse(raw)
	if err != nil {
		return nil, err
	}
	answer, err := Exchange(socket, Request(in, os.Getenv(TokenEnv)), deadline)
	if err != nil {
		return nil, err
	}
	// An answer that is not a JSON object would be shown to the model unchanged.
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil || object == nil {
		return nil, fmt.Errorf("the answer is not a JSON object: %.80q", answer)
	}
	if len(object) == 0 {
		return nil, nil
	}
	return bytes.TrimSpace(answer), nil
}

// Request is what the server of a run's hooks reads: the event, a JSON object, and the agent's token (may be empty).
func Request(in hooks.Input, token string) []byte {
	event := in.JSON()
	rest, ok := bytes.CutPrefix(event, []byte("{"))
	quoted, err := json.Marshal(token)
	if token == "" || !ok || err != nil {
		return event
	}
	return slices.Concat([]byte(`{"`+tokenField+`":`), quoted, []byte(","), rest)
}

// Exchange sends one request over a Unix socket, closes its writing end, and reads the answer to its end.
func Exchange(socket string, request []byte, deadline time.Time) ([]byte, error) {
	conn, err := net.DialTimeout("unix", socket, time.Until(deadline))
	if err != nil {
		return nil, fmt.Errorf("ask arbiter: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(deadline); err != nil {
		return nil, fmt.Errorf("ask arbiter: %w", err)
	}
	if _, err := conn.Write(request); err != nil {
		return nil, fmt.Errorf("ask arbiter: %w", err)
	}
	if c, ok := conn.(*net.UnixConn); ok {
		if err := c.CloseWrite(); err != nil {
			return nil, fmt.Errorf("ask arbiter: %w", err)
		}
	}
	answer, err := io.ReadAll(io.LimitReader(conn, maxAnswer+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if len(answer) > maxAnswer {
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	}
	return answer, nil
}

// CommandLine is the shell command that the CLI runs for every event.
func CommandLine(self, socket string) string {
	return shellQuote(self) + " " + Command + " --socket " + shellQuote(socket)
}

// shellQuote quotes a text as one word for sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
