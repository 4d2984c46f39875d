package host

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// terminalsLoop answers commands with events on a board.
type terminalsLoop struct {
	*inputLoop
	answer func(contract.Command) []contract.Body
	tell   func(time.Time, contract.Event)
}

func (l *terminalsLoop) Put(b input.Body) bool {
	for _, body := range l.answer(b.(input.Command).Command) {
		l.tell(time.Now(), contract.Event{ID: "orch-1", Body: body})
	}
	return true
}

func terminalsOf(answer func(contract.Command) []contract.Body) (*service, *terminalsLoop) {
	board := &Board{}
	l := &terminalsLoop{newLoop(), answer, board.publish}
	return &service{run: "r", terminals: &Terminals{}, input: NewSender(l, board)}, l
}

// TestAttachment: an open session belongs to one client until it is given back. Then it can be opened again.
func TestAttachment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := terminalsOf(func(c contract.Command) []contract.Body {
			if _, ok := c.Body.(contract.Attach); ok {
				return []contract.Body{contract.Accepted{Ref: c.Ref, Message: "opening"}, contract.Takeover{State: "open"}}
			}
			return []contract.Body{contract.Takeover{State: "ended", Reason: "given back", Words: 3}}
		})
		var messages []string
		progress := func(text string) { messages = append(messages, text) }
		a, err := o.Attach(t.Context(), "ann", control.AttachParams{Agent: "orch-1"}, progress)
		testkit.Need(t, err == nil && strings.Join(messages, " ") == "opening" && a.Result().Run == "r", "%v, said %q",
			err, messages)
		_, err = o.Attach(t.Context(), "bob", control.AttachParams{Agent: "orch-1"}, progress)
		testkit.Check(t, err != nil && strings.Contains(err.Error(), "ann has it"), "a second one: %v", err)
		end := a.Detach(t.Context())
		testkit.Check(t, end.Reason == "given back" && end.Words == 3 && a.Detach(t.Context()).Words == 3, "ended: %+v",
			end)
		testkit.Same(t, "still has it", "", o.terminals.Holder("orch-1"))
		close(l.done)
		o.input.Wait()
	})
}

// TestEndedBeforeItWasOpen: a session that ends before its terminal is open was opened and has ended. That is not
// an error.
func TestEndedBeforeItWasOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, l := terminalsOf(func(contract.Command) []contract.Body {
			return []contract.Body{contract.Takeover{State: "ended", Reason: "the program ended"}}
		})
		p := control.AttachParams{Agent: "orch-1"}
		a := testkit.Must(o.Attach(t.Context(), "ann", p, func(string) {}))(t)
		n, err := a.Take(t.Context(), make([]byte, 1))
		testkit.Check(t, n == 0 && err == io.EOF, "its output: %d, %v", n, err)
		end := a.Detach(t.Context())
		testkit.Check(t, end.Reason == "the program ended", "ended: %+v", end)
		testkit.Same(t, "still has it", "", o.terminals.Holder("orch-1"))
		close(l.done)
		o.input.Wait()
	})
}

// TestNoAttachment: the error says why a session could not be opened, and the agent can be attached to again.
func TestNoAttachment(t *testing.T) {
	for want, body := range map[string]contract.Body{
		"it works":          contract.Rejected{Message: "it works"},
		"the terminal died": contract.Takeover{State: "failed", Reason: "the terminal died"},
		"given up":          nil,
	} {
		synctest.Test(t, func(t *testing.T) {
			o, l := terminalsOf(func(c contract.Command) []contract.Body {
				switch b := body.(type) {
				case contract.Rejected:
					b.Ref = c.Ref
					return []contract.Body{b}
				case contract.Takeover:
					return []contract.Body{b}
				}
				return nil
			})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			p := control.AttachParams{Agent: "orch-1"}
			_, err := o.Attach(ctx, "ann", p, func(string) {})
			testkit.Check(t, err != nil && strings.Contains(err.Error(), want), "want %q: %v", want, err)
			var unopen *control.OpenError
			_, failed := body.(contract.Takeover)
			testkit.Check(t, errors.As(err, &unopen) == failed, "want an OpenError: %v: %#v", failed, err)
			testkit.Same(t, "has it", "", o.terminals.Holder("orch-1"))
			close(l.done)
			o.input.Wait()
		})
	}
}
