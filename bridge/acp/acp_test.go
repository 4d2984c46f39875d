package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// waitTimeout is only a deadline for failures.
const waitTimeout = 2 * time.Minute

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == RelayCommand:
		if err := Relay(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) > 2 && os.Args[1] == sandbox.EntryCommand:
		fmt.Fprintln(os.Stderr, sandbox.Enter(os.Args[2:]))
		os.Exit(1)
	case len(os.Args) > 1 && os.Args[1] == "fake-acp":
		os.Exit(acptest.RunFake())
	}
	release, err := proctree.BecomeSubreaper()
	if err != nil {
		panic(err)
	}
	code := m.Run()
	release()
	os.Exit(code)
}

// recorder is the client of a test: it records events, denies what deny names, and answers requests from a queue.
type recorder struct {
	mu      sync.Mutex
	events  []bridge.EventBody
	asked   []bridge.PermissionParams
	judged  []string
	deny    string // a part of the input
	why     string // what is said about it
	answers chan string
	changed chan struct{}
	heard   func() // called for each event, before it is recorded
}

func (r *recorder) Emit(e bridge.Event) {
	r.mu.Lock()
	heard := r.heard
	r.mu.Unlock()
	if heard != nil {
		heard()
	}
	r.mu.Lock()
	r.events = append(r.events, e.Body)
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
}

func (r *recorder) ToolCall(_ context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return bridge.ToolCallResult{Text: "called " + p.Tool + " " + string(p.Input)}, nil
}

func (r *recorder) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	r.mu.Lock()
	r.asked = append(r.asked, p)
	close(r.changed)
	r.changed = make(chan struct{})
	r.mu.Unlock()
	if p.Tool == bridge.NetworkTool {
		return bridge.PermissionResult{Behavior: bridge.Deny}, nil
	}
	select {
	case answer := <-r.answers:
		return bridge.PermissionResult{Behavior: answer}, nil
	case <-ctx.Done():
		return bridge.PermissionResult{}, ctx.Err()
	}
}

func (r *recorder) Judge(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged = append(r.judged, p.Tool+" "+string(p.Input))
	if r.deny != "" && strings.Contains(string(p.Input), r.deny) {
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: r.why}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// rig is one agent and its client.
type rig struct {
	*recorder
	t     *testing.T
	make  bridge.MakeSpec
	model *acptest.Model // of a real one
	home  string
	dir   string
	cfg   bridge.AgentConfig
	agent bridge.Agent
	gen   int
	run   string
}

// codex writes with commands, which it runs in a sandbox of its own and does not ask about.
const codex = "codex"

// endTurns are the makes whose turn a denial ends.
var endTurns = acptest.With(acptest.Reason, acptest.EndsTurn)

func newRig(t *testing.T, name string, traps ...string) *rig {
	t.Helper()
	if name != "fake" {
		testkit.Long(t)
	}
	return anyRig(t, name, traps...)
}

func anyRig(t *testing.T, name string, traps ...string) *rig {
	t.Helper()
	r := &rig{recorder: &recorder{answers: make(chan string, 100), changed: make(chan struct{})}, t: t,
		home: t.TempDir(), dir: t.TempDir(), run: uuid.NewString()}
	self := testkit.Must(os.Executable())(t)
	if name == "fake" {
		r.make = bridge.MakeSpec{Name: "opencode", Command: []string{self, "fake-acp"},
			Env: []string{acptest.TrapsEnv + "=" + strings.Join(traps, ",")}}
	} else {
		r.model = acptest.StartModel(t)
		r.make = r.model.Real(t, name, r.home)
		r.make.AcceptUnasked = !traitsOf(&r.make).asks
	}
	r.cfg = bridge.AgentConfig{Make: &r.make, SessionID: uuid.NewString(), CWD: r.dir,
		StartTimeoutMS:     90_000, // how long a real one takes on a busy machine is no matter of these tests
		AppendSystemPrompt: "You are a test.",
		JSONSchema:         json.RawMessage(`{"type":"object","properties":{"kind":{"type":"string"}},"required":["kind"]}`),
		MCPTools: []bridge.ToolSpec{{Name: "report_progress", Description: "Reports.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string"}}}`)}},
		Env: map[string]string{"HOME": r.home}}
	return r
}

func (r *rig) launch(pending ...string) {
	r.t.Helper()
	testkit.OK(r.t, r.tryLaunch(pending...))
}

func (r *rig) tryLaunch(pending ...string) error {
	self, _ := os.Executable()
	r.gen++
	a, err := (&Launcher{Self: self}).Launch(r.t.Context(), bridge.Owner{Run: r.run},
		bridge.SpawnParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: r.gen}, Config: r.cfg, Pending: pending}, r)
	if err != nil {
		return err
	}
	r.agent = a
	r.t.Cleanup(func() { r.stop(true) })
	return nil
}

func (r *rig) stop(now bool) {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	testkit.Works(r.t, "Stop", r.agent.Stop(ctx, now))
	testkit.Empty(r.t, "left over", proctree.Survivors(r.run))
}

// send sends a message and returns its id.
func (r *rig) send(text string) string {
	r.t.Helper()
	id := uuid.NewString()
	testkit.OK(r.t, r.agent.Message(r.t.Context(), bridge.MessageParams{MessageID: id, Content: text}))
	return id
}

// until waits until a condition holds, which is tried after each event and request.
func (r *rig) until(what string, holds func() bool) {
	r.t.Helper()
	late := time.After(waitTimeout)
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			r.mu.Lock()
			defer r.mu.Unlock()
			r.t.Fatalf("no %s; events: %s", what, eventsText(r.events))
		}
	}
}

func eventsText(events []bridge.EventBody) string {
	var b strings.Builder
	for _, e := range events {
		raw, _ := json.Marshal(e)
		fmt.Fprintf(&b, "\n%T %s", e, raw)
	}
	return b.String()
}

func of[B bridge.EventBody](r *rig) (list []B) {
	for _, e := range r.events {
		if b, ok := e.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// ended waits for the end of the turn of a message.
func (r *rig) ended(id string) (t bridge.Turn) {
	r.t.Helper()
	r.until("end of the turn", func() bool {
		for _, x := range of[bridge.Turn](r) {
			if slices.Contains(x.MessageIDs, id) {
				t = x
				return true
			}
		}
		return false
	})
	return t
}

func (r *rig) turn(text string) bridge.Turn {
	r.t.Helper()
	return r.ended(r.send(text))
}

func (r *rig) file(name string) string {
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	return string(raw)
}

// awaitFile waits for a file that a process of the agent makes.
func (r *rig) awaitFile(name string) {
	r.t.Helper()
	testkit.Await(r.t, name, func() bool {
		_, err := os.Stat(filepath.Join(r.dir, name))
		return err == nil
	})
}

const kindDone = `{"kind":"done"}`

func TestWork(t *testing.T) {
	for _, name := range acptest.Makes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.launch()
			info := r.agent.Info()
			testkit.Check(t, info.MakeSession != "" && info.SessionID == r.cfg.SessionID && len(info.Lacks) != 0 &&
				info.MakeVersion != "", "%+v", info)
			r.answers <- bridge.Allow
			id := r.send("[[say On it.]] [[write " + filepath.Join(r.dir, "a.txt") + "|hello]] " +
				`[[tool report_progress|{"message":"half"}]] [[verdict {"kind":"done"}]]`)
			turn := r.ended(id)
			if turn.Outcome != bridge.TurnDone || string(turn.Verdict) != kindDone || turn.Tools != 1 ||
				slices.Contains(turn.Files, filepath.Join(r.dir, "a.txt")) == (name == codex) || r.file("a.txt") != "hello" {
				t.Errorf("turn: %+v, file %q", turn, r.file("a.txt"))
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			d := of[bridge.Delivered](r)
			testkit.Check(t, len(d) == 1 && d[0].MessageID == id && d[0].Proof == bridge.ProofWritten, "delivered: %+v", d)
			tool := "Write"
			if name == codex {
				tool = "Bash"
				testkit.Empty(t, "asked", r.asked)
			} else if len(r.asked) != 1 || r.asked[0].Tool != tool ||
				!strings.Contains(string(r.asked[0].Input), "a.txt") || !strings.Contains(string(r.asked[0].Input), "hello") {
				t.Errorf("asked: %+v", r.asked)
			}
			uses := of[bridge.ToolUse](r)
			if len(uses) != 2 || uses[0].Tool != tool || uses[1].Tool != "mcp__arbiter__report_progress" ||
				len(of[bridge.ToolResult](r)) != 2 {
				t.Errorf("events: %s", eventsText(r.events))
			}
			said := of[bridge.Assistant](r)
			testkit.Check(t, len(said) != 0 && strings.HasSuffix(said[0].Text, "On it."), "said: %+v", said)
		})
	}
}

// TestTheClientMayCallMeanwhile: a client that uses the agent while it takes an event in does not wait for itself, and
// it receives the events of each kind in the order in which they happened.
func TestTheClientMayCallMeanwhile(t *testing.T) {
	r := newRig(t, "fake")
	r.launch()
	r.mu.Lock()
	r.heard = func() {
		_, _ = r.agent.Context(context.Background()) // it may not be known yet
	}
	r.mu.Unlock()
	r.answers <- bridge.Allow
	r.turn("[[say On it.]] [[shell touch a]] [[say Nearly.]] " +
		`[[tool report_progress|{"message":"half"}]] [[verdict {"kind":"done"}]]`)
	r.mu.Lock()
	defer r.mu.Unlock()
	// A make's requests are served beside what it says, so only what is of one kind has an order.
	order := map[string][]string{}
	for i, e := range r.events {
		switch e := e.(type) {
		case bridge.Delivered:
			order["delivered"] = append(order["delivered"], e.MessageID)
		case bridge.Assistant:
			order["said"] = append(order["said"], e.Text)
		case bridge.ToolUse:
			order["calls"] = append(order["calls"], e.ToolUse)
		case bridge.ToolResult:
			order["results"] = append(order["results"], e.ToolUse)
		case bridge.Turn:
			if i != len(r.events)-1 {
				t.Errorf("after the turn: %s", eventsText(r.events[i+1:]))
			}
		}
	}
	testkit.Same(t, "said", []string{"On it.", "Nearly."}, order["said"])
	testkit.Check(t, len(order["delivered"]) == 1 && len(order["calls"]) == 2 &&
		slices.Equal(order["calls"], order["results"]), "events: %s", eventsText(r.events))
}

func TestDenied(t *testing.T) {
	for _, name := range acptest.Makes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.deny = "touch denied"
			r.launch()
			r.answers <- bridge.Deny
			for _, line := range []string{"touch denied", "touch refused"} {
				turn := r.turn("[[shell " + line + `]] [[verdict {"kind":"done"}]]`)
				testkit.Check(t, turn.Outcome == bridge.TurnDone &&
					(string(turn.Verdict) == kindDone) != slices.Contains(endTurns, name), "%+v", turn)
			}
			left, _ := filepath.Glob(filepath.Join(r.dir, "*"))
			testkit.Check(t, len(left) == 0, "it ran: %v", left)
			r.mu.Lock()
			defer r.mu.Unlock()
			testkit.Check(t, len(r.asked) == 1 &&
				strings.Contains(string(r.asked[0].Input), `"command":"touch refused"`) && r.asked[0].Tool == "Bash",
				"asked: %+v, judged %v", r.asked, r.judged)
		})
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, name := range append(slices.Clone(acptest.Makes), "fake leave", "fake deaf") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			name, trap, _ := strings.Cut(name, " ")
			r := newRig(t, name, trap)
			r.launch()
			r.answers <- bridge.Allow
			id := r.send(`[[shell touch begun; sh -c "sleep 600; touch late"]]`)
			r.until("request", func() bool { return len(r.asked) == 1 })
			r.awaitFile("begun")
			testkit.OK(t, testkit.Err(r.agent.Interrupt(t.Context())))
			turn := r.ended(id)
			if trap == "deaf" {
				testkit.Same(t, turn, bridge.TurnLost, turn.Outcome)
				return
			}
			testkit.Same(t, turn, bridge.TurnInterrupted, turn.Outcome)
			for _, p := range proctree.Survivors(r.run) {
				testkit.Check(t, p.Name != "sleep", "it is left running: %+v", p)
			}
			turn = r.turn("And now?")
			testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Verdict != nil, "afterwards: %+v", turn)
			r.stop(false)
		})
	}
}

// TestLongAnswer: what a make says without end is passed on in pieces, before it fills the memory.
func TestLongAnswer(t *testing.T) {
	r := newRig(t, "fake")
	r.launch()
	long := "[[say " + strings.Repeat("x", bridge.MaxTurnText*3/4) + "]] "
	r.turn(long + long + `[[verdict {"kind":"done"}]]`)
	testkit.Same(t, "pieces", 2, len(of[bridge.Assistant](r)))
}

// TestCallsAreForgotten: what a call was given and has returned is not kept until its turn ends.
func TestCallsAreForgotten(t *testing.T) {
	r := newRig(t, "fake")
	r.launch()
	seen := 0
	r.mu.Lock()
	r.heard = func() {
		a := r.agent.(*agent)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.turn == nil {
			return
		}
		for _, c := range a.turn.calls {
			if c.over {
				seen++
				testkit.Check(t, c.text() == "" && c.input == nil, "it is kept: %v, %q", c.input, c.text())
			}
		}
	}
	r.mu.Unlock()
	r.answers <- bridge.Allow
	r.turn(`[[shell echo output]] [[tool report_progress|{"message":"half"}]] [[verdict {"kind":"done"}]]`)
	testkit.Check(t, seen > 0, "no call was over in its turn")
}

// TestDeathInMidTurn: of a turn in which the process dies, what was said and paid counts, and so does its verdict.
func TestDeathInMidTurn(t *testing.T) {
	for end, want := range map[string]bridge.Turn{
		"[[say Halfway.]]":            {Outcome: bridge.TurnLost, CostUSD: 0.25, Category: bridge.CatCrash},
		`[[verdict {"kind":"done"}]]`: {Outcome: bridge.TurnDone, CostUSD: 0.25, Verdict: json.RawMessage(kindDone)},
	} {
		r := newRig(t, "fake")
		r.launch()
		turn := r.turn("[[say Begun.]] [[cost 0.25]] " + end + " [[die]]")
		testkit.Like(t, end, want, turn)
		testkit.Check(t, !turn.CostUnknown, "%s: its cost is known", end)
		r.until("end", func() bool { return len(of[bridge.Done](r)) == 1 })
		said := of[bridge.Assistant](r)
		testkit.Check(t, strings.HasPrefix(said[len(said)-1].Text, "Begun."), "%s: said %+v", end, said)
	}
}

func TestResume(t *testing.T) {
	for _, name := range acptest.Makes {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.launch()
			first := r.send(`[[say One.]] [[verdict {"kind":"one"}]]`)
			r.ended(first)
			r.answers <- bridge.Allow
			second := r.send("[[say Two.]] [[shell touch begun; sleep 600]]")
			r.until("request", func() bool { return len(r.asked) == 1 })
			r.until("call", func() bool { return len(of[bridge.ToolUse](r)) > 0 })
			r.stop(true)
			lost := r.ended(second)
			testkit.Check(t, lost.Outcome == bridge.TurnLost || lost.Outcome == bridge.TurnInterrupted, "%+v", lost)
			r.cfg.Resume, r.cfg.MakeSession = true, r.agent.Info().MakeSession
			r.events = nil
			if traitsOf(&r.make).forgets {
				err := r.tryLaunch()
				testkit.Check(t, err != nil && err.(*bridge.RPCError).Category == bridge.CatResume, "it was loaded: %v", err)
				return
			}
			r.launch(first, second, "never")
			d := r.agent.Info().Deliveries
			testkit.Check(t, len(d) == 3 && d[0].Status == bridge.DeliveryRuled &&
				string(d[0].Verdict) == `{"kind":"one"}` && d[1].Status == bridge.DeliveryBegun &&
				d[2].Status == bridge.DeliveryAbsent && r.agent.Info().Resumed, "deliveries: %+v", d)
			turn := r.turn("And now?")
			testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Verdict != nil, "afterwards: %+v", turn)
			r.cfg.MakeSession = "no-such"
			r.stop(false)
			err := r.tryLaunch()
			testkit.Check(t, err != nil && err.(*bridge.RPCError).Category == bridge.CatResume, "another session: %v", err)
		})
	}
}

// TestFirstMessageFails: a make may not keep a message whose turn has failed, so our system text comes with the next
// one, too; after that, the session has it.
func TestFirstMessageFails(t *testing.T) {
	r := newRig(t, "fake")
	r.launch()
	testkit.Same(t, "the first turn", bridge.TurnFailed, r.turn("[[fail 401 no key]]").Outcome)
	testkit.Same(t, "the second turn", bridge.TurnDone, r.turn("Work.").Outcome)
	r.turn("Go on.")
	kept := testkit.Must(os.ReadFile(filepath.Join(r.home, ".fake-acp", r.agent.Info().MakeSession)))(t)
	testkit.Same(t, "system texts", 2, strings.Count(string(kept), r.cfg.AppendSystemPrompt))
}

// TestMode: a make that begins in a mode in which it asks about nothing is put into the one in which it asks, also
// after it has left that by itself, and after a resume.
func TestMode(t *testing.T) {
	r := newRig(t, "fake", "auto")
	r.make.Name = "claude-acp"
	r.launch()
	asks := func(n int) {
		t.Helper()
		r.answers <- bridge.Deny
		turn := r.turn(`[[shell touch ran]] [[verdict {"kind":"done"}]]`)
		testkit.Check(t, string(turn.Verdict) == kindDone, "%+v", turn)
		left, _ := filepath.Glob(filepath.Join(r.dir, "*"))
		testkit.Check(t, len(left) == 0 && len(r.asked) == n, "files %v, %d requests", left, len(r.asked))
	}
	asks(1)
	r.turn(`[[mode auto]] [[verdict {"kind":"done"}]]`)
	r.until("notice", func() bool {
		return slices.ContainsFunc(of[bridge.Notice](r), func(n bridge.Notice) bool {
			return strings.Contains(n.Text, "set back")
		})
	})
	asks(2)
	r.stop(false)
	r.cfg.Resume, r.cfg.MakeSession = true, r.agent.Info().MakeSession
	r.launch()
	asks(3)
}

// TestReads: what is read inside of the directory needs no human, and rules hold. Claude's own agent does not ask about
// it, and holds deny rules itself.
func TestReads(t *testing.T) {
	for _, name := range append(acptest.With(acptest.Reading, acptest.Hold), "fake late") {
		t.Run(name, func(t *testing.T) {
			name, traps, _ := strings.Cut(name, " ")
			r := newRig(t, name, traps)
			path := func(name string) string { return filepath.Join(r.dir, name) }
			for _, file := range []string{"open.txt", "secret.txt"} {
				testkit.OK(t, os.WriteFile(path(file), []byte("words of "+file), 0o600))
			}
			r.deny = "secret.txt"
			r.cfg.Rules.Deny = []string{"Read(//" + path("secret.txt")[1:] + ")"}
			r.launch()
			r.turn("[[read " + path("open.txt") + "]] [[read " + path("secret.txt") + `]] [[verdict {"kind":"done"}]]`)
			r.mu.Lock()
			defer r.mu.Unlock()
			results := of[bridge.ToolResult](r)
			if len(results) != 2 || !strings.Contains(results[0].Text, "words of open.txt") || results[0].IsError ||
				strings.Contains(results[1].Text, "words of secret.txt") || !results[1].IsError || len(r.asked) > 0 {
				t.Errorf("asked %v; %s", r.asked, eventsText(r.events))
			}
		})
	}
}

// TestUnasked: a make that does not ask does not start without a sandbox, unless that is accepted; in a sandbox it
// writes in its directory alone, and gives its verdict through it.
func TestUnasked(t *testing.T) {
	r := newRig(t, "fake", "unasked")
	r.make.Name = "unheard-of"
	if err := r.tryLaunch(); err == nil || !strings.Contains(err.Error(), "makes.unheard-of.accept_unasked") {
		t.Fatalf("it started: %v", err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	const line = `[[shell touch inside; touch %s]] [[verdict {"kind":"done"}]]`
	t.Run("accepted", func(t *testing.T) {
		r := newRig(t, "fake", "unasked")
		r.make.Name, r.make.AcceptUnasked = "unheard-of", true
		r.launch()
		turn := r.turn(fmt.Sprintf(line, filepath.Join(r.dir, "also")))
		testkit.Check(t, string(turn.Verdict) == kindDone, "%+v", turn)
		left, _ := filepath.Glob(filepath.Join(r.dir, "*"))
		testkit.Check(t, len(left) == 2 && len(r.asked) == 0, "files %v, asked %v", left, r.asked)
	})
	for _, name := range append(acptest.With(acptest.Rules, acptest.Pass), "fake") {
		t.Run("confined/"+name, func(t *testing.T) {
			program, err := exec.LookPath("bwrap")
			if err != nil {
				t.Skip("no bubblewrap here")
			}
			r := newRig(t, name, "unasked")
			r.make.AcceptUnasked = false
			if name == "fake" {
				r.make.Name = "unheard-of"
			}
			self, err := os.Executable()
			testkit.OK(t, err)
			r.cfg.Sandbox = &bridge.SandboxConfig{Program: program, Network: bridge.NetworkOpen,
				Read: []string{self, r.home, os.Getenv(acptest.MakesEnv)}}
			if name == "fake" {
				r.cfg.Sandbox.Read = r.cfg.Sandbox.Read[:1]
			}
			if err := r.tryLaunch(); err != nil {
				t.Skipf("no sandbox here: %v", err)
			}
			r.answers <- bridge.Allow
			r.answers <- bridge.Allow
			turn := r.turn("[[write " + filepath.Join(r.dir, "also") + "|x]]" + fmt.Sprintf(line, outside))
			testkit.Check(t, string(turn.Verdict) == kindDone && r.agent.Info().Sandbox, "%+v", turn)
			testkit.Fails(t, "it wrote outside of its directory", testkit.Err(os.Stat(outside)))
			want := 2
			if name == codex { // its own sandbox does not start in another: it runs only what it asks about
				want = 1
			}
			if left, _ := filepath.Glob(filepath.Join(r.dir, "*")); len(left) != want {
				t.Errorf("it wrote inside of its directory only %v; %s", left, eventsText(r.events))
			}
		})
	}
}

// TestNetwork: in the sandbox, a make reaches its model, which is listed, and its commands reach no other service of
// this computer.
func TestNetwork(t *testing.T) {
	program, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("no bubblewrap here")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testkit.OK(t, err)
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	for _, name := range acptest.Makes {
		for _, network := range []string{bridge.NetworkProxy, bridge.NetworkOpen} {
			t.Run(name+"/"+network, func(t *testing.T) {
				r := newRig(t, name)
				self := testkit.Must(os.Executable())(t)
				r.cfg.Sandbox = &bridge.SandboxConfig{Program: program, Network: network, Read: []string{self}}
				if r.model != nil {
					r.cfg.Sandbox.Read = append(r.cfg.Sandbox.Read, r.home, os.Getenv(acptest.MakesEnv))
					r.cfg.Sandbox.Hosts = []string{strings.TrimPrefix(r.model.Base, "http://")}
				}
				r.launch()
				for range 4 {
					r.answers <- bridge.Allow
				}
				script := "#!/bin/bash\n(exec 3<>/dev/tcp/127.0.0.1/" + port + ") && touch reached\ntouch ran\n"
				testkit.OK(t, os.WriteFile(filepath.Join(r.dir, "go"), []byte(script), 0o700))
				turn := r.turn(`[[shell ./go]] [[verdict {"kind":"done"}]]`)
				left, _ := filepath.Glob(filepath.Join(r.dir, "r*"))
				want := []string{"ran"}
				if network == bridge.NetworkOpen {
					want = []string{"ran", "reached"}
				}
				for i := range left {
					left[i] = filepath.Base(left[i])
				}
				if string(turn.Verdict) != kindDone || !slices.Equal(left, want) {
					t.Errorf("files %q, want %q; %s", left, want, eventsText(r.events))
				}
				for _, p := range r.asked {
					if p.Tool == bridge.NetworkTool {
						t.Logf("it asked for %s", p.Input)
					}
				}
			})
		}
	}
}

// TestAskRules: what an ask rule names is asked about, also where the make alone would not ask.
func TestAskRules(t *testing.T) {
	for _, name := range acptest.Makes {
		if name == "gemini" { // it runs ls without a question
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newRig(t, name)
			r.cfg.Rules.Ask = []string{"Bash(ls *)", "Bash(ls)"}
			r.launch()
			r.answers <- bridge.Deny
			turn := r.turn(`[[shell ls]] [[verdict {"kind":"done"}]]`)
			r.mu.Lock()
			defer r.mu.Unlock()
			testkit.Check(t, (string(turn.Verdict) == kindDone) != slices.Contains(endTurns, name) &&
				len(r.asked) == 1 && r.asked[0].Tool == "Bash", "turn %+v, asked %+v", turn, r.asked)
		})
	}
}

// TestUntrustedWorkspace: of a workspace that is not trusted, a make loads no settings: they can run programs.
func TestUntrustedWorkspace(t *testing.T) {
	for _, name := range []string{"opencode", "claude-acp"} {
		for _, trusted := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/trusted %t", name, trusted), func(t *testing.T) {
				r := newRig(t, name)
				r.cfg.SettingSources = []string{"user"}
				if trusted {
					r.cfg.SettingSources = append(r.cfg.SettingSources, "project")
				}
				ran := func(by string) string { return filepath.Join(r.home, "ran-"+by) }
				for file, text := range map[string]string{
					".claude/settings.json": `{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "touch ` +
						ran("hook") + `"}]}]}}`,
					"opencode.json": `{"mcp": {"planted": {"type": "local", "command": ["touch", "` + ran("mcp") + `"]}}}`,
					".opencode/plugin/planted.js": `import { writeFileSync } from "fs"
						export const Planted = async () => { writeFileSync("` + ran("plugin") + `", ""); return {} }`,
				} {
					path := filepath.Join(r.dir, file)
					testkit.OK(t, os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600))
				}
				r.launch()
				turn := r.turn(`[[verdict {"kind":"done"}]]`)
				testkit.Check(t, string(turn.Verdict) == kindDone, "%+v", turn)
				found, _ := filepath.Glob(ran("*"))
				testkit.Same(t, fmt.Sprintf("these ran: %v", found), trusted, len(found) > 0)
			})
		}
	}
}

// said is a line with an update.
func said(kind, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":`+
		`{"sessionUpdate":%q,"content":{"type":"text","text":%q}}}}`, kind, text) + "\n"
}

// counter is a client that counts pieces of text.
type counter struct {
	bridge.Host
	pieces atomic.Int64
	errs   atomic.Int64
}

func (c *counter) Emit(e bridge.Event) {
	switch e.Body.(type) {
	case bridge.Delta:
		c.pieces.Add(1)
	case bridge.Error:
		c.errs.Add(1)
	}
}

// spoken is an agent in a turn that has said something and ended.
func spoken(out string) (*agent, *counter) {
	c := &counter{}
	a := newAgent(bridge.SpawnParams{Config: bridge.AgentConfig{Partial: true}}, traits{}, c)
	a.tools = &toolServer{}
	a.turn = &turn{id: "t", calls: map[string]*call{}}
	a.connect(nil, strings.NewReader(out))
	<-a.conn.Done()
	return a, c
}

// TestManyUpdates: all that an agent says at once arrives, before its end does.
func TestManyUpdates(t *testing.T) {
	_, c := spoken(strings.Repeat(said("agent_message_chunk", "more"), 20_000))
	testkit.Same(t, "pieces", int64(20_000), c.pieces.Load())
}

// TestLongLines: an update may be long. Of another message that is, the connection cannot be read on.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 11<<20)
	_, c := spoken(said("agent_message_chunk", long) + said("agent_message_chunk", "more"))
	testkit.Same(t, "pieces", int64(2), c.pieces.Load())
	other := `{"jsonrpc":"2.0","method":"_other","params":"` + long + `"}` + "\n"
	_, c = spoken(other + said("agent_message_chunk", "more"))
	testkit.Check(t, c.pieces.Load() == 0 && c.errs.Load() == 1, "%d pieces, %d errors", c.pieces.Load(), c.errs.Load())
}

// TestARequestFollowsItsUpdates: what an agent says before it asks is served before it is asked about.
func TestARequestFollowsItsUpdates(t *testing.T) {
	a, c := spoken("")
	s := &stdout{a: a, ready: make(chan struct{}), lines: jsonl.NewLineReader(strings.NewReader(
		strings.Repeat(said("agent_message_chunk", "more"), 300)+`{"id":1,"method":"x"}`+"\n"), 0)}
	close(s.ready)
	line := make([]byte, 100)
	n := testkit.Must(s.Read(line))(t)
	testkit.Same(t, "line", `{"id":1,"method":"x"}`+"\n", string(line[:n]))
	testkit.Same(t, "pieces before it", int64(300), c.pieces.Load())
}
