package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// following is an agent without a process, whose transcript is followed.
type following struct {
	t       testing.TB
	a       *agent
	host    *contextHost
	path    string
	watcher *transcript.Watcher
	done    sync.WaitGroup
}

// contextHost passes readings to a channel.
type contextHost struct {
	bridge.Host
	readings chan bridge.Context
	notices  chan string
}

func (h *contextHost) Emit(e bridge.Event) {
	switch e := e.Body.(type) {
	case bridge.Context:
		h.readings <- e
	case bridge.Notice:
		h.notices <- e.Text
	}
}

func newFollowing(t testing.TB) *following {
	config := t.TempDir()
	f := &following{t: t, host: &contextHost{readings: make(chan bridge.Context, 64), notices: make(chan string, 64)}}
	session := uuid.NewString()
	f.path = filepath.Join(config, "projects", "-w", session+".jsonl")
	f.a = newAgent(bridge.SpawnParams{Config: bridge.AgentConfig{SessionID: session, ContextCap: 1_000_000}}, build{},
		f.host, nil)
	f.a.follow.config = config
	f.watcher = transcript.NewWatcher(time.Millisecond, 5*time.Millisecond)
	return f
}

func (f *following) begin() *following {
	f.done.Go(func() { f.a.follow.run(f.a.Ctx, f.watcher) })
	f.t.Cleanup(func() {
		f.a.Cancel()
		f.done.Wait()
		f.watcher.Close()
	})
	return f
}

func (f *following) write(lines ...string) {
	f.t.Helper()
	testkit.OK(f.t, os.MkdirAll(filepath.Dir(f.path), 0o700))
	testkit.Append(f.t, f.path, strings.Join(lines, ""))
}

func (f *following) assistant(id string, tokens int, more string) string {
	return fmt.Sprintf(`{"parentUuid":null,"isSidechain":false,"type":"assistant",%s"message":{"id":%q,"type":"message","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":7}},"uuid":%q,"sessionId":%q}`+"\n",
		more, id, tokens-3, uuid.NewString(), f.a.Config.SessionID)
}

func (f *following) expect(tokens int) bridge.Context {
	f.t.Helper()
	c := testkit.Receive(f.t, tokens, f.host.readings)
	testkit.Need(f.t, c.Tokens == tokens && c.Source == fromTranscript, "reading %+v, want %d", c, tokens)
	return c
}

// TestFollowFindsTheTranscript where it has to be, or where it was told to be.
func TestFollowFindsTheTranscript(t *testing.T) {
	t.Parallel()
	f := newFollowing(t)
	for _, wrong := range []string{"", "relative/" + filepath.Base(f.path), "/etc/passwd",
		"/tmp/" + uuid.NewString() + ".jsonl"} {
		f.a.follow.found(wrong)
	}
	f.begin()
	f.write(f.assistant("m1", 10_000, "")) // with its directory, and its directory's
	f.a.follow.look.Ring()
	f.expect(10_000)
	f.write(f.assistant("m1", 10_000, ""), f.assistant("m2", 20_000, ""))
	f.expect(20_000)
	f = newFollowing(t)
	f.path = filepath.Join(t.TempDir(), filepath.Base(f.path))
	f.a.follow.found(f.path)
	f.begin()
	f.write(f.assistant("m1", 10_000, ""))
	f.expect(10_000)
}

func TestFollowWhatCounts(t *testing.T) {
	t.Parallel()
	f := newFollowing(t)
	f.write(f.assistant("old", 500_000, "")) // resumed: this is old
	f.a.follow.path, f.a.follow.atEnd = f.path, true
	other := strings.ReplaceAll(f.assistant("other", 800_000, ""), f.a.Config.SessionID, uuid.NewString())
	side := strings.Replace(f.assistant("side", 900_000, ""), `"isSidechain":false`, `"isSidechain":true`, 1)
	// Nothing may be written before the first look has ended, because it decides where reading begins. Its end
	// reports what the stream has said.
	f.a.gauge.sample(messageOf("streamed", 30_000), fromStream)
	f.begin()
	c := <-f.host.readings
	testkit.Need(t, c.Tokens == 30_000, "reading %+v", c)
	f.write(f.assistant("m0", 20_000, ""), other, side, f.assistant("err", 700_000, `"isApiErrorMessage":true,`),
		"garbage\n", `{"type":"assistant","message":`+"\n", f.assistant("m1", 40_000, ""),
		f.assistant("streamed", 30_000, ""))
	// Of the lines of one check only the last message is the state, and the stream has already reported
	// that one.
	f.write(f.assistant("m2", 50_000, ""))
	for {
		c := <-f.host.readings
		if c.Tokens == 50_000 {
			break
		}
		testkit.Need(t, c.Tokens == 20_000 || c.Tokens == 40_000, "reading %+v", c)
	}
	f.write(`{"parentUuid":null,"isSidechain":false,"type":"system","subtype":"compact_boundary","compactMetadata":{"trigger":"auto","preTokens":9},"uuid":"b-1","sessionId":"`+f.a.Config.SessionID+`"}`+"\n",
		f.assistant("m3", 5_000, ""))
	f.expect(5_000)
	testkit.Check(t, !f.a.gauge.compact("b-1"), "the compaction was not read")
}

// TestFollowWaitsForTheWindow: if a transcript is faster than the CLI's answer about its window, the user's
// bound alone makes no reading, unless no answer comes.
func TestFollowWaitsForTheWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe, err := os.Pipe()
		testkit.OK(t, err)
		defer r.Close()
		defer pipe.Close()
		ask := func() *following {
			f := newFollowing(t)
			f.watcher.Close()
			f.a.in.pipe = pipe
			f.a.reader.introduce(t.Context())
			f.look("m1", 50_000)
			select {
			case c := <-f.host.readings:
				t.Errorf("before the answer: %+v", c)
			default:
			}
			return f
		}
		f := ask()
		f.a.calls.answered(controlResponse{ID: "arbiter-1",
			Response: []byte(
				`{"totalTokens":10,"rawMaxTokens":200000,"autoCompactThreshold":167000,"isAutoCompactEnabled":true}`)})
		f.look("m1", 50_000)
		testkit.Like(t, "after it", bridge.Context{Window: 167_000}, f.expect(50_000))
		f = ask()
		time.Sleep(introduction)
		f.look("m2", 60_000)
		testkit.Like(t, "without it", bridge.Context{Window: 1_000_000}, f.expect(60_000))
	})
}

// TestUnansweredRequests: a request that the CLI does not answer is made again when there is reason to.
func TestUnansweredRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, pipe, err := os.Pipe()
		testkit.OK(t, err)
		defer r.Close()
		defer pipe.Close()
		f := newFollowing(t)
		f.watcher.Close()
		f.a.in.pipe = pipe
		requests := func(want int) {
			t.Helper()
			f.a.reader.consult()
			f.a.calls.posts.Wait()
			testkit.Same(t, "requests", want, f.a.calls.last)
		}
		requests(1)
		requests(1)
		time.Sleep(controlTimeout)
		requests(2)
		f.a.calls.answered(controlResponse{ID: "arbiter-1", Response: []byte(`{}`)})
	})
}

// look checks a transcript to which a message was added.
func (f *following) look(id string, tokens int) {
	f.a.follow.line(jsonl.Line{Data: []byte(f.assistant(id, tokens, ""))})
	f.a.follow.idle()
}

// TestFollowIsAheadOfTheStream: what the stream reports after the transcript has reported more is no reading, also
// across a compaction.
func TestFollowIsAheadOfTheStream(t *testing.T) {
	f := newFollowing(t)
	defer f.watcher.Close()
	g := f.a.gauge
	stream := func(id string, tokens int) { g.sample(messageOf(id, tokens), fromStream) }
	read := func(lines ...string) {
		for _, line := range lines {
			f.a.follow.line(jsonl.Line{Data: []byte(line)})
		}
		f.a.follow.idle()
	}
	stream("m1", 10_000)
	read(f.assistant("m1", 10_000, ""), f.assistant("m2", 20_000, ""), f.assistant("m3", 30_000, ""))
	stream("m2", 20_000)
	testkit.Same(t, "in the middle", 30_000, g.now().Tokens)
	stream("m3", 30_000)
	testkit.Same(t, "caught up", 30_000, g.now().Tokens)
	read(f.assistant("m4", 80_000, ""), f.assistant("m5", 90_000, ""),
		`{"type":"system","subtype":"compact_boundary","uuid":"b-1","sessionId":"`+f.a.Config.SessionID+`"}`,
		f.assistant("m6", 5_000, ""))
	stream("m4", 80_000)
	stream("m5", 90_000)
	g.compact("b-1")
	stream("m6", 5_000)
	testkit.Same(t, "after a compaction", 5_000, g.now().Tokens)
}

// TestFollowReplaced: the content of a transcript that was truncated or replaced is history.
func TestFollowReplaced(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(f *following) error{
		"cut":      func(f *following) error { return os.Truncate(f.path, 0) },
		"replaced": func(f *following) error { return os.Rename(f.path+".new", f.path) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFollowing(t)
			f.write(f.assistant("m1", 10_000, ""), f.assistant("m2", 20_000, ""))
			f.begin()
			f.expect(20_000)
			testkit.OK(t, os.WriteFile(f.path+".new", []byte(f.assistant("ancient", 999_000, "")), 0o600), change(f))
			deadline := time.After(waitTimeout)
			for i := 0; ; i++ { // until it is read: what came with the change is history
				f.write(f.assistant(fmt.Sprintf("n%d", i), 30_000+i, ""))
				select {
				case c := <-f.host.readings:
					testkit.Need(t, c.Tokens >= 30_000 && c.Tokens <= 900_000, "reading %+v", c)
					return
				case <-time.After(50 * time.Millisecond):
				case <-deadline:
					t.Fatal("it reads no more")
				}
			}
		})
	}
}

// A repeat is safe: the CLI drops a message whose id it has already seen in the same process.
func TestRepeatIsDropped(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		held := make(chan struct{})
		verdict := verdictReply
		verdict.hold = held
		s, model := stageFor(t, spec, verdict, verdictReply)
		s.launch()
		p := bridge.MessageParams{MessageID: uuid.NewString(), Content: "ONLY-ONCE"}
		s.message(p)
		s.message(p)
		await(s.host, 1, func(d bridge.Delivered) bool { return d.MessageID == p.MessageID })
		s.message(p)                                                // also after it has started
		testkit.Check(t, s.probe().Answered, "no answer to a ping") // what was written before the ping has been read
		close(held)
		s.turnOf(p.MessageID)
		s.turn("NEXT")
		turns := of[bridge.Turn](s.host)
		testkit.Check(t, len(turns) == 2, "turns: %+v", turns)
		testkit.Same(t, "the model sees the message times", 1, strings.Count(model.lastRequest(), "ONLY-ONCE"))
	})
}

// A message that the child read and dropped is not delivered, and its repeat is.
func TestSwallowedMessage(t *testing.T) {
	s := faulty(t, "swallow", verdictReply)
	p := bridge.MessageParams{MessageID: uuid.NewString(), Content: "go"}
	s.message(p)
	testkit.Check(t, s.probe().Answered, "no answer to a ping") // so the message has been read
	testkit.Empty(t, "delivered", of[bridge.Delivered](s.host))
	s.message(p)
	testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnDone}, s.turnOf(p.MessageID))
	d := of[bridge.Delivered](s.host)
	testkit.Check(t, len(d) == 1, "delivered: %+v", d)
}

// A child that closed its input cannot receive messages: a message to it is not delivered, and the agent
// ends.
func TestClosedStdin(t *testing.T) {
	s := fake(t, fakeGood)
	s.turn("close-stdin\n" + fakeTurn + "deaf") // closed by the time that the turn is known to have ended
	id := uuid.NewString()
	for _, size := range []int{10, 1 << 20} {
		err := s.agent.Message(context.Background(),
			bridge.MessageParams{MessageID: id, Content: strings.Repeat("x", size)})
		testkit.Same(t, fmt.Sprintf("message of %d bytes: %v", size, err), bridge.CodeEnded, errCode(err))
	}
	await(s.host, 1, func(e bridge.Error) bool {
		return e.Category == bridge.CatProtocol && strings.Contains(e.Message, "input")
	})
	await[bridge.Done](s.host, 1, nil)
	for _, d := range of[bridge.Delivered](s.host) {
		testkit.Check(t, d.MessageID != id, "delivered into a closed pipe")
	}
	turns := of[bridge.Turn](s.host)
	testkit.Check(t, len(turns) == 1, "turns: %+v", turns) // the message returns to its sender with the error
}

// TestForeignProcessHoldsThePipes: an orphan, or an unknown process without mark and parent, holds the pipes of a dead
// one.
func TestForeignProcessHoldsThePipes(t *testing.T) {
	onlyLinux(t)
	(&Launcher{}).Sweep(bridge.Owner{Run: "of earlier tests"}) // a sweep counts the orphans that they left, too
	for step, own := range map[string]bool{"orphan": true, "stranger": false} {
		s := fake(t, fakeGood)
		s.send(fakeTurn + step + "\nexit 0")
		done := await[bridge.Done](s.host, 1, nil) // the foreign process never ends
		testkit.Check(t, !own || done.Exit.Swept == 1 && done.Exit.Code == 0, "done: %+v", done)
		s.checkNoProcesses()
		n := s.l.Sweep(bridge.Owner{Run: s.run})
		testkit.Check(t, n <= 1, "the sweep found %d", n)
	}
}

// Every kind of death in mid-turn is detected at once and reported with its cause, also in the middle of a frame; what
// was open is lost, and nothing can be asked of the dead.
func TestDeathsInMidTurn(t *testing.T) {
	for _, test := range []struct {
		name, step string
		kill       syscall.Signal
		want       bridge.Exit
	}{
		{"exit 0", "exit 0", 0, bridge.Exit{Code: 0}},
		{"exit 3", "half {\"type\":\"resu\nexit 3", 0, bridge.Exit{Code: 3}},
		{"SEGV", "deaf", syscall.SIGSEGV, bridge.Exit{Code: -1, Signal: "segmentation fault"}},
		{"KILL", "deaf", syscall.SIGKILL, bridge.Exit{Code: -1, Signal: "killed"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for range map[bool]int{false: 1, true: 3}[testkit.AtNight()] {
				s := fake(t, fakeGood)
				id := s.send(fakeStarted + `out {"type":"system","subtype":"task_started","tool_use_id":"t1",` +
					`"task_type":"local_agent","description":"dig"}` + "\nstderr 3\n" + test.step)
				await[bridge.SubagentStart](s.host, 1, nil)
				if test.kill != 0 {
					testkit.OK(t, syscall.Kill(s.agent.Info().PID, test.kill))
				}
				done := await[bridge.Done](s.host, 1, nil)
				testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnLost, Category: bridge.CatCrash}, s.turnOf(id))
				testkit.Like(t, "subagent", bridge.SubagentStop{ToolUse: "t1", Status: "lost"},
					await[bridge.SubagentStop](s.host, 1, nil))
				if test.want.Signal == "" {
					testkit.Includes(t, "last words", done.Exit.Stderr, "trouble 2")
				}
				done.Exit.Stderr, done.Exit.Swept = "", 0
				if test.kill == syscall.SIGSEGV { // a Go program dies of it with a trace
					done.Exit.Code, done.Exit.Signal = test.want.Code, test.want.Signal
				}
				testkit.Same(t, "exit", test.want, done.Exit)
				<-s.agent.Done()
				for _, err := range []error{
					s.agent.Message(context.Background(), bridge.MessageParams{MessageID: uuid.NewString()}),
					testkit.Err(s.agent.Interrupt(context.Background()))} {
					testkit.Same(t, fmt.Sprintf("the code of %v", err), bridge.CodeEnded, errCode(err))
				}
			}
		})
	}
}

// TestResultsOfAFaultyCLI: limits and refused keys are reported, a turn ends once, even if its result is missing or
// comes twice, and a process that runs another session is ended.
func TestResultsOfAFaultyCLI(t *testing.T) {
	s := faulty(t, "limit:600@1,auth@2,no-result@4,double-result@5,other-session@7", verdictReply, verdictReply,
		verdictReply, verdictReply, reply{text: "THEIRS"}, reply{text: "THEIRS"})
	soon := time.Now().Add(10 * time.Minute).Unix()
	if turn := s.turn("one"); turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatUsageLimit ||
		turn.ResetsAt < soon-1 || turn.ResetsAt > time.Now().Add(10*time.Minute).Unix()+1 {
		t.Errorf("usage limit: %+v, want until %d or later", turn, soon)
	}
	testkit.Like(t, "refused key", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth}, s.turn("two"))
	testkit.Like(t, "afterwards", bridge.Turn{Outcome: bridge.TurnDone}, s.turn("three"))
	turn := s.turn("four")
	testkit.Check(t, turn.Outcome == bridge.TurnFailed && turn.Category == bridge.CatProtocol &&
		strings.Contains(turn.Error, "without a result"), "no result: %+v", turn)
	for _, text := range []string{"five", "six"} {
		turn := s.turn(text)
		testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Verdict != nil, "%s: %+v", text, turn)
	}
	turn = s.turn("seven")
	testkit.Check(t, turn.Outcome == bridge.TurnLost && turn.Category == bridge.CatProtocol && turn.Verdict == nil,
		"turn: %+v", turn)
	testkit.Same(t, "turns", 7, len(of[bridge.Turn](s.host)))
	done := await[bridge.Done](s.host, 1, nil)
	testkit.Check(t, done.SessionID == s.cfg.SessionID && !done.Exit.Expected, "done: %+v", done)
	n := of[bridge.Error](s.host)
	testkit.Check(t, len(n) == 1 && n[0].Category == bridge.CatProtocol &&
		strings.Contains(n[0].Message, "another session"), "errors: %+v", n)
	testkit.Empty(t, "routed", of[bridge.Assistant](s.host))
	err := s.agent.Message(context.Background(), bridge.MessageParams{MessageID: uuid.NewString(), Content: "x"})
	testkit.Check(t, errCode(err) == bridge.CodeEnded, "message after it: %v", err)
}
