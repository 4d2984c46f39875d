package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

const testRun = "4be1c2d0-0000-4000-8000-000000000000"

// house is a run for tests: its process behind a real control socket, with scripted output and recorded input, and
// its event log. It implements control.Service and Runs.
type house struct {
	Runs // the page calls nothing else of it
	t    *testing.T
	dir  string

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	info     journal.Info
	status   runstore.LiveStatus
	lines    []string // of the process that plays the run
	ended    bool
	chain    journal.LogChain // of the event log
	commands []string
	resumed  int
	refuse   string        // why commands are refused
	stuck    chan struct{} // if not nil, its status waits for its end
	asked    chan struct{} // gets a value when its status waits
	late     time.Duration
	clients  []*control.Client // that were dialled
	server   *control.Server
	listener *host.Listener
}

func newHouse(t *testing.T) *house {
	t.Helper()
	dir := testkit.Must(os.MkdirTemp("", "web"))(t) // t.TempDir is too long for a socket's path
	began := time.Now().Add(-90 * time.Second).UTC()
	h := &house{t: t, dir: dir, changed: make(chan struct{}), info: journal.Info{
		Meta: journal.Meta{Run: testRun, CWD: "/home/me/parser", Title: "Rewrite the parser", Began: began},
	}, status: runstore.LiveStatus{LiveReport: runstore.LiveReport{
		Run: testRun, CWD: "/home/me/parser", Title: "Rewrite the parser", Began: began, Phase: "executing", Does: "Working",
		Agents: []runstore.AgentStatus{
			{ID: "arbiter", Name: "The Arbiter", Status: "busy", Since: began, Session: "s1"},
		},
		Inbox: []supervisor.InboxItem{},
	}}}
	t.Cleanup(func() {
		h.end("complete")
		_ = os.RemoveAll(dir)
	})
	h.begin()
	return h
}

// begin starts a process that plays the run.
func (h *house) begin() {
	h.t.Helper()
	l := testkit.Must(host.Listen(h.dir, control.SocketName))(h.t)
	h.mu.Lock()
	h.listener, h.lines, h.ended, h.info.Live, h.info.Status = l, nil, false, true, ""
	h.status.LogLines = h.chain.N
	h.server = control.Serve(l.UnixListener, h, slog.New(slog.DiscardHandler))
	h.mu.Unlock()
	h.record(`{"kind":"origin","by":"human"}`)
	h.emit("supervisor", contract.Session{Session: testRun, CWD: "/home/me/parser"})
}

// end ends the process; without a status, it was killed.
func (h *house) end(status string) {
	h.mu.Lock()
	server, listener := h.server, h.listener
	h.server, h.info.Live, h.info.Status, h.ended = nil, false, status, status != ""
	h.info.LastActive = time.Now()
	h.wake()
	h.mu.Unlock()
	if server != nil {
		if err := errors.Join(server.Close(), listener.Close()); err != nil {
			h.t.Log(err)
		}
	}
}

// emit emits an event of the run, and returns its time.
func (h *house) emit(id string, body contract.Body) (at time.Time) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	_, piece := body.(contract.Delta)
	seq := h.status.Seq
	if !piece {
		seq++
	}
	if _, first := body.(contract.Session); first {
		seq = 1
	}
	at = time.Now().Add(h.late)
	line, err := contract.EncodeLine(nil, seq, at, contract.Event{ID: id, Body: body})
	testkit.OK(h.t, err)
	line = line[:len(line)-1]
	h.status.Seq = seq
	h.lines = append(h.lines, string(line))
	if !piece {
		h.write(journal.LogContent{At: at, Line: json.RawMessage(line)})
	}
	h.wake()
	return at
}

// write adds to the event log. The caller holds mu.
func (h *house) write(x journal.LogContent) {
	h.t.Helper()
	testkit.Append(h.t, h.path(), testkit.Must(h.chain.Append(nil, x))(h.t))
}

func (h *house) path() string { return filepath.Join(h.dir, journal.LogName) }

// record adds an entry that is not an event to the log.
func (h *house) record(text string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.write(journal.LogContent{At: time.Now(), Record: json.RawMessage(text)})
}

// wait adds items that wait for the human.
func (h *house) wait(items ...supervisor.InboxItem) {
	h.mu.Lock()
	h.status.Inbox = append(slices.Clone(h.status.Inbox), items...)
	h.mu.Unlock()
	h.emit("supervisor", contract.Notice{Text: "something waits"})
}

// wake wakes the waiters. The caller holds mu.
func (h *house) wake() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// took waits until n commands were received, and returns them.
func (h *house) took(ctx context.Context, n int) []string {
	h.t.Helper()
	for {
		h.mu.Lock()
		list, changed := slices.Clone(h.commands), h.changed
		h.mu.Unlock()
		if len(list) >= n {
			return list
		}
		select {
		case <-changed:
		case <-ctx.Done():
			h.t.Fatalf("the run took %q, want %d commands", list, n)
		}
	}
}

// Status implements control.Service.
func (h *house) Status() any {
	h.mu.Lock()
	stuck, asked := h.stuck, h.asked
	h.mu.Unlock()
	if stuck != nil {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-stuck
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// Command implements control.Service: it removes the item that a command answers.
func (h *house) Command(_ context.Context, line json.RawMessage) (control.CommandResult, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != "" {
		return control.CommandResult{Message: h.refuse}, nil
	}
	h.commands = append(h.commands, string(line))
	c := contract.ParseCommand(line)
	h.status.Inbox = slices.DeleteFunc(slices.Clone(h.status.Inbox), func(i supervisor.InboxItem) bool {
		switch b := c.Body.(type) {
		case contract.Permit:
			return i.ID == b.Request
		case contract.Say:
			return i.Kind == "question"
		case contract.Choose:
			return slices.Contains(i.Choices, b.Option)
		}
		return false
	})
	h.wake()
	return control.CommandResult{Accepted: true, Message: "done"}, nil
}

// Stop implements control.Service.
func (h *house) Stop(_ context.Context, p control.StopParams) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.commands = append(h.commands, "stop "+p.Signal)
	h.wake()
	return nil
}

// Subscribe implements control.Service.
func (h *house) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	next := 0
	for {
		h.mu.Lock()
		lines, changed, ended := h.lines[min(next, len(h.lines)):], h.changed, h.ended
		h.mu.Unlock()
		next += len(lines)
		lines = slices.DeleteFunc(slices.Clone(lines), func(l string) bool {
			return int64(contract.SeqOf([]byte(l))) <= p.Since
		})
		if send(control.Events{Lines: lines}) != nil {
			return
		}
		if ended {
			_ = send(control.RunEnded{}) // a client that has gone does not read it
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

var errNotHere = errors.New("not in this test")

// Attach, Halt, State, Put, InputEnded and Refused implement control.Service.
func (h *house) Attach(context.Context, string, control.AttachParams, func(string)) (control.Attachment, error) {
	return nil, errNotHere
}
func (h *house) Halt(context.Context, control.HaltParams) control.HaltResult {
	return control.HaltResult{}
}
func (h *house) State() (control.StateResult, error)          { return control.StateResult{}, errNotHere }
func (h *house) Put(context.Context, control.PutParams) error { return errNotHere }
func (h *house) InputEnded(context.Context) error             { return errNotHere }
func (h *house) Refused(p control.Peer, _ string)             { h.t.Errorf("refused: %s", p) }

// Find implements Runs.
func (h *house) Find(string) (journal.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.info, nil
}

// Dial implements Runs.
func (h *house) Dial(ctx context.Context, _ string) (*control.Client, runstore.LiveStatus, error) {
	c, st, err := control.Dial[runstore.LiveStatus](ctx, filepath.Join(h.dir, control.SocketName), nil)
	if err == nil {
		h.mu.Lock()
		h.clients = append(h.clients, c)
		h.mu.Unlock()
	}
	return c, st, err
}

// Log implements Runs.
func (h *house) Log(string) (*journal.EventLog, error) { return journal.OpenLog(h.path()) }

// Resume implements Runs.
func (h *house) Resume(context.Context, string, string, []string) error {
	h.mu.Lock()
	h.resumed++
	h.mu.Unlock()
	h.begin()
	return nil
}

// webWaitTimeout is how long a test waits for something that must happen.
const webWaitTimeout = 20 * time.Second

// serve serves a run until the test ends, and returns the page's address.
func serve(t *testing.T, h *house, wrap ...func(net.Listener) net.Listener) (*WebServer, string) {
	t.Helper()
	s := testkit.Must(ListenWeb(WebOptions{Runs: h, Run: testRun, Listen: "127.0.0.1:0"}))(t)
	if len(wrap) > 0 {
		s.listener = wrap[0](s.listener)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		testkit.Works(t, "the end", <-done)
	})
	return s, "http://" + s.listener.Addr().String()
}

// viewer reads a stream like a page.
type viewer struct {
	t      *testing.T
	body   *bufio.Reader
	id     string // of the last part that had one
	cancel context.CancelFunc
}

func view(t *testing.T, s *WebServer, url, last string) *viewer {
	t.Helper()
	return viewBy(t, s, url, last, http.DefaultClient)
}

func viewBy(t *testing.T, s *WebServer, url, last string, client *http.Client) *viewer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), webWaitTimeout)
	t.Cleanup(cancel)
	r := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, url+"/run/events", nil))(t)
	r.AddCookie(&http.Cookie{Name: s.guard.cookie, Value: s.guard.secret})
	r.Header.Set(keyHeader, s.guard.key)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp := testkit.Must(client.Do(r))(t)
	testkit.Need(t, resp.StatusCode == http.StatusOK, "the stream is refused: %s", resp.Status)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return &viewer{t: t, body: bufio.NewReader(resp.Body), cancel: cancel}
}

// smallBuffer connects with a small receive buffer.
func smallBuffer(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.SetReadBuffer(4 << 10)
	}
	return conn, err
}

// narrow accepts connections with a small send buffer, so that the writer soon waits for the reader.
type narrow struct{ net.Listener }

func (n narrow) Accept() (net.Conn, error) {
	conn, err := n.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
		err = tcp.SetWriteBuffer(16 << 10)
	}
	return conn, err
}

// next reads a part.
func (v *viewer) next() (kind string, data string) {
	v.t.Helper()
	for {
		line, err := v.body.ReadString('\n')
		testkit.Need(v.t, err == nil, "the stream ends: %v", err)
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			v.id = value
		case "event":
			kind = value
		case "data":
			return kind, value
		}
	}
}

// texts reads until an event with a text, and returns the texts of notices and messages up to it.
func (v *viewer) texts(last string) (list []string) {
	v.t.Helper()
	for {
		kind, data := v.next()
		if kind != partEvents {
			continue
		}
		var events []struct{ Text string }
		testkit.OK(v.t, json.Unmarshal([]byte(data), &events))
		for _, e := range events {
			if e.Text != "" {
				list = append(list, e.Text)
			}
			if e.Text == last {
				return list
			}
		}
	}
}

// until reads until a part of a kind contains a text.
func (v *viewer) until(kind, text string) string {
	v.t.Helper()
	for {
		if k, data := v.next(); k == kind && strings.Contains(data, text) {
			return data
		}
	}
}

func noticeWeb(text string) contract.Notice { return contract.Notice{Text: text} }

// TestStreamContinues: a page that has lost its connection continues after the last part that it received, across
// several processes of the run. A new page gets everything. No event comes twice, and none is omitted.
func TestStreamContinues(t *testing.T) {
	quick(t)
	h := newHouse(t)
	s, url := serve(t, h)
	h.emit("arbiter", noticeWeb("one"))
	h.emit("arbiter", noticeWeb("two"))
	v := view(t, s, url, "")
	v.until(partRun, stateLive)
	v.until(partStatus, `"The Arbiter"`)
	v.texts("two")
	h.emit("arbiter", contract.Delta{Text: "a piece"})
	v.until(partEvents, "a piece")
	v.cancel()
	h.emit("arbiter", noticeWeb("three"))
	w := view(t, s, url, v.id)
	testkit.Same(t, "behind two comes", "three", strings.Join(w.texts("three"), " "))

	h.emit("arbiter", contract.Turn{CostUSD: 1.5})
	h.end("") // it is killed
	killed := w.until(partRun, stateInterrupted)
	testkit.Check(t, strings.Contains(killed, `"cost_usd":1.5`), "its cost is not in %s", killed)
	at := w.id
	h.begin()
	w.until(partRun, stateLive)
	h.emit("arbiter", noticeWeb("four"))
	testkit.Same(t, "of the next process comes", "four", strings.Join(w.texts("four"), " "))
	testkit.Same(t, "a page of the process before gets", "four", strings.Join(view(t, s, url, at).texts("four"), " "))
	testkit.Same(t, "a new page gets", "one two three four", strings.Join(view(t, s, url, "").texts("four"), " "))

	h.end(contract.StatusComplete)
	part := w.until(partRun, stateEnded)
	testkit.Check(t, strings.Contains(part, contract.StatusComplete), "the end is %s", part)
	z := view(t, s, url, "")
	testkit.Same(t, "a page that comes after the end gets", "one two three four", strings.Join(z.texts("four"), " "))
	z.until(partRun, stateEnded)
}

// TestOwnTime: the time between two processes of a run does not count, as in its result.
func TestOwnTime(t *testing.T) {
	quick(t)
	h := newHouse(t)
	s, url := serve(t, h)
	v := view(t, s, url, "")
	v.until(partRun, stateLive)
	last := h.emit("arbiter", noticeWeb("one"))
	h.end("")
	h.mu.Lock()
	h.late = time.Hour
	h.mu.Unlock()
	h.begin()
	h.emit("arbiter", noticeWeb("two"))
	counts := func(v *viewer, state string) {
		t.Helper()
		for late := false; !late; {
			var part runPart
			testkit.OK(t, json.Unmarshal([]byte(v.until(partRun, state)), &part))
			late = part.Began.Sub(last.Add(time.Hour)).Abs() < time.Minute
		}
	}
	counts(v, stateLive)
	counts(view(t, s, url, ""), stateLive)
	h.end(contract.StatusComplete)
	counts(v, stateEnded)
}

// TestStatusFollows: items that wait appear with the run's status, and disappear when they were answered.
func TestStatusFollows(t *testing.T) {
	h := newHouse(t)
	s, url := serve(t, h)
	v := view(t, s, url, "")
	v.until(partStatus, `"inbox":[]`)
	h.wait(supervisor.InboxItem{ID: "question-1", Kind: "question", Agent: "arbiter", Text: "Which?\x1b]0;x\a\u202e"})
	data := v.until(partStatus, "question-1")
	testkit.Check(t, strings.Contains(data, `"text":"Which?"`) && !strings.Contains(data, `"s1"`), "the status is %s",
		data)
	body := `{"type":"message","text":"This one.","ref":"mine"}`
	w := askWeb(s, "POST", "/run/command", body, nil)
	testkit.Check(t, w.Code == 200 && strings.Contains(w.Body.String(), "true"), "%d %s", w.Code, w.Body)
	ctx, cancel := context.WithTimeout(t.Context(), webWaitTimeout)
	defer cancel()
	testkit.Same(t, "the run took", `{"text":"This one.","type":"message"}`, h.took(ctx, 1)[0])
	h.emit("arbiter", noticeWeb("on"))
	v.until(partStatus, `"inbox":[]`)
	h.mu.Lock()
	h.refuse = "no such request is open"
	h.mu.Unlock()
	if w := askWeb(s, "POST", "/run/command", body, nil); w.Code != 409 || !strings.Contains(w.Body.String(), h.refuse) {
		t.Errorf("a refused command: %d %s", w.Code, w.Body)
	}
	w = askWeb(s, "POST", "/run/stop", "{}", nil)
	testkit.Check(t, w.Code == 200 && h.took(ctx, 2)[1] == "stop TERM", "%d %s", w.Code, w.Body)
	h.end("")
	w = askWeb(s, "POST", "/run/command", body, nil)
	testkit.Check(t, w.Code == 409, "a command to no process: %d %s", w.Code, w.Body)
	w = askWeb(s, "POST", "/run/resume", "{}", nil)
	testkit.Check(t, w.Code == 200 && h.resumed == 1, "%d %s", w.Code, w.Body)
}

// impatient bounds the wait for a status, before anything begins.
func impatient(t *testing.T) {
	before := statusTimeout
	statusTimeout = 500 * time.Millisecond
	t.Cleanup(func() { statusTimeout = before })
}

// hangs has the process of the run not report its status until the end of the test, or until goesOn is called.
func (h *house) hangs(t *testing.T) (goesOn func()) {
	stuck := make(chan struct{})
	h.mu.Lock()
	h.stuck, h.asked = stuck, make(chan struct{}, 1)
	h.mu.Unlock()
	goesOn = sync.OnceFunc(func() { close(stuck) })
	t.Cleanup(goesOn)
	return goesOn
}

// TestStuckProcess: a page says that the process of the run does not answer, and what it does when it answers again.
func TestStuckProcess(t *testing.T) {
	impatient(t)
	h := newHouse(t)
	s, url := serve(t, h)
	v := view(t, s, url, "")
	v.until(partStatus, `"inbox":[]`)
	goesOn := h.hangs(t)
	h.emit("arbiter", noticeWeb("one"))
	data := v.until(partRun, `"state":"silent"`)
	testkit.Includes(t, "the page", data, "Its process is stopped, or hangs; arbiter halt "+testRun[:8]+
		" ends its agents.")
	goesOn()
	h.emit("arbiter", noticeWeb("two"))
	v.until(partRun, `"state":"live"`)
	v.until(partStatus, `"does":"Working"`)
}

// TestAGoneProcessIsNotStuck: a page does not say that a process hangs which has gone while it was asked.
func TestAGoneProcessIsNotStuck(t *testing.T) {
	quick(t)
	h := newHouse(t)
	s, url := serve(t, h)
	v := view(t, s, url, "")
	v.until(partStatus, `"inbox":[]`)
	goesOn := h.hangs(t)
	h.emit("arbiter", noticeWeb("one"))
	<-h.asked
	h.mu.Lock()
	clients := h.clients
	h.mu.Unlock()
	for _, c := range clients {
		c.Close()
	}
	goesOn()
	h.end("")
	for data := ""; !strings.Contains(data, stateInterrupted); {
		data = v.until(partRun, "state")
		testkit.Check(t, !strings.Contains(data, "or hangs"), "the page says: %s", data)
	}
}

// TestSlowBrowser: a browser that does not read is disconnected, and delays neither the run nor another page.
func TestSlowBrowser(t *testing.T) {
	quick(t)
	h := newHouse(t)
	s, url := serve(t, h, func(l net.Listener) net.Listener { return narrow{l} })
	// It reads only the header.
	viewBy(t, s, url, "", &http.Client{Transport: &http.Transport{DialContext: smallBuffer}})
	big := strings.Repeat("much ", mostText/5)
	for range 24 { // more than the buffers of a connection can hold
		h.emit("arbiter", noticeWeb(big))
	}
	h.emit("arbiter", noticeWeb("end"))
	other := view(t, s, url, "")
	other.texts("end")
	other.cancel()
	late := time.After(webWaitTimeout / 2)
	for range mostStreams { // its slot is free again
		select {
		case s.streams <- struct{}{}:
		case <-late:
			t.Fatal("the slow browser is not dropped")
		}
	}
	w := askWeb(s, "GET", "/run/events", "", nil)
	testkit.Check(t, w.Code == http.StatusServiceUnavailable, "one page too many: %d", w.Code)
	for range mostStreams {
		<-s.streams
	}
}

// TestLongPast: a page gets the last events of a long run, the information how many more there are, and those of them
// from which it sums up costs and changes.
func TestLongPast(t *testing.T) {
	quick(t)
	h := newHouse(t)
	h.emit("orch-1", contract.Turn{CostUSD: 1.25})
	h.emit("orch-1", contract.Changes{Files: []contract.FileChange{{Path: "a.go", Status: "added", Added: 7}}})
	for range mostPast + 100 {
		h.emit("arbiter", noticeWeb("old"))
	}
	h.emit("arbiter", noticeWeb("new"))
	s, url := serve(t, h)
	check := func(state string) {
		t.Helper()
		v := view(t, s, url, "")
		skipped, summed := "", ""
		for n := 0; ; {
			kind, data := v.next()
			if kind == partSkipped {
				skipped = data
			}
			if kind == partEvents {
				for _, part := range strings.Split(data, `{"omitted":true,`)[1:] {
					summed += part
				}
				n += strings.Count(data, `"event":"notice"`)
				if strings.Contains(data, `"new"`) {
					testkit.Same(t, state+": shown", mostPast, n)
					testkit.Same(t, state+": skipped", `{"count":104}`, skipped)
					testkit.Includes(t, state+": the sums", summed, `"cost_usd":1.25`, `"a.go"`)
					return
				}
			}
		}
	}
	check(stateLive)
	h.end(contract.StatusComplete)
	check(stateEnded)
}

// quick makes streams look for a new process, and drop a slow browser, sooner.
func quick(t *testing.T) {
	t.Helper()
	before, late := onceMore, slowest
	onceMore, slowest = 5*time.Millisecond, 300*time.Millisecond
	t.Cleanup(func() { onceMore, slowest = before, late })
}

// TestCleanText: texts are bounded with a mark, and contain no characters that hide or reorder text.
func TestCleanText(t *testing.T) {
	long := strings.Repeat("é", mostText)
	line, err := contract.EncodeLine(nil, 1, time.Now(), contract.Event{ID: "orch-1", Body: noticeWeb(long + "\x1b[2J")})
	testkit.OK(t, err)
	var e struct{ Text string }
	err = json.Unmarshal(pageLine(line), &e)
	testkit.Check(t, err == nil && len(e.Text) <= mostText+200 &&
		strings.Contains(e.Text, "more bytes are not shown here"), "%d bytes, %v", len(e.Text), err)
	line = []byte(`{"v":1,"seq":1,"id":"orch-1","event":"tool_use","tool":"Bash",` +
		`"input":{"a\u202eb":["x\u001b[2Jy",1e400]}}`)
	got := string(pageLine(line))
	testkit.Check(t, strings.Contains(got, `"ab":["xy",1e400]`), "it is %s", got)
	if got := pageLine([]byte(`{"event":"delivered"}`)); got != nil {
		t.Errorf("bookkeeping is shown: %s", got)
	}
}
