package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestGarbageIsSurvived(t *testing.T) {
	s := fake(t, fakeGood)
	turn := s.turn(fakeStarted + `raw this is not JSON
raw [1,2]
raw
out {"type":"brand_new","x":1}
out {"type":"brand_new","x":2}
out {"type":"result","is_error":"not a bool","user_message_uuids":["$U"]}
out {"type":"system","subtype":"api_retry","attempt":"many"}
out {"no":"type"}
out {"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}
out {"type":"control_cancel_request","request_id":"nobody"}
` + fakeResult)
	testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Text == "fine", "turn: %+v", turn)
	var texts, frames []string
	for _, n := range of[bridge.Notice](s.host) {
		if n.Frame != "" {
			frames = append(frames, n.Frame)
		}
		text, _, _ := strings.Cut(n.Text, ": ")
		texts = append(texts, text)
	}
	want := []string{ // once per kind
		"skipped a line that is not a frame", `unknown frame "brand_new/"`, `unreadable frame "result/"`,
		`unreadable frame "system/api_retry"`, `unknown frame "/"`, `an answer to an unknown request "nobody"`,
	}
	testkit.Same(t, "notices", want, texts)
	testkit.Same(t, "unknown frames", []string{"brand_new/", "/"}, frames)
}

// TestLongLines: a long text and the largest verdict come whole, of a larger verdict the driver reports the size, and a
// line that is too long is skipped.
func TestLongLines(t *testing.T) {
	s := fake(t, fakeGood)
	text := strings.Repeat("y", 3<<20)
	turn := s.turn(fmt.Sprintf("long %d\n%s", maxLine+10, strings.ReplaceAll(fakeTurn, "fine", text)))
	testkit.Check(t, turn.Text == text, "a text of %d bytes came as %d", len(text), len(turn.Text))
	await(s.host, 1, func(n bridge.Notice) bool { return strings.Contains(n.Text, "skipped a line of more than") })
	for _, size := range []int{bridge.MaxVerdict, bridge.MaxVerdict + 1} {
		raw := `"` + strings.Repeat("v", size-2) + `"`
		turn := s.turn(strings.ReplaceAll(fakeTurn, `"result":"fine"`, `"result":"","structured_output":`+raw))
		want, oversize := raw, 0
		if size > bridge.MaxVerdict {
			want, oversize = "", size
		}
		testkit.Check(t, string(turn.Verdict) == want && turn.Oversize == oversize && turn.Outcome == bridge.TurnDone,
			"a verdict of %d bytes came as %d, oversize %d, %s", size, len(turn.Verdict), turn.Oversize, turn.Outcome)
	}
}

func TestStartFailures(t *testing.T) {
	for _, test := range []struct {
		mode    string
		want    bridge.Category
		message string
	}{
		{fakeSilent, bridge.CatStart, "did not answer initialize"},
		{fakeDies, bridge.CatStart, "unknown option"},
		{fakeOld, bridge.CatUnsupported, "too old"},
		{fakeNonsense, bridge.CatUnsupported, "is not the Claude CLI"},
	} {
		t.Run(test.mode, func(t *testing.T) {
			s := prepare(t, fakeSpec(t, test.mode), nil)
			if test.mode == fakeSilent {
				s.cfg.StartTimeoutMS = 500
			}
			err := s.try()
			rpc, ok := errors.AsType[*bridge.RPCError](err)
			testkit.Check(t, ok && rpc.Code == bridge.CodeClaude && rpc.Category == test.want &&
				strings.Contains(rpc.Message+rpc.Stderr, test.message), "got %+v", err)
			testkit.Empty(t, "done after a failed launch", of[bridge.Done](s.host))
			s.checkNoProcesses()
		})
	}
	s := prepare(t, bridge.ClaudeSpec{Path: "no-such-claude"}, nil)
	rpc, ok := errors.AsType[*bridge.RPCError](s.try())
	testkit.Check(t, ok && rpc.Category == bridge.CatClaudeMissing, "missing program: %v", rpc)
	s = prepare(t, fakeSpec(t, fakeGood), nil)
	s.cfg.CWD = "/no/such/directory"
	rpc, ok = errors.AsType[*bridge.RPCError](s.try())
	testkit.Check(t, ok && rpc.Category == bridge.CatWorkspace &&
		strings.Contains(rpc.Message, "/no/such/directory does not exist any more"), "missing directory: %v", rpc)
	s = prepare(t, fakeSpec(t, fakeSilent), nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	testkit.Fails(t, "launched after its caller had given up",
		testkit.Err(s.l.Launch(ctx, bridge.Owner{Run: s.run}, s.spec, bridge.SpawnParams{Config: s.cfg}, s.host)))
	s.checkNoProcesses()
}

func TestRefusedControl(t *testing.T) {
	a := fake(t, fakeRefuses).agent
	ctx := context.Background()
	for what, err := range map[string]error{"ask": testkit.Err(a.Ask(ctx, "q")),
		"interrupt": testkit.Err(a.Interrupt(ctx)), "context": testkit.Err(a.Context(ctx))} {
		testkit.Same(t, fmt.Sprintf("%s: the code of %v", what, err), bridge.CodeUnsupported, errCode(err))
	}
}

func TestUnansweredControl(t *testing.T) {
	s := fake(t, fakeMute) // the driver also asks it for its window, and does not wait
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := s.agent.Interrupt(ctx)
	testkit.Check(t, errCode(err) == bridge.CodeTimeout, "interrupt: %v", err)
}

// TestWritesLost: a resume of a session with gaps in its transcript reports them; the driver ignores
// other writes that the CLI could not make.
func TestWritesLost(t *testing.T) {
	s := fake(t, fakeGood)
	s.turn(fakeTurn + `out {"type":"system","subtype":"session_writes_lost","error_code":"EDQUOT","lost":["global_config"]}
out {"type":"system","subtype":"session_writes_lost","error_code":"ENOSPC","lost":["transcript"],"transcript_session_ids":["s"]}
`)
	await(s.host, 1, func(e bridge.Error) bool {
		return e.Category == bridge.CatResume && strings.Contains(e.Message, "ENOSPC") &&
			strings.Contains(e.Message, "missing")
	})
	if n := of[bridge.Error](s.host); len(n) != 1 || len(of[bridge.Notice](s.host)) > 0 {
		t.Errorf("errors %+v, notices %+v", n, of[bridge.Notice](s.host))
	}
}

// The wait for a child that reads nothing is bounded, and unsent messages still belong to the sender.
func TestStdinIsNotRead(t *testing.T) {
	s := fake(t, fakeGood)
	s.send(fakeStarted + "deaf")
	await[bridge.Delivered](s.host, 1, nil)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	huge := strings.Repeat("z", 1<<20) // a pipe holds 64 KiB
	// Two writers: the second waits for the first, and neither waits forever.
	ids, errs := []string{uuid.NewString(), uuid.NewString()}, make(chan error, 2)
	for _, id := range ids {
		go func() {
			errs <- s.agent.Message(ctx, bridge.MessageParams{MessageID: id, Content: huge, Steer: true})
		}()
	}
	for range ids {
		rpc, ok := errors.AsType[*bridge.RPCError](<-errs)
		testkit.Check(t, ok && rpc.Code == bridge.CodeTimeout && rpc.Category == bridge.CatTimeout,
			"message to the deaf: %v", rpc)
	}
	testkit.Fails(t, "a line was written behind one that was cut short",
		testkit.Err(s.agent.Interrupt(context.Background())))
	s.stopNow()
	testkit.Excludes(t, "an event about a message that was refused", fmt.Sprintf("%+v", s.host.all()), ids...)
}

// TestAnswersWait: the CLI waits for an answer for as long as it takes, so that one is neither cut nor lost while the
// CLI does not read. The end of its input cuts it.
func TestAnswersWait(t *testing.T) {
	for _, ends := range []bool{false, true} {
		r, w, err := os.Pipe()
		testkit.OK(t, err)
		defer r.Close()
		in := newStdin(w)
		in.timeout = 20 * time.Millisecond
		answers := newAsks(in)
		huge := strings.Repeat("z", 1<<20) // a pipe holds 64 KiB
		answers.writeAnswer(t.Context(), "r-1", map[string]string{"message": huge})
		for waited := 0; waited < 2; { // the answer is being written, and has been for longer than that
			if err := in.send(t.Context(), "ping"); err != nil {
				testkit.Same(t, "a ping meanwhile", bridge.CodeTimeout, errCode(err))
				waited++
			}
		}
		if ends {
			in.close()
			answers.end()
			testkit.Same(t, "after the end", bridge.CodeEnded, errCode(in.send(t.Context(), "ping")))
			continue
		}
		read := make(chan string, 1)
		go func() {
			all, _ := io.ReadAll(r)
			read <- string(all)
		}()
		answers.end()
		in.close()
		whole := <-read
		testkit.Check(t, strings.Contains(whole, huge+`"}}}`+"\n"), "the answer was cut: %d bytes", len(whole))
	}
}

// TestUnreadableRequestsAreRefused: the CLI waits for an answer to each request, also to one that is too long or
// damaged.
func TestUnreadableRequestsAreRefused(t *testing.T) {
	r, w, err := os.Pipe()
	testkit.OK(t, err)
	defer r.Close()
	a := newAgent(bridge.SpawnParams{}, build{}, &contextHost{notices: make(chan string, 8)}, w)
	begun := func(id string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"x`
	}
	a.reader.run(io.MultiReader(strings.NewReader(begun("long")), strings.NewReader(strings.Repeat("z", maxLine)),
		strings.NewReader("\"}}\n"+begun("damaged")+"\n")))
	a.asks.wg.Wait()
	a.in.close()
	answers := string(testkit.Must(io.ReadAll(r))(t))
	testkit.Includes(t, "answers", answers, `"request_id":"long","error":"`, `"request_id":"damaged","error":"`)
}

func TestStubbornIsKilled(t *testing.T) {
	s := fake(t, fakeStubborn)
	s.turn(fakeTurn + "orphan")
	testkit.OK(t, s.agent.Stop(context.Background(), true))
	done := await[bridge.Done](s.host, 1, nil)
	testkit.Check(t, done.Exit.Signal == "killed" && done.Exit.Expected, "done: %+v", done)
}

func TestOrderlyStopIsShortened(t *testing.T) {
	s := fake(t, fakeStubborn)
	s.send(fakeStarted) // a turn that never ends, so that Stop uses every step of the ladder
	orderly := make(chan error, 1)
	go func() { orderly <- s.agent.Stop(context.Background(), false) }()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = s.agent.Stop(ctx, false) // its deadline leaves no time
	err := s.agent.Message(context.Background(), bridge.MessageParams{MessageID: uuid.NewString()})
	testkit.Check(t, errCode(err) == bridge.CodeEnded, "message while stopping: %v", err)
	if err := <-orderly; err != nil || !s.agent.(*agent).Hurried() {
		t.Errorf("orderly stop: %v, hurried: %v", err, s.agent.(*agent).Hurried())
	}
}

func TestClosedStdoutIsAnEnd(t *testing.T) {
	s := fake(t, fakeGood)
	id := s.send(fakeStarted + "close\ndeaf")
	testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnLost}, s.turnOf(id))
	await(s.host, 1, func(e bridge.Error) bool {
		return e.Category == bridge.CatProtocol && strings.Contains(e.Message, "output")
	})
	await[bridge.Done](s.host, 1, nil)
}

func TestStderrFlood(t *testing.T) {
	s := fake(t, fakeGood)
	s.turn("stderr 5000\n" + fakeTurn)
	s.stopNow()
	lines := of[bridge.Stderr](s.host)
	testkit.Check(t, len(lines) <= 200 && len(lines) >= driver.StderrBurst, "%d stderr events", len(lines))
	done := of[bridge.Done](s.host)[0]
	testkit.Check(t, strings.Contains(done.Exit.Stderr, "trouble 4999") && len(done.Exit.Stderr) <= 100_000,
		"last words: %d bytes", len(done.Exit.Stderr))
}

func TestUnaskedResults(t *testing.T) {
	s := fake(t, fakeGood)
	turn := s.turn(fakeStarted +
		`out {"type":"result","subtype":"success","is_error":false,"result":"PEER","origin":{"kind":"peer"},` +
		`"model_usage_since_last_result":{"m":{"costUSD":0.25}}}
out {"type":"result","subtype":"success","is_error":false,"result":"OTHER","user_message_uuids":["else"],` +
		`"model_usage_since_last_result":{"m":{"costUSD":0.125}}}
` + fakeResult)
	if turn.Text != "fine" || turn.CostUSD != 0.875 { // includes the cost of the other results
		t.Errorf("turn: %+v", turn)
	}
	turn = s.turn(fakeTurn)
	testkit.Check(t, turn.CostUSD == 0.5, "second turn: %+v", turn)
	turns := of[bridge.Turn](s.host)
	testkit.Check(t, len(turns) == 2, "turns: %+v", turns)
	await(s.host, 1, func(n bridge.Notice) bool { return strings.Contains(n.Text, "no message from Arbiter") })
}

// TestCostsWithoutAResult: a turn that has no result has cost what was last reported of it, or what other turns have
// cost since the last result. No later turn bears that again.
func TestCostsWithoutAResult(t *testing.T) {
	t.Parallel()
	s := fake(t, fakeCounts)
	id := s.send(fakeStarted + fakeMessage("m1", 777))
	await(s.host, 1, func(b bridge.Spent) bool { return b.CostUSD == 0.5 })
	other := s.message(bridge.MessageParams{MessageID: uuid.NewString(), Steer: true,
		Content: `out {"type":"command_lifecycle","command_uuid":"` + id + `","state":"completed"}
out {"type":"system","subtype":"session_state_changed","state":"idle"}
exit 1`})
	testkit.Like(t, "ended", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatProtocol, CostUSD: 0.5},
		s.turnOf(id))
	lost := s.turnOf(other)
	testkit.Check(t, lost.Outcome == bridge.TurnLost && lost.CostUSD == 0, "lost after that: %+v", lost)
	s = fake(t, fakeGood)
	testkit.Like(t, "lost", bridge.Turn{Outcome: bridge.TurnLost, CostUSD: 0.25}, s.turn(fakeStarted+
		`out {"type":"result","subtype":"success","is_error":false,"result":"PEER","origin":{"kind":"peer"},`+
		`"model_usage_since_last_result":{"m":{"costUSD":0.25}}}
exit 1`))
}

func TestResultWithoutIDs(t *testing.T) {
	s := fake(t, fakeGood) // like an old CLI without lifecycle frames and ids
	turn := s.turn(`out {"type":"user","isReplay":true,"uuid":"$U","message":{"role":"user","content":"x"}}
out {"type":"result","subtype":"success","is_error":false,"result":"old","total_cost_usd":0.1}`)
	testkit.Same(t, fmt.Sprintf("turn: %+v", turn), "old", turn.Text)
	d := of[bridge.Delivered](s.host)
	testkit.Check(t, len(d) == 1 && d[0].Proof == "replay", "delivered: %+v", d)
}

func TestDroppedMessages(t *testing.T) {
	s := fake(t, fakeGood)
	testkit.Like(t, "a repeat", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatProtocol},
		s.turn(`out {"type":"command_lifecycle","command_uuid":"$U","state":"completed"}`))
	testkit.Like(t, "a cancelled one", bridge.Turn{Outcome: bridge.TurnInterrupted},
		s.turn(`out {"type":"command_lifecycle","command_uuid":"$U","state":"cancelled"}`))
}

// TestPermissionWithdrawn: a question to the host ends when the CLI withdraws it, and when the agent is stopped.
func TestPermissionWithdrawn(t *testing.T) {
	s := fake(t, fakeGood)
	asked, ended := make(chan struct{}, 2), make(chan struct{}, 2)
	s.host.permission = func(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		asked <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	const question = `out {"type":"control_request","request_id":"p1","request":{"subtype":"can_use_tool",` +
		`"tool_name":"Bash","input":{}}}` + "\n"
	s.turn(fakeStarted + question + `out {"type":"control_cancel_request","request_id":"p1"}` + "\n" + fakeResult)
	<-ended
	<-asked
	s.send(fakeStarted + strings.ReplaceAll(question, "p1", "p2"))
	<-asked
	s.stopNow() // returns without an answer
}

// TestPermissionDoubtsAreDenials, and requests that nobody serves are answered, too.
func TestPermissionDoubtsAreDenials(t *testing.T) {
	s := fake(t, fakeGood)
	s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		switch {
		case strings.Contains(string(p.Input), "fail"):
			return bridge.PermissionResult{Behavior: bridge.Allow}, errors.New("lost")
		case strings.Contains(string(p.Input), "maybe"):
			return bridge.PermissionResult{Behavior: "ALLOW"}, nil
		}
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	program := fakeStarted
	for i, c := range []struct{ request, want string }{
		{`"tool_name":"Bash","input":{"command":"fail"}`, "No permission was given"},
		{`"tool_name":"Bash","input":{"command":"maybe"}`, `"behavior":"deny"`},
		{`"tool_name":"Novel","requires_user_interaction":true,"input":{}`, "needs a person"},
		{`"tool_name":"ExitPlanMode","input":{}`, "There is no plan mode"},
		{`"input":{}`, "could not be read"},
		{`"TOOL_NAME":"Bash","input":{}`, "could not be read"}, // a key in other letters
		{`"tool_name":7,"input":{}`, "could not be read"},
		{`"tool_name":"Bash"`, `"behavior":"allow","updatedInput":{}`},
		// The input that was judged is the one that runs; CLI 2.1.200 refuses an allow without it.
		{`"tool_name":"Bash","input":{"z":1,"a":"<b>"}`, `"behavior":"allow","updatedInput":{"z":1,"a":"<b>"}`},
		{`"subtype":"novelty"`, `"error"`},
		{`"subtype":"hook_callback","input":{}`, `"error"`}, // of an agent without hooks
		{`"subtype":"mcp_message","server_name":"arbiter","message":{"jsonrpc":"2.0","method":"ping","id":1}`, `"error"`},
	} {
		if !strings.HasPrefix(c.request, `"subtype"`) {
			c.request = `"subtype":"can_use_tool",` + c.request
		}
		program += fmt.Sprintf("out "+`{"type":"control_request","request_id":"p%d","request":{%s}}`+"\nexpect %s\n", i,
			c.request, c.want)
	}
	turn := s.turn(program + `out {"type":"control_request","request_id":"n","request":"no object"}
expect "subtype":"error","request_id":"n"
` + fakeResult)
	testkit.Same(t, "outcome", bridge.TurnDone, turn.Outcome)
}

func TestOtherSessionIsReported(t *testing.T) {
	s := fake(t, fakeGood)
	s.turn(`out {"type":"system","subtype":"init","session_id":"0b1f1a6e-0000-4000-8000-000000000000"}` + "\n" +
		fakeTurn)
	await(s.host, 1, func(e bridge.Error) bool {
		return e.Category == bridge.CatProtocol && strings.Contains(e.Message, "0b1f1a6e")
	})
}
