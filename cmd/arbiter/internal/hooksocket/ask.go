package hooksocket

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
	// PathEnv names the socket of the arbiter to ask, unless --socket does.
	PathEnv = "ARBITER_HOOK_SOCKET"
	// Deadline is how long a hook lasts at most, from start to exit.
	Deadline = 2 * time.Second
	// maxInput bounds what is read of an event: it holds what a tool was given and
	// answered.
	maxInput = 16 << 20
	// maxAnswer bounds an answer; see [hooks.MaxContext].
	maxAnswer = 256 << 10
)

// Answers reports whether these are the arguments of a hook that answers an event.
// A person who wants help or settings is served elsewhere.
func Answers(args []string) bool {
	return !slices.ContainsFunc(args, func(arg string) bool {
		switch flagName(arg) {
		case "settings", "help", "h":
			return true
		}
		return false
	})
}

// flagName is the name of a flag, with one dash or two, without its value.
func flagName(arg string) string {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok {
		return ""
	}
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "-"), "=")
	return name
}

// flags reads the flags that an answer depends on, and passes over all others.
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

// Answer answers one event of a session that a person opened in a terminal. Whatever
// goes wrong, it says nothing and ends with 0: a hook that fails would cost the
// person a word (2 blocks a prompt) or show an error at every call. So an unknown
// flag is passed over, too: the settings may be another version's.
func Answer(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	socket, debug := flags(args)
	type outcome struct {
		answer []byte
		err    error
	}
	done := make(chan outcome, 1)
	deadline := time.Now().Add(Deadline)
	// Not waited for beyond the deadline: a read of stdin cannot be called off, and ends
	// with the process.
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- outcome{err: fmt.Errorf("a fault of arbiter: %v", p)}
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

// ask reads an event and returns the running arbiter's answer to it, nothing
// for an empty one. Only what the policy looks at goes over the socket.
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
	answer, err := exchange(socket, withToken(in.JSON(), os.Getenv(TokenEnv)), deadline)
	if err != nil {
		return nil, err
	}
	// What is not a JSON object would be shown to the model as it is.
	var object map[string]json.RawMessage
	if err := json.Unmarshal(answer, &object); err != nil || object == nil {
		return nil, fmt.Errorf("the answer is no JSON object: %.80q", answer)
	}
	if len(object) == 0 {
		return nil, nil
	}
	return bytes.TrimSpace(answer), nil
}

// exchange sends one request over a unix socket, ends it, and reads the answer to its
// end.
func exchange(socket string, request []byte, deadline time.Time) ([]byte, error) {
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
		return nil, fmt.Errorf("hear arbiter: %w", err)
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

// shellQuote makes one word of a text, for sh.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
