package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestLiveStartFailures(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "takes any word for a type")
	s, _ := live(t)
	s.cfg.JSONSchema = json.RawMessage(`{"type":"nonsense"}`)
	err := s.try()
	rpc, ok := errors.AsType[*bridge.RPCError](err)
	if !ok || rpc.Category != bridge.CatStart || !strings.Contains(rpc.Stderr, "json-schema") {
		t.Errorf("bad schema: %+v", rpc)
	}
	if events := s.host.all(); len(events) > 0 {
		for _, e := range events {
			if _, ok := e.(bridge.Done); ok {
				t.Errorf("done after a failed launch")
			}
		}
	}
	s.checkNoProcesses()
}

func TestLiveAPIErrors(t *testing.T) {
	for _, test := range []struct {
		reply reply
		want  bridge.Category
	}{
		{reply{status: 400, kind: "invalid_request_error", message: "bad thing"}, bridge.CatInvalidRequest},
		{reply{status: 400, kind: "invalid_request_error", message: "prompt is too long: 300000 tokens > 200000 maximum"},
			bridge.CatPromptTooLong},
		// A history that the API refuses is reported as such: retrying does not help.
		{reply{status: 400, kind: "invalid_request_error", message: "messages.1: `tool_use` ids were found without " +
			"`tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding " +
			"`tool_result` block in the next message."}, bridge.CatResume},
		{reply{status: 400, kind: "invalid_request_error", message: "messages.0.content.1: unexpected `tool_use_id` found " +
			"in `tool_result` blocks: toolu_01"}, bridge.CatResume},
		{reply{status: 429, kind: "rate_limit_error", message: "Claude AI usage limit reached|1999999999"}, bridge.CatUsageLimit},
		{reply{status: 401, kind: "authentication_error", message: "invalid x-api-key"}, bridge.CatAuth},
		{reply{status: 403, kind: "permission_error", message: "no"}, bridge.CatAuth},
		{reply{status: 404, kind: "not_found_error", message: "model"}, bridge.CatInvalidRequest},
		{reply{status: 429, kind: "rate_limit_error", message: "slow down"}, bridge.CatRateLimit},
		{reply{status: 500, kind: "api_error", message: "x"}, bridge.CatServer},
		{reply{status: 529, kind: "overloaded_error", message: "Overloaded"}, bridge.CatOverloaded},
	} {
		t.Run(test.reply.kind+" "+test.reply.message, func(t *testing.T) {
			if k := test.want; k != bridge.CatPromptTooLong && k != bridge.CatAuth || test.reply.status == 403 {
				realAtNight(t)
			}
			s, _ := live(t, test.reply)
			s.cfg.JSONSchema = json.RawMessage(verdictSchema)
			s.launch()
			turn := s.turn("go")
			// A turn that the API refused has used nothing: so the supervisor knows that no model has read its message.
			if turn.Outcome != bridge.TurnFailed || turn.Category != test.want || turn.Error == "" ||
				turn.Verdict != nil || turn.Usage != (bridge.Usage{}) {
				t.Errorf("turn: %+v", turn)
			}
			if len(of[bridge.Assistant](s.host)) != 0 || len(of[bridge.Context](s.host)) != 0 {
				t.Errorf("the CLI's own words passed for the model's:\n%s", s.host.dump())
			}
		})
	}
}

func TestLiveRetryIsReported(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "does not try again")
	s, _ := live(t, reply{status: 500, kind: "api_error", message: "x"})
	s.cfg.Env["CLAUDE_CODE_MAX_RETRIES"] = "1"
	s.launch()
	s.turn("go")
	if r := await[bridge.Retry](s.host, 1, nil); r.Attempt != 1 || r.MaxRetries != 1 || r.Status != 500 ||
		r.DelayMS <= 0 {
		t.Errorf("retry: %+v", r)
	}
}

func TestLiveNotLoggedIn(t *testing.T) {
	onlyTheCLI(t, "asks without a key, too")
	s, _ := live(t)
	s.cfg.Env["ANTHROPIC_API_KEY"] = ""
	s.launch()
	if turn := s.turn("go"); turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatAuth {
		t.Errorf("turn: %+v", turn)
	}
}

func TestLiveBudget(t *testing.T) {
	realAtNight(t)
	s, _ := live(t, reply{tools: []call{bash("echo hi")}, usage: [3]int{1000, 0, 0}})
	s.cfg.MaxBudgetUSD = 0.0001
	s.launch()
	if turn := s.turn("go"); turn.Outcome != bridge.TurnFailed || turn.Category != bridge.CatBudget ||
		turn.CostUSD <= 0 {
		t.Errorf("turn: %+v", turn)
	}
}

func TestLiveSideQuestionAndConfigure(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "takes any mode")
	s, model := live(t, reply{text: "one"}, reply{text: "SIDE"}, reply{text: "valid"}, reply{text: "two"})
	s.launch()
	s.turn("go")
	testkit.Same(t, "ask", "SIDE", testkit.Must(s.agent.Ask(context.Background(), "what?"))(t))
	if err := s.agent.Configure(context.Background(),
		bridge.ConfigureParams{Model: "claude-haiku-4-5", PermissionMode: "acceptEdits"}); err != nil {
		t.Errorf("configure: %v", err)
	}
	if err := s.agent.Configure(context.Background(),
		bridge.ConfigureParams{PermissionMode: "nonsense"}); errCode(err) != bridge.CodeRefused {
		t.Errorf("configure nonsense: %v", err)
	}
	if turn := s.turn("go"); turn.Text != "two" || !strings.Contains(model.lastRequest(), "claude-haiku-4-5") {
		t.Errorf("turn: %+v", turn)
	}
	if c, err := s.agent.Context(context.Background()); err != nil || c.Window != 167_000 {
		t.Errorf("context of the new model: %+v, %v", c, err)
	}
}

func TestLiveStop(t *testing.T) {
	for _, now := range []bool{false, true} {
		t.Run(map[bool]string{false: "in order", true: "now"}[now], func(t *testing.T) {
			if runtime.GOOS != "linux" {
				t.Skip("orphans are found on Linux only")
			}
			// A running tool, a daemon in a session of its own, and one that hides its mark. The last one
			// is ready once its parent has ended: until then it is found as a child.
			if now {
				realAtNight(t)
			}
			s, _ := liveAlone(t,
				reply{tools: []call{bash("(setsid sh -c ': > far; exec sleep 1000' >/dev/null 2>&1 &); " +
					"(p=$BASHPID; setsid env -i P=$p sh -c 'while kill -0 $P; do :; done; : > hidden; exec sleep 1001' >/dev/null " +
					"2>&1 &); " +
					"until [ -e far ] && [ -e hidden ]; do :; done; touch ready; python3 -c 'import time; time.sleep(100)'")}})
			s.launch()
			id := s.send("go")
			waitFile(t, filepath.Join(s.dir, "ready"))
			testkit.OK(t, s.agent.Stop(context.Background(), now))
			s.checkNoProcesses()
			turn := s.turnOf(id)
			want := map[bool]string{false: bridge.TurnInterrupted, true: bridge.TurnLost}[now]
			testkit.Same(t, "outcome", want, turn.Outcome)
			done := await[bridge.Done](s.host, 1, nil)
			// What its process group has not ended yet is swept, too.
			if !done.Exit.Expected || done.Exit.Swept < 1 || done.SessionID != s.cfg.SessionID {
				t.Errorf("done: %+v", done)
			}
			if n := s.l.Sweep(bridge.Owner{Run: s.run}); n != 1 { // its run was not known before
				t.Errorf("the last sweep found %d, want the one that hid its mark", n)
			}
		})
	}
}

func TestLiveCrash(t *testing.T) {
	realAtNight(t)
	s, _ := live(t, reply{tools: []call{bash("touch ready; python3 -c 'import time; time.sleep(100)'")}})
	s.launch()
	id := s.send("go")
	waitFile(t, filepath.Join(s.dir, "ready"))
	p := testkit.Must(os.FindProcess(s.agent.Info().PID))(t)
	testkit.OK(t, p.Kill())
	if turn := s.turnOf(id); turn.Outcome != bridge.TurnLost || turn.Category != bridge.CatCrash {
		t.Errorf("turn: %+v", turn)
	}
	done := await[bridge.Done](s.host, 1, nil)
	if done.Exit.Expected || done.Exit.Code != -1 || done.Exit.Signal != "killed" {
		t.Errorf("done: %+v", done)
	}
	if runtime.GOOS == "linux" && done.Exit.Swept == 0 {
		t.Error("the Bash tool's tree was not swept")
	}
	if err := s.agent.Message(context.Background(),
		bridge.MessageParams{MessageID: uuid.NewString()}); errCode(err) != bridge.CodeEnded {
		t.Errorf("message after the end: %v", err)
	}
}
