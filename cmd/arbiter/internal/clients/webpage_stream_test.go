package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// webWaitTimeout is how long a test waits for something that must happen.
const webWaitTimeout = 20 * time.Second

// serve serves a run until the test ends, and returns the page's address.
func serve(t *testing.T, h *house, wrap ...func(net.Listener) net.Listener) (*WebServer, string) {
	t.Helper()
	s, err := ListenWeb(WebOptions{Runs: h, Run: testRun, Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	if len(wrap) > 0 {
		s.listener = wrap[0](s.listener)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
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
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/run/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.AddCookie(&http.Cookie{Name: s.guard.cookie, Value: s.guard.secret})
	r.Header.Set(keyHeader, s.guard.key)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the stream is refused: %s", resp.Status)
	}
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
		if err != nil {
			v.t.Fatalf("the stream ends: %v", err)
		}
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
		if err := json.Unmarshal([]byte(data), &events); err != nil {
			v.t.Fatal(err)
		}
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
	if got := strings.Join(w.texts("three"), " "); got != "three" {
		t.Errorf("behind two comes %q", got)
	}

	h.end("") // it is killed
	w.until(partRun, stateLost)
	at := w.id
	h.begin()
	w.until(partRun, stateLive)
	h.emit("arbiter", noticeWeb("four"))
	if got := strings.Join(w.texts("four"), " "); got != "four" {
		t.Errorf("of the next process comes %q", got)
	}
	x := view(t, s, url, at)
	if got := strings.Join(x.texts("four"), " "); got != "four" {
		t.Errorf("a page of the process before gets %q", got)
	}
	y := view(t, s, url, "")
	if got := strings.Join(y.texts("four"), " "); got != "one two three four" {
		t.Errorf("a new page gets %q", got)
	}

	h.end(contract.StatusComplete)
	if part := w.until(partRun, stateEnded); !strings.Contains(part, contract.StatusComplete) {
		t.Errorf("the end is %s", part)
	}
	z := view(t, s, url, "")
	if got := strings.Join(z.texts("four"), " "); got != "one two three four" {
		t.Errorf("a page that comes after the end gets %q", got)
	}
	z.until(partRun, stateEnded)
}

// TestStatusFollows: items that wait appear with the run's status, and disappear when they were answered.
func TestStatusFollows(t *testing.T) {
	h := newHouse(t)
	s, url := serve(t, h)
	v := view(t, s, url, "")
	v.until(partStatus, `"inbox":[]`)
	h.wait(control.InboxItem{ID: "question-1", Kind: "question", Agent: "arbiter", Text: "Which?\x1b]0;x\a\u202e"})
	if data := v.until(partStatus, "question-1"); !strings.Contains(data, `"text":"Which?"`) ||
		strings.Contains(data, `"s1"`) {
		t.Errorf("the status is %s", data)
	}
	body := `{"type":"message","text":"This one.","ref":"mine"}`
	if w := askWeb(s, "POST", "/run/command", body, nil); w.Code != 200 || !strings.Contains(w.Body.String(), "true") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), webWaitTimeout)
	defer cancel()
	if got := h.took(ctx, 1)[0]; got != `{"text":"This one.","type":"message"}` {
		t.Errorf("the run took %s", got)
	}
	h.emit("arbiter", noticeWeb("on"))
	v.until(partStatus, `"inbox":[]`)
	h.mu.Lock()
	h.refuse = "no such request is open"
	h.mu.Unlock()
	if w := askWeb(s, "POST", "/run/command", body, nil); w.Code != 409 || !strings.Contains(w.Body.String(), h.refuse) {
		t.Errorf("a refused command: %d %s", w.Code, w.Body)
	}
	if w := askWeb(s, "POST", "/run/stop", "{}", nil); w.Code != 200 || h.took(ctx, 2)[1] != "stop TERM" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	h.end("")
	if w := askWeb(s, "POST", "/run/command", body, nil); w.Code != 409 {
		t.Errorf("a command to no process: %d %s", w.Code, w.Body)
	}
	if w := askWeb(s, "POST", "/run/resume", "{}", nil); w.Code != 200 || h.resumed != 1 {
		t.Errorf("%d %s", w.Code, w.Body)
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
	if w := askWeb(s, "GET", "/run/events", "", nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one page too many: %d", w.Code)
	}
	for range mostStreams {
		<-s.streams
	}
}

// TestLongPast: a page gets the last events of a long run, and the information that there are more.
func TestLongPast(t *testing.T) {
	quick(t)
	h := newHouse(t)
	for range mostPast + 100 {
		h.emit("arbiter", noticeWeb("old"))
	}
	h.emit("arbiter", noticeWeb("new"))
	s, url := serve(t, h)
	check := func(state string) {
		t.Helper()
		v := view(t, s, url, "")
		skipped := false
		for n := 0; ; {
			kind, data := v.next()
			skipped = skipped || kind == partSkipped
			if kind == partEvents {
				n += strings.Count(data, `"event":"notice"`)
				if strings.Contains(data, `"new"`) {
					if !skipped || n > mostPast {
						t.Errorf("%s: %d events, others are said to be skipped: %v", state, n, skipped)
					}
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
	if err != nil {
		t.Fatal(err)
	}
	var e struct{ Text string }
	if err := json.Unmarshal(pageLine(line), &e); err != nil || len(e.Text) > mostText+200 ||
		!strings.Contains(e.Text, "more bytes are not shown here") {
		t.Errorf("%d bytes, %v", len(e.Text), err)
	}
	line = []byte(`{"v":1,"seq":1,"id":"orch-1","event":"tool_use","tool":"Bash",` +
		`"input":{"a\u202eb":["x\u001b[2Jy",1e400]}}`)
	if got := string(pageLine(line)); !strings.Contains(got, `"ab":["xy",1e400]`) {
		t.Errorf("it is %s", got)
	}
	if got := pageLine([]byte(`{"event":"delivered"}`)); got != nil {
		t.Errorf("bookkeeping is shown: %s", got)
	}
}
