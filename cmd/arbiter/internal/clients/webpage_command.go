package clients

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// maxBody bounds a request. A message has at most 1 MiB of text, which JSON may escape.
	maxBody = 3 << 20
	// webTakes is how long a run may take to accept a command, which it first writes to disk.
	webTakes = 15 * time.Second
)

// allowed reports whether the page may send a command. Other commands change how a run is guarded (permission
// modes, acceptance) or have permanent effects, and need a terminal.
func allowed(c contract.CommandBody) bool {
	switch c.(type) {
	case contract.Say, contract.Permit, contract.Choose, contract.Interrupt, contract.Pause, contract.Continue:
		return true
	}
	return false
}

// answer is the reply to a request of the page.
type answer struct {
	Accepted bool   `json:"accepted"`
	Message  string `json:"message,omitempty"`
	Link     string `json:"link,omitempty"` // path of a link for another browser
}

// command sends a command of the page to the run.
func (s *WebServer) command(w http.ResponseWriter, r *http.Request) {
	raw, ok := readBody(w, r)
	if !ok {
		return
	}
	c := contract.ParseCommand(raw)
	if bad, is := c.Body.(contract.Malformed); is {
		reply(w, http.StatusBadRequest, answer{Message: bad.Problem})
		return
	}
	if !allowed(c.Body) {
		reply(w, http.StatusForbidden, answer{Message: "The page may not send this command. Use a terminal."})
		return
	}
	line, err := contract.MarshalCommand(contract.Command{Body: c.Body}) // without a ref: it belongs to the caller
	if err != nil {
		reply(w, http.StatusBadRequest, answer{Message: err.Error()})
		return
	}
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		done, err := client.Command(ctx, line)
		return answer{Accepted: done.Accepted, Message: done.Message}, err
	})
}

// stop asks the run to end in an orderly way, like arbiter stop.
func (s *WebServer) stop(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
	s.withRun(w, r, func(ctx context.Context, client *control.Client) (answer, error) {
		err := client.Stop(ctx, control.StopParams{Signal: "TERM"})
		return answer{Accepted: err == nil, Message: "The run is stopping. It can be resumed."}, err
	})
}

// resume resumes a run that no process plays.
func (s *WebServer) resume(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
	if err := s.runs.Resume(r.Context(), s.run, nil); err != nil {
		reply(w, http.StatusConflict, answer{Message: err.Error()})
		return
	}
	reply(w, http.StatusOK, answer{Accepted: true, Message: "The run is resumed."})
}

// link makes a link for another browser.
func (s *WebServer) link(w http.ResponseWriter, r *http.Request) {
	if _, ok := readBody(w, r); !ok {
		return
	}
	reply(w, http.StatusOK, answer{Accepted: true, Link: s.guard.path()})
}

// withRun calls do with a connection to the run, and sends the reply.
func (s *WebServer) withRun(w http.ResponseWriter, r *http.Request,
	do func(context.Context, *control.Client) (answer, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), webTakes)
	defer cancel()
	client, _, err := s.runs.Dial(ctx, s.run)
	if err != nil {
		reply(w, http.StatusConflict, answer{Message: "The run cannot be reached: " + err.Error()})
		return
	}
	defer client.Close()
	a, err := do(ctx, client)
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		reply(w, http.StatusConflict, answer{Message: refused.Message})
	case err != nil:
		reply(w, http.StatusBadGateway, answer{Message: "It is not known whether the run accepted this: " + err.Error()})
	case !a.Accepted:
		reply(w, http.StatusConflict, a)
	default:
		reply(w, http.StatusOK, a)
	}
}

// readBody reads the body of a POST. The content type must be JSON, which a form of another page cannot send
// without a preflight request.
func readBody(w http.ResponseWriter, r *http.Request) (json.RawMessage, bool) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		reply(w, http.StatusUnsupportedMediaType, answer{Message: "Send application/json."})
		return nil, false
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		reply(w, http.StatusRequestEntityTooLarge, answer{Message: "The text is too long: 1 MiB at most."})
		return nil, false
	case err != nil:
		reply(w, http.StatusBadRequest, answer{Message: "The request was not read to its end."})
		return nil, false
	}
	return raw, true
}

func reply(w http.ResponseWriter, code int, a answer) {
	a.Message = strings.TrimSpace(sanitize.Line(a.Message, 500))
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(a) // a client that has gone does not read it
}

// path returns the path of a link with a new token.
func (g *guard) path() string { return "/?" + tokenParam + "=" + g.newToken() }
