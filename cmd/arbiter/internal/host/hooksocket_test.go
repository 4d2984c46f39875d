package host

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hookclient"
	"github.com/arbiter-cli/arbiter/hooks"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func TestWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.jsonl")
	testkit.Check(t, written(path, "toolu_1"), "a transcript that is not there is waited for")
	write := func(text string) {
		t.Helper()
		testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write("{}\n")
	testkit.Check(t, !written(path, "toolu_1"), "found what is not there")
	write(strings.Repeat("x", 2*searched) + `{"id":"toolu_1"}` + strings.Repeat("y", searched/2))
	testkit.Check(t, written(path, "toolu_1"), "not found near the end")
}

const aSession = "33e2ace1-d4bc-47dd-9200-fa457d13e61f"

// longEnough is how long a test waits for something that must happen. A wait that takes longer has failed.
const longEnough = 2 * time.Minute

// house is a run of one agent or two, whose context size is set by the test.
type house struct {
	InputLoop // the rest is not called

	mu     sync.Mutex
	agent  supervisor.Agent
	second *supervisor.Agent // nil: there is none
	tokens int
	unread error
	late   int // the look for a call that first finds it and sets
	next   int // tokens to this
	events chan bridge.EventBody
	looked chan string // the transcripts that were read
}

func newHouse() *house {
	h := &house{events: make(chan bridge.EventBody, 1000), looked: make(chan string, 1000)}
	h.agent.AgentRef, h.agent.SessionID = bridge.AgentRef{ID: "orch-1", Generation: 1}, aSession
	h.agent.Role, h.agent.Context.Window = supervisor.RoleOrchestrator, 200_000
	return h
}

func (h *house) set(f func(*house)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(h)
}

func (h *house) Event(e bridge.Event) { h.events <- e.Body }

func (h *house) Snapshot() *supervisor.State {
	h.mu.Lock()
	defer h.mu.Unlock()
	agents := []*supervisor.Agent{new(h.agent)}
	if h.second != nil {
		agents = append(agents, h.second)
	}
	return &supervisor.State{Options: runconfig.Options{ContextWarn: 70, ContextCritical: 85},
		Roster: supervisor.Roster{Agents: agents}}
}

func (h *house) size(path string) (int, error) {
	h.looked <- path
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tokens, h.unread
}

func (h *house) written(string, string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late--
	if h.late == 0 {
		h.tokens = h.next
	}
	return h.late <= 0
}

func (h *house) serve(t *testing.T, dir string) *HooksService {
	t.Helper()
	s := newHooks(h, &Terminals{}, slog.New(slog.DiscardHandler))
	s.size, s.written = h.size, h.written
	s.listen(dir)
	t.Cleanup(s.Close)
	return s
}

func askServer(t *testing.T, s *HooksService, in hooks.Input) string {
	t.Helper()
	answer := testkit.Must(hookclient.Exchange(s.Path(), in.JSON(), time.Now().Add(longEnough)))(t)
	testkit.Need(t, json.Valid(answer), "answer %q", answer)
	return string(answer)
}

func bashOf(session string) hooks.Input {
	return hooks.Input{Event: hooks.PostToolUse, SessionID: session, Tool: "Bash",
		TranscriptPath: "/h/.claude/projects/-w/" + session + ".jsonl"}
}

// awaitEvent waits for an event, besides those about the context.
func (h *house) awaitEvent(t *testing.T, want bridge.EventBody) {
	t.Helper()
	for {
		select {
		case got := <-h.events:
			if _, context := got.(bridge.Context); !context {
				testkit.Same(t, "reported", want, got)
				return
			}
		case <-time.After(longEnough):
			t.Fatalf("%+v was not reported", want)
		}
	}
}

func TestHookServer(t *testing.T) {
	h := newHouse()
	s := h.serve(t, testkit.ShortDir(t))
	bash := bashOf(aSession)
	h.set(func(h *house) { h.tokens = 142_000 })
	sub := bash
	sub.AgentID = "a1"
	for name, in := range map[string]hooks.Input{"a subagent": sub, "another session": bashOf("9" + aSession[1:])} {
		testkit.Same(t, name, "{}", askServer(t, s, in))
	}
	got := askServer(t, s, bash)
	testkit.Includes(t, "answer", got, hooks.MarkContext+" warn: 71 % full, 142,000 of 200,000 tokens.")
	h.awaitEvent(t, bridge.ContextWarning{Level: "warn", Pct: 71})
	testkit.Same(t, "told twice", "{}", askServer(t, s, bash))
	if got := askServer(t, s,
		hooks.Input{Event: hooks.PreCompact, Trigger: hooks.TriggerAuto, SessionID: aSession}); !strings.HasPrefix(got,
		`{"decision":"block"`) {
		t.Errorf("answer %s", got)
	}
	h.awaitEvent(t, bridge.Compact{Trigger: hooks.TriggerAuto, Blocked: true, PreTokens: 142_000})

	// Another incarnation was already warned by its bridge.
	h.set(func(h *house) { h.agent.Generation, h.agent.NotifiedLevel = 2, "warn" })
	testkit.Same(t, "told what its bridge had told", "{}", askServer(t, s, bash))
	h.set(func(h *house) { h.tokens, h.unread = 190_000, errors.New("torn") })
	testkit.Same(t, "a context that cannot be read", "{}", askServer(t, s, bash))
	h.set(func(h *house) { h.unread = nil })
	got = askServer(t, s, bash)
	testkit.Check(t, strings.Contains(got, "critical: 95 %"), "answer %s", got)
}

// TestHookServerWaitsForTheTranscript: close to a level, the server waits a limited time for a late transcript;
// otherwise it does not wait.
func TestHookServerWaitsForTheTranscript(t *testing.T) {
	h := newHouse()
	s := h.serve(t, testkit.ShortDir(t))
	bash := bashOf(aSession)
	bash.ToolUseID = "toolu_1"
	h.set(func(h *house) { h.tokens, h.next, h.late = 100_000, 150_000, 3 })
	testkit.Same(t, "far off", "{}", askServer(t, s, bash))
	h.set(func(h *house) { h.tokens = 120_000 })
	got := askServer(t, s, bash)
	testkit.Check(t, strings.Contains(got, "warn: 75 %"), "near: %s", got)
	h.set(func(h *house) { h.next, h.late = 180_000, 1<<30 })
	testkit.Same(t, "it never comes", "{}", askServer(t, s, bash))
}

// TestHookServerReadsTranscriptsOnly: a client cannot make the server read any other file.
func TestHookServerReadsTranscriptsOnly(t *testing.T) {
	h := newHouse()
	s := h.serve(t, testkit.ShortDir(t))
	for _, path := range []string{
		"", "projects/-w/" + aSession + ".jsonl", "/h/.claude/projects/-w/other.jsonl", "/etc/passwd",
		"/h/.claude/projects/-w/../" + aSession + ".jsonl", "/h/projects/" + aSession + ".jsonl",
		"/h/.claude/projects/-w/" + aSession + "/" + aSession + ".jsonl",
	} {
		in := bashOf(aSession)
		in.TranscriptPath = path
		askServer(t, s, in)
	}
	select {
	case path := <-h.looked:
		t.Errorf("%s was read", path)
	default:
	}
	askServer(t, s, bashOf(aSession))
	testkit.Same(t, "was read", "/h/.claude/projects/-w/"+aSession+".jsonl", <-h.looked)
}

// TestHookServerReportsOnce: calls that end concurrently get one warning among them.
func TestHookServerReportsOnce(t *testing.T) {
	h := newHouse()
	s := h.serve(t, testkit.ShortDir(t))
	h.set(func(h *house) { h.tokens = 180_000 })
	answers := make(chan string, 3*slots)
	var clients sync.WaitGroup
	for range cap(answers) {
		clients.Go(func() {
			answer, err := hookclient.Exchange(s.Path(), bashOf(aSession).JSON(), time.Now().Add(longEnough))
			testkit.Check(t, err == nil, "%v", err)
			answers <- string(answer)
		})
	}
	clients.Wait()
	close(answers)
	effects := 0
	for a := range answers {
		if a != "{}" {
			effects++
		}
	}
	testkit.Same(t, "reported", 1, effects)
}

// TestUnansweredHooksAreNotReported: an answer that could not be delivered does not count as reported.
func TestUnansweredHooksAreNotReported(t *testing.T) {
	h := newHouse()
	h.looked = make(chan string) // the server waits until this test looks
	h.tokens = 180_000
	over := make(chan struct{})
	var drained sync.WaitGroup
	t.Cleanup(func() { // runs after the server's cleanup: the server may still serve the first event
		close(over)
		drained.Wait()
	})
	s := h.serve(t, testkit.ShortDir(t))
	conn := testkit.Must(net.Dial("unix", s.Path()))(t)
	testkit.Must(conn.Write(bashOf(aSession).JSON()))(t)
	testkit.OK(t, conn.(*net.UnixConn).CloseWrite())
	conn.Close() // before the answer
	drained.Go(func() {
		for {
			select {
			case <-h.looked:
			case <-over:
				return
			}
		}
	})
	// Later events may overtake the first one.
	for began := time.Now(); !strings.Contains(askServer(t, s, bashOf(aSession)), "critical: 90 %"); {
		testkit.Need(t, time.Since(began) <= longEnough, "lost")
	}
}

// TestHookServerEndsWithClients: a client that sends nothing is disconnected, and a request that is not an event gets
// no answer.
func TestHookServerEndsWithClients(t *testing.T) {
	h := newHouse()
	s := h.serve(t, testkit.ShortDir(t))
	silent := testkit.Must(net.Dial("unix", s.Path()))(t)
	defer silent.Close()
	for _, request := range []string{"", "garbage", "[]", `{"hook_event_name":"Stop","x":"` +
		strings.Repeat("x", maxRequest) + `"}`} {
		answer, err := hookclient.Exchange(s.Path(), []byte(request), time.Now().Add(longEnough))
		testkit.Check(t, len(answer) == 0, "%.30q: %q, %v", request, answer, err)
	}
	testkit.OK(t, silent.SetReadDeadline(time.Now().Add(longEnough)))
	n, err := silent.Read(make([]byte, 1))
	testkit.Check(t, n == 0 && !errors.Is(err, os.ErrDeadlineExceeded), "the silent one got %d bytes, %v", n, err)
}

// TestServedElsewhere: if other users can access the run's directory, the server listens in a directory of its own.
// A file there is left alone, and there is no socket.
func TestServedElsewhere(t *testing.T) {
	dir := testkit.ShortDir(t)
	testkit.OK(t, os.Chmod(dir, 0o755))
	s := newHouse().serve(t, dir)
	got := askServer(t, s, bashOf("x"))
	testkit.Check(t, got == "{}" && filepath.Dir(s.Path()) != dir, "answer %s at %s", got, s.Path())
	dir = testkit.ShortDir(t)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, HookSocketName), []byte("precious"), 0o600))
	testkit.Check(t, newHouse().serve(t, dir).Path() == "", "a file was taken for a socket")
}

// TestHookTokens: a process of an agent is served only with the token of the session that it speaks for: not
// without a token, with a wrong one, with another agent's or an earlier incarnation's, or as another user. A
// person's own process needs none.
func TestHookTokens(t *testing.T) {
	const second = "44e2ace1-d4bc-47dd-9200-fa457d13e61f"
	h := newHouse()
	h.agent.Generation = 2
	h.second = &supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{SessionID: second,
		AgentRef: bridge.AgentRef{ID: "orch-2", Generation: 1}, Role: supervisor.RoleOrchestrator}}
	s := newHooks(h, &Terminals{}, slog.New(slog.DiscardHandler))
	given := &s.tokens
	stale := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 1})
	overtaken := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 2}) // of a terminal that was opened before
	right, others := given.Issue(bridge.AgentRef{ID: "orch-1", Generation: 2}),
		given.Issue(bridge.AgentRef{ID: "orch-2", Generation: 1})
	ofNobody := Tokens{}
	testkit.Check(t, !ofNobody.Good(bridge.AgentRef{ID: "orch-1", Generation: 2}, "") &&
		!ofNobody.Good(bridge.AgentRef{}, ""), "no token is good where none was given out")

	var peer atomic.Pointer[control.Peer]
	s.size = h.size // is called if the request is accepted
	s.identify = func(*net.UnixConn) control.Peer { return *peer.Load() }
	s.listen(testkit.ShortDir(t))
	t.Cleanup(s.Close)
	descendant := control.Peer{UID: os.Getuid(), PID: 7, Name: "sh", Agent: "orch-1",
		Problem: "this arbiter started it"}
	otherUser := control.Peer{UID: os.Getuid() + 1, PID: 7, Problem: "it belongs to another user"}
	person := control.Peer{UID: os.Getuid(), PID: 7}
	for _, c := range []struct {
		name    string
		peer    control.Peer
		session string
		token   string
		want    bool
	}{
		{"the right one", descendant, aSession, right, true},
		{"the other's for the other's session", descendant, second, others, true},
		{"none", descendant, aSession, "", false},
		{"a wrong one", descendant, aSession, right + "A", false},
		{"the beginning of it", descendant, aSession, right[:len(right)-1], false},
		{"of a generation before", descendant, aSession, stale, false},
		{"of a terminal before", descendant, aSession, overtaken, false},
		{"another agent's", descendant, aSession, others, false},
		{"its own for another's session", descendant, second, right, false},
		{"for no session of the run", descendant, "x", right, false},
		{"for no session at all", descendant, "", right, false},
		{"the right one from another user", otherUser, aSession, right, false},
		{"a person without one", person, aSession, "", true},
		{"a person with a wrong one", person, aSession, "x", true},
	} {
		peer.Store(&c.peer)
		raw, err := hookclient.Exchange(s.Path(), hookclient.Request(bashOf(c.session), c.token), time.Now().Add(longEnough))
		testkit.Check(t, err == nil && json.Valid(raw), "%s: answer %q, %v", c.name, raw, err)
		select {
		case path := <-h.looked:
			testkit.Check(t, c.want && filepath.Base(path) == c.session+".jsonl", "%s: heard about %q", c.name, path)
		default:
			testkit.Check(t, !c.want, "%s: not heard", c.name)
		}
	}

	// The next generation of the agent makes the token of its terminal invalid.
	testkit.Check(t, !given.Good(bridge.AgentRef{ID: "orch-1", Generation: 3}, right),
		"the token outlives its terminal")
}
