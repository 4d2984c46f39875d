package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestAgentIsRefusedEveryMethod: an agent's process gets the same answer to every method, and the service
// is notified.
func TestAgentIsRefusedEveryMethod(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, foreignUser)
	methods := []string{MethodStatus, MethodCommand, MethodAttach, MethodWrite, MethodResize, MethodDetach, MethodHalt,
		MethodState, MethodSubscribe, MethodPut, MethodStop, MethodNoInput, "hook", "nothing"}
	for _, m := range methods {
		got := raw(t, path,
			fmt.Sprintf(`{"jsonrpc":"2.0","id":"1","method":%q,"params":{"agent":"orch-1","cols":80,"rows":24}}`+"\n",
				m))
		testkit.Check(t, strings.Contains(got, "-32001") && strings.Contains(got, "an agent started it") &&
			!strings.Contains(got, "result"), "%s: %s", m, got)
	}
	h.await(t, "all were told", func() bool { return len(h.refused) == len(methods) })
	testkit.Check(t, h.open == nil && len(h.commands) == 0, "something was done all the same")
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	var refused *Refusal
	_, _, err := Dial[testStatus](ctx, path, nil)
	testkit.Check(t, errors.As(err, &refused) && refused.Code == CodeRefused, "the client says %v", err)
}

// TestReadOnlyAttachment: the service is not notified of a peer that hangs up without a request.
func TestReadOnlyAttachment(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, foreignUser)
	conn := testkit.Must(net.Dial("unix", path))(t)
	_ = conn.Close()
	raw(t, path, "nonsense\n") // comes second, and is one
	h.await(t, "the second was told", func() bool { return len(h.refused) > 0 })
	testkit.Same(t, fmt.Sprintf("told of %q", h.refused), 1, len(h.refused))
}

// TestUnopenedSession: a client can tell a session that could not be opened from a request that was refused.
func TestUnopenedSession(t *testing.T) {
	for want, reject := range map[int64]error{
		CodeUnopen: &OpenError{Agent: "orch-1", Reason: "the terminal died"},
		CodeFailed: errors.New("orch-1 is attached already"),
	} {
		h := newTestService()
		h.reject = reject
		path, _ := open(t, h, friend)
		_, err := connect(t, path, nil).Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}})
		var refused *Refusal
		testkit.Check(t, errors.As(err, &refused) && refused.Code == want && refused.Message == reject.Error(),
			"want %d, %v: %+v", want, reject, err)
	}
}

// TestProtocol: invalid and unknown requests get the errors of JSON-RPC.
func TestProtocol(t *testing.T) {
	path, _ := open(t, newTestService(), friend)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"nothing"}`:                                                "-32601",
		`{"jsonrpc":"2.0","id":1,"method":"attach"}`:                                                 "-32602",
		`{"jsonrpc":"2.0","id":1,"method":"attach","params":[]}`:                                     "-32602",
		`{"jsonrpc":"2.0","id":1,"method":"attach","params":{"cols":80,"rows":24}}`:                  "agent is missing",
		`{"jsonrpc":"2.0","id":1,"method":"attach","params":{"agent":"a","cols":0,"rows":24}}`:       "cols and rows",
		`{"jsonrpc":"2.0","id":1,"method":"attach","params":{"agent":"a","cols":1000000,"rows":24}}`: "cols and rows",
		`{"jsonrpc":"2.0","id":1,"method":"pty_write","params":{"data":"YQ=="}}`:                     "nothing is attached",
		`{"jsonrpc":"2.0","id":1,"method":"detach"}`:                                                 `{"v":5}`,
		`{"jsonrpc":"2.0","id":1,"method":"halt"}`:                                                   `"how":"loop"`,
		`{"jsonrpc":"2.0","id":1,"method":"command","params":{"command":{"type":"pause"}}}`:          `"accepted":true`,
		`{"jsonrpc":"2.0","id":1,"method":"status"}`:                                                 `"v":5`,
		`{}`:       "",
		`nonsense`: "",
	} {
		got := raw(t, path, line+"\n")
		testkit.Check(t, strings.Contains(got, want) && (want != "" || !strings.Contains(got, "result")),
			"%s: %s, want %s", line, got, want)
	}
}

// TestLongLine: a line without an end ends its own connection only.
func TestLongLine(t *testing.T) {
	path, _ := open(t, newTestService(), friend)
	c := connect(t, path, nil)
	big := connect(t, path, nil)
	testkit.Fails(t, "it was taken",
		testkit.Err(big.Command(t.Context(), []byte(`"`+strings.Repeat("x", maxRequest)+`"`))))
	testkit.Works(t, "the other connection", testkit.Err(StatusOf[testStatus](t.Context(), c)))
}

// TestAttach: input arrives in order, output comes back complete, and detach reports what was done.
func TestAttach(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, friend)
	var progress []string
	c := connect(t, path, &progress)
	p := AttachParams{Agent: "orch-1", Size: Size{Cols: 80, Rows: 24}, Term: "xterm"}
	r, err := c.Attach(t.Context(), p)
	testkit.Need(t, err == nil && r.Agent == "orch-1" && r.V == Version && len(progress) == 1, "%+v, %v, said %q", r,
		err, progress)
	testkit.Fails(t, "a second one", testkit.Err(c.Attach(t.Context(), p)), "already")
	var want strings.Builder
	for i := range 200 {
		word := fmt.Sprintf("%d ", i)
		want.WriteString(word)
		testkit.Must(c.Write([]byte(word)))(t)
	}
	c.Resize(100, 40)
	h.await(t, "all was typed", func() bool { return string(h.open.typed) == want.String() && len(h.open.sizes) == 1 })
	shown := strings.Repeat("all that is seen\r\n", 3000)
	h.open.feed.Put([]byte(shown))
	got := make([]byte, 0, len(shown))
	buf := make([]byte, 1000)
	for len(got) < len(shown) {
		n := testkit.Must(c.Read(buf))(t)
		got = append(got, buf[:n]...)
	}
	testkit.Same(t, "another thing was shown", shown, string(got))
	ended, received := c.Detach(waitTimeout)
	testkit.Check(t, received && ended.Words == 2 && ended.Reason == "given back", "%+v, %v", ended, received)
	testkit.Fails(t, "there is more to see after the end", testkit.Err(c.Read(buf)))
}

// TestProgramEnds is reported to the client without a request.
func TestProgramEnds(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, friend)
	c := connect(t, path, nil)
	testkit.Must(c.Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}}))(t)
	h.open.Detach(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	ended, received := c.Ended(ctx)
	testkit.Check(t, received && ended.Reason == "given back" && !ended.Lost, "%+v, %v", ended, received)
}

// TestGoneClientReleasesTheTerminal: a client that is killed, before or after the terminal is open, leaves nothing
// attached.
func TestGoneClientReleasesTheTerminal(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, friend)
	c := connect(t, path, nil)
	testkit.Must(c.Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}}))(t)
	c.Close()
	h.await(t, "it was given back", func() bool { return h.open.detached > 0 })

	h.opening = make(chan struct{})
	early := connect(t, path, nil)
	begun := make(chan error, 1)
	go func() {
		_, err := early.Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}})
		begun <- err
	}()
	h.await(t, "it is being opened", func() bool { return h.opens == 2 })
	early.Close()
	testkit.Fails(t, "it was opened without a client", <-begun)
	h.await(t, "it was given up", func() bool { return len(h.refused) == 1 })
}

// TestSlowReader: a client that does not read is dropped with a reason, and does not block the service.
func TestSlowReader(t *testing.T) {
	h := newTestService()
	path, _ := open(t, h, friend)
	c := connect(t, path, nil)
	testkit.Must(c.Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}}))(t)
	flood := make([]byte, 32<<10)
	for n := 0; h.open.feed.Put(flood); n++ {
		testkit.Need(t, n <= 100_000, "it takes all there is")
	}
	h.await(t, "it was given back", func() bool { return h.open.detached > 0 })
	go func() { // reads at last
		buf := make([]byte, 64<<10)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	ended, received := c.Ended(ctx)
	testkit.Check(t, received && ended.Dropped && strings.Contains(ended.Reason, "in time"), "%+v, %v", ended, received)
}

// TestEndOfAFullView: a client whose terminal takes no more reads on when its view ends, and so hears how the
// attachment ended.
func TestEndOfAFullView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := &Client{feed: NewFeed(4), over: make(chan struct{}), ready: make(chan struct{})}
		c.conn = dial(newStream(ours, maxAnswer), c)
		defer c.conn.Close()
		c.put([]byte("full"))
		read := make(chan struct{})
		go func() {
			defer close(read)
			c.put([]byte("more"))
		}()
		synctest.Wait()
		c.EndView()
		synctest.Wait()
		select {
		case <-read:
		default:
			t.Error("it waits for a reader")
			close(c.over)
		}
	})
}

// TestCloseReleasesTheTerminal: the end of arbiter detaches all clients.
func TestCloseReleasesTheTerminal(t *testing.T) {
	h := newTestService()
	path, s := open(t, h, friend)
	c := connect(t, path, nil)
	testkit.Must(c.Attach(t.Context(), AttachParams{Agent: "orch-1", Size: Size{80, 24}}))(t)
	testkit.Works(t, "Close", s.Close())
	testkit.Check(t, h.open.detached != 0, "it is still attached")
	_, received := c.Detach(waitTimeout)
	testkit.Check(t, received, "the client does not know")
}

// TestShutdownAnswersThoseWhoAreThere: a client that has connected before a shutdown still gets its answers, and one
// that does nothing delays the shutdown only until its context ends.
func TestShutdownAnswersThoseWhoAreThere(t *testing.T) {
	h := newTestService()
	path, s := open(t, h, friend)
	c := connect(t, path, nil)
	ctx, giveUp := context.WithTimeout(t.Context(), waitTimeout)
	defer giveUp()
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(ctx) }()
	for refused := false; !refused; { // until it listens no more
		conn, err := net.Dial("unix", path)
		if refused = err != nil; !refused {
			_ = conn.Close()
		}
	}
	r, err := c.State(ctx)
	testkit.Check(t, err == nil && r.Version == 7, "%+v, %v", r, err)
	c.Close()
	if err := <-done; err != nil || ctx.Err() != nil {
		t.Errorf("%v, %v", err, ctx.Err())
	}

	path, s = open(t, h, friend)
	c = connect(t, path, nil)
	ctx, giveUp = context.WithCancel(t.Context())
	giveUp()
	err = s.Shutdown(ctx)
	testkit.Check(t, err == nil, "%v", err)
	testkit.Fails(t, "answered after the end", testkit.Err(c.State(t.Context())))
}

// TestCloseDuringRequests: requests that arrive while the server closes start no work that Close does not
// wait for. The race detector reports it if they do.
func TestCloseDuringRequests(t *testing.T) {
	request := []byte(`{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n")
	for range 100 {
		path, s := open(t, newTestService(), friend)
		conn := testkit.Must(net.Dial("unix", path))(t)
		var writer sync.WaitGroup
		begun := make(chan struct{})
		writer.Go(func() {
			for i := range 50 {
				if i == 1 {
					close(begun)
				}
				if _, err := conn.Write(request); err != nil {
					return // the server has closed
				}
			}
		})
		<-begun
		testkit.Works(t, "Close", s.Close())
		_ = conn.Close()
		writer.Wait()
	}
}

// TestSilence: a server that accepts connections and sends nothing is reported as one that does not answer.
func TestSilence(t *testing.T) {
	_, path := listen(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _, err := Dial[testStatus](ctx, path, nil)
	testkit.Check(t, errors.Is(err, ErrSilent), "%v", err)
	_, _, err = Dial[testStatus](t.Context(), path+"-none", nil)
	testkit.Check(t, errors.Is(err, ErrSilent), "%v", err)
}

// TestShortCommandsGetThrough: however many clients keep their connections open, another one is answered.
func TestShortCommandsGetThrough(t *testing.T) {
	path, _ := open(t, newTestService(), friend)
	for _, n := range []int{newcomers + 8, stayers} { // the last ones are more than may stay
		for range n {
			conn := testkit.Must(net.Dial("unix", path))(t)
			defer conn.Close()
		}
		ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
		client, _, err := Dial[testStatus](ctx, path, nil)
		cancel()
		testkit.Need(t, err == nil, "beside %d others: %v", n, err)
		client.Close()
	}
}

// TestSubscribe shows that the parts of a subscription come in their order, that commands keep
// theirs, and that the end of a client ends its subscription.
func TestSubscribe(t *testing.T) {
	h := newTestService()
	want := []any{
		Events{Lines: []string{`{"seq":1,"text":"<a> & \u00e9 é"}`, `{"seq": 2}`}},
		StateChange{Version: 7, Members: map[string]json.RawMessage{"Paused": json.RawMessage("true"),
			"Agents/0": json.RawMessage(`{"ID":"arbiter"}`)}},
		Events{Lines: []string{`{"seq":9}`}, Skipped: 6},
		RunEnded{Exit: 130, Text: "stopped", Notices: []string{"To resume: …"}},
	}
	h.parts = want
	path, _ := open(t, h, friend)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	c, _, err := Dial[testStatus](ctx, path, nil)
	testkit.OK(t, err)
	defer c.Close()
	received := make(chan any, 8)
	testkit.OK(t, c.Subscribe(ctx, SubscribeParams{Since: -1}, func(part any) { received <- part }))
	for i, w := range want {
		select {
		case got := <-received:
			testkit.Check(t, fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", w), "part %d: %+v instead of %+v", i, got, w)
		case <-ctx.Done():
			t.Fatalf("part %d did not come", i)
		}
	}
	testkit.Fails(t, "a second subscription was accepted", c.Subscribe(ctx, SubscribeParams{}, func(any) {}))
	var wrote []string
	for i := range 20 {
		line := fmt.Sprintf(`{"n":%d}`, i)
		wrote = append(wrote, "screen "+line)
		testkit.OK(t, c.Put(ctx, PutParams{Command: json.RawMessage(line), Frontend: "screen"}))
	}
	testkit.Works(t, "Join", errors.Join(c.Stop(ctx, StopParams{Signal: "INT", Fast: true}), c.InputEnded(ctx)))
	wrote = append(wrote, "stop INT true", "input ended")
	if r, err := c.State(ctx); err != nil || string(r.State) != `{"Paused":true}` || r.Version != 7 {
		t.Errorf("the state is %+v, %v", r, err)
	}
	var got []string
	h.await(t, "all was handed in", func() bool {
		got = slices.DeleteFunc(slices.Clone(h.commands), func(s string) bool {
			return strings.HasPrefix(s, "subscribed")
		})
		return len(got) == len(wrote)
	})
	testkit.Same(t, "handed in", wrote, got)
	c.Close()
	h.await(t, "the subscription ended", func() bool { return slices.Contains(h.commands, "unsubscribed") })
}

// TestGoneSubscriber shows that a client that hangs up while it is sent much data blocks nothing.
func TestGoneSubscriber(t *testing.T) {
	h := newTestService()
	line := strings.Repeat("x", 1<<20)
	for range 64 {
		h.parts = append(h.parts, Events{Lines: []string{line}})
	}
	path, _ := open(t, h, friend)
	conn := testkit.Must(net.Dial("unix", path))(t)
	request := `{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{"since":0}}` + "\n"
	testkit.Must(conn.Write([]byte(request)))(t)
	testkit.Must(conn.Read(make([]byte, 1)))(t)
	_ = conn.Close()
	h.await(t, "sending failed", func() bool { return slices.Contains(h.refused, "send failed") })
}
