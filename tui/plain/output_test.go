package plain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestReaderGoesAway: an output that accepts no data blocks neither the run nor its end, and the queue for
// it is bounded.
func TestReaderGoesAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		r, w := io.Pipe()
		in, feed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- (&Frontend{Begin: true}).Run(t.Context(), in, w, host) }()
		synctest.Wait()
		notice := contract.Event{ID: "supervisor", Body: contract.Notice{Text: strings.Repeat("n", 1000)}}
		for range 20_000 {
			host.sink(time.Now(), notice) // if it blocks, the test hangs
		}
		synctest.Wait()
		for range 3 {
			host.sink(time.Now(),
				contract.Event{ID: "arbiter", Body: contract.Question{Text: fmt.Sprint("Well? ", time.Now())}})
			synctest.Wait()
			time.Sleep(time.Second)
		}
		buf := make([]byte, 8<<20)
		n, err := r.Read(buf)
		for err == nil && !bytes.Contains(buf[:n], []byte("left out")) && n < 7<<20 {
			var more int
			more, err = r.Read(buf[n:])
			n += more
		}
		if text := string(buf[:n]); n > 2<<20 || strings.Count(text, "Well?") != 3 ||
			!strings.Contains(text, "announcements left out") {
			t.Errorf("%d bytes, %d questions, error %v", n, strings.Count(text, "Well?"), err)
		}
		host.sink(time.Now(), notice)
		host.end()
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "nobody reads") {
			t.Errorf("error %v", err)
		}
		r.Close()
		feed.Close()
	})
}

// TestOutputIsClosed: when the output is closed, the run is stopped, and can be resumed.
func TestOutputIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFake()
		r, w := io.Pipe()
		r.Close()
		in, feed := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- (&Frontend{Begin: true}).Run(t.Context(), in, w, host) }()
		synctest.Wait()
		host.sink(time.Now(), contract.Event{ID: "supervisor", Body: contract.Notice{Text: "x"}})
		if err := <-ended; !errors.Is(err, io.ErrClosedPipe) || host.stops != 1 {
			t.Errorf("error %v, stopped %d times", err, host.stops)
		}
		feed.Close()
	})
}

// TestOutputHasNoControlCharacters: the output contains no byte that a terminal acts on.
func TestOutputHasNoControlCharacters(t *testing.T) {
	evil := "\x1b[2J\x1b]0;t\x07\u009b6n a\rb\x08 \u202egnp [red] \x00\x7f e" + strings.Repeat("\u0301", 50)
	for _, asciiOnly := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := play(t, &Frontend{Begin: true, Verbose: true, ASCII: asciiOnly, Name: func(string) string {
				return evil
			}}, newFake())
			for _, b := range []contract.Body{
				contract.Message{From: "orch-1", To: "arbiter", Kind: evil, Text: evil}, contract.Question{Text: evil},
				contract.Notice{Text: evil},
				contract.ToolUse{Tool: evil, Input: json.RawMessage(`{"command":"\u001b[2J` + "\u202e" + `"}`)},
				contract.Assistant{Text: evil},
				contract.PermissionRequest{Request: evil, Tool: evil, Input: json.RawMessage("\x1b[2J"), Reason: evil},
				contract.Error{Category: "auth", Message: evil, RecoveryOptions: []string{evil}},
				contract.Result{Status: evil, Summary: evil},
				contract.Plan{Steps: []contract.Step{{Text: evil, Status: evil, Agent: evil}}},
				contract.Plan{Steps: []contract.Step{{Text: evil, Status: "done", Agent: evil}}},
				contract.Spawn{Name: evil, Mode: evil}, contract.Handoff{From: evil, To: evil, GeneratedBecause: evil},
				contract.ToolResult{Text: evil, IsError: true},
			} {
				s.emit(evil, b)
			}
			s.typeLines("/" + evil)
			for _, r := range s.output() {
				if r != '\n' && r < ' ' || r >= 0x7f && r <= 0x9f || r == 0x202e || asciiOnly && r > '~' {
					t.Fatalf("said %U", r)
				}
			}
			s.end()
		})
	}
}
