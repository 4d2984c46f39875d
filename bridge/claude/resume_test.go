package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript"
)

var (
	verdictReply = taskCall(bridge.VerdictTool, map[string]any{"message": "m"})
	longTool     = runs("touch ready; python3 -c 'import time; time.sleep(100)'")
)

// stageFor prepares an agent of one player; its turns end with a verdict.
func stageFor(t *testing.T, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	s, model := against(t, spec, script...)
	s.cfg.JSONSchema = json.RawMessage(verdictSchema)
	return s, model
}

// faulty launches the stand-in with a fault.
func faulty(t *testing.T, fault string, script ...reply) *stageOf {
	t.Helper()
	t.Parallel()
	s, _ := stageFor(t, standInSpec(t), script...)
	s.cfg.Env["ARBITER_STANDIN_FAULT"] = fault
	return s.launch()
}

// again prepares a resume of the session that asks for the delivery status of messages.
func (s *stageOf) again(pending ...string) *stageOf {
	s.t.Helper()
	next := prepare(s.t, s.spec, s.cfg.Env)
	next.cfg, next.dir, next.pending = s.cfg, s.dir, pending
	next.cfg.Resume = true
	return next
}

// crash kills the process and waits until the agent has ended.
func (s *stageOf) crash() {
	s.t.Helper()
	testkit.OK(s.t, syscall.Kill(s.agent.Info().PID, syscall.SIGKILL))
	await[bridge.Done](s.host, 1, nil)
	<-s.agent.Done()
}

func (s *stageOf) transcript() string {
	path, ok := transcript.Locate(filepath.Join(s.cfg.Env["HOME"], ".claude"), s.cfg.SessionID)
	if !ok {
		return ""
	}
	return string(testkit.Must(os.ReadFile(path))(s.t))
}

// written waits until the transcript has every text: the CLI writes it in batches.
func (s *stageOf) written(texts ...string) {
	s.t.Helper()
	testkit.Await(s.t, "the transcript has "+strings.Join(texts, ", "), func() bool {
		have := s.transcript()
		for _, text := range texts {
			if !strings.Contains(have, text) {
				return false
			}
		}
		return true
	})
}

// TestDeliveryStatusAfterCrash kills the process at the points of a turn and resumes.
func TestDeliveryStatusAfterCrash(t *testing.T) {
	realAtNight(t)
	waits := reply{hold: make(chan struct{})} // of each case a channel of its own
	ends := func(s *stageOf, id string) { s.turnOf(id) }
	for _, test := range []struct {
		name   string
		script []reply
		until  func(s *stageOf, id string)
		want   []string // any of them
	}{
		{"just written", []reply{waits}, func(*stageOf, string) {}, []string{bridge.DeliveryAbsent, bridge.DeliverySeen}},
		{"the API waits", []reply{waits}, func(s *stageOf, id string) { s.written(`"uuid":"` + id + `"`) },
			[]string{bridge.DeliverySeen}},
		{"a tool runs", []reply{longTool}, func(s *stageOf, id string) {
			waitFile(s.t, filepath.Join(s.dir, "ready"))
			s.written(`"tool_use"`)
		}, []string{bridge.DeliveryBegun}},
		{"the API waits after a tool", []reply{{tools: []call{bash("echo hi")}}, waits},
			func(s *stageOf, id string) { s.written(`"tool_result"`) }, []string{bridge.DeliveryBegun}},
		{"a verdict", []reply{verdictReply}, ends, []string{bridge.DeliveryRuled}},
		{"no verdict", []reply{{text: "a"}, {text: "b"}}, ends, []string{bridge.DeliveryEnded}},
		{"an API error", []reply{{status: 400, kind: "invalid_request_error", message: "x"}}, ends,
			[]string{bridge.DeliverySeen}},
		{"an interrupt", []reply{longTool},
			func(s *stageOf, id string) {
				waitFile(s.t, filepath.Join(s.dir, "ready"))
				testkit.Must(s.agent.Interrupt(context.Background()))(s.t)
				s.turnOf(id)
				s.written("[Request interrupted by user")
			}, []string{bridge.DeliveryEnded}},
	} {
		t.Run(test.name, func(t *testing.T) {
			players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
				held := make(chan struct{})
				script := slices.Clone(test.script)
				for i := range script {
					if script[i].hold != nil {
						script[i].hold = held
					}
				}
				s, model := stageFor(t, spec, script...)
				s.launch()
				id, never := s.send("THE-MESSAGE"), uuid.NewString()
				test.until(s, id)
				s.crash()
				close(held)
				model.reset(verdictReply)

				next := s.again(id, never)
				err := next.try()
				var refused *bridge.RPCError
				if test.name == "just written" && errors.As(err, &refused) && refused.Category == bridge.CatResume {
					return // its transcript has no message yet: nothing was seen, and a new session begins
				}
				testkit.OK(t, err)
				t.Cleanup(next.stopNow)
				info := next.agent.Info()
				testkit.Need(t, len(info.Deliveries) == 2 && info.Deliveries[0].MessageID == id &&
					info.Deliveries[1].Status == bridge.DeliveryAbsent, "fates: %+v", info.Deliveries)
				got := info.Deliveries[0]
				testkit.Check(t, strings.Contains(" "+strings.Join(test.want, " ")+" ", " "+got.Status+" "),
					"fate %s, want one of %v; transcript:\n%.3000s", got.Status, test.want, s.transcript())
				testkit.Same(t, fmt.Sprintf("verdict %s", got.Verdict),
					map[bool]string{true: `{"message":"m"}`}[got.Status == bridge.DeliveryRuled], string(got.Verdict))
				testkit.Check(t, info.Resumed == (got.Status != bridge.DeliveryAbsent) ||
					got.Status == bridge.DeliveryAbsent, "resumed: %v", info.Resumed)
				// The model receives the messages that the transcript contains.
				turn := next.turn("NEXT")
				testkit.Check(t, string(turn.Verdict) == `{"message":"m"}`, "turn after it: %+v", turn)
				testkit.Same(t, fmt.Sprintf("the model sees the message; its fate was %s", got.Status),
					(got.Status != bridge.DeliveryAbsent), strings.Contains(model.lastRequest(), "THE-MESSAGE"))
			})
		})
	}
}

func TestDeliveryStatusOfFoldedMessage(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		held := make(chan struct{})
		wait := bash("until test -e go; do python3 -c 'import time; time.sleep(0.05)'; done")
		s, model := stageFor(t, spec, reply{tools: []call{wait}}, reply{hold: held})
		s.launch()
		first := s.send("go")
		await[bridge.ToolUse](s.host, 1, nil)
		second := s.message(bridge.MessageParams{MessageID: uuid.NewString(), Content: "LOOK-LEFT", Steer: true})
		if !s.probe().Answered { // so the message has been read, before the tool ends
			t.Error("the ping is not answered")
		}
		testkit.OK(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
		s.written(`"source_uuid":"` + second + `"`)
		s.crash()
		close(held)
		model.reset(verdictReply)
		next := s.again(first, second).launch()
		want := []bridge.DeliveryStatus{{MessageID: first, Status: bridge.DeliveryBegun},
			{MessageID: second, Status: bridge.DeliverySeen}}
		testkit.Same(t, "fates", want, next.agent.Info().Deliveries)
		next.turn("go on")
		model.hasRead(t, "the model does not see the folded message", "LOOK-LEFT")
	})
}

// TestTheEndOfASessionIsLost damages the transcript of a session whose last turn has ended, as a power cut can. Such a
// session is refused, and not continued without what was said.
func TestTheEndOfASessionIsLost(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageFor(t, spec, verdictReply, verdictReply)
		s.launch()
		s.turn("THE-FIRST")
		second := s.turn("THE-SECOND").MessageIDs[0]
		s.crash()
		path, whole := s.record(), s.transcript()
		first, last := strings.Index(whole, "THE-SECOND"), strings.LastIndex(whole, "THE-SECOND")
		for _, c := range []struct {
			name, text string
			goesOn     bool
		}{
			{"without the last turn", whole[:strings.LastIndex(whole[:first], "\n")+1], false},
			{"without the answer", whole[:last+strings.Index(whole[last:], "\n")+1], false},
			{"cut in the last turn", whole[:last], false},
			{"empty", "", false},
			{"zeroes", strings.Repeat("\x00", len(whole)), false},
			{"zeroes at the end", whole[:last] + strings.Repeat("\x00", len(whole)-last), false},
			{"whole, and its last line is cut", whole + `{"type":"assis`, true},
			{"whole", whole, true},
		} {
			put(t, path, c.text)
			next := s.again()
			next.answered = second
			err := next.try()
			if c.goesOn {
				testkit.OK(t, err)
				t.Cleanup(next.stopNow)
				model.reset(verdictReply)
				next.turn("NEXT")
				next.stopNow()
			} else if refused, ok := errors.AsType[*bridge.RPCError](err); !ok || refused.Category != bridge.CatResume ||
				!strings.Contains(refused.Message, "lacks the end of the last turn") {
				t.Errorf("%s: it is continued, or not refused for this: %v", c.name, err)
			}
		}
	})
}

// Two processes on one session make two branches; one of them is abandoned.
func TestDeliveryStatusOnAnAbandonedBranch(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageFor(t, spec, verdictReply, verdictReply, verdictReply, verdictReply)
		s.launch()
		first := s.turn("WORDS-ONE").MessageIDs[0]
		other := s.again().launch()
		lost := other.turn("FROM-B").MessageIDs[0]
		kept := s.turn("FROM-A").MessageIDs[0]
		other.crash()
		s.crash()
		next := s.again(first, lost, kept).launch()
		ruled := json.RawMessage(`{"message":"m"}`)
		want := []bridge.DeliveryStatus{{MessageID: first, Status: bridge.DeliveryRuled, Verdict: ruled},
			{MessageID: lost, Status: bridge.DeliveryAbsent}, {MessageID: kept, Status: bridge.DeliveryRuled, Verdict: ruled}}
		testkit.Same(t, "fates", want, next.agent.Info().Deliveries)
		next.turn("NEXT")
		req := model.lastRequest()
		testkit.Check(t, !strings.Contains(req, "FROM-B") && strings.Contains(req, "FROM-A") &&
			strings.Contains(req, "WORDS-ONE"), "the model sees another branch")
	})
}

// A session that never received a message has nothing to resume; it begins with its id.
func TestResumeOfNothing(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, _ := stageFor(t, spec, verdictReply)
		s.launch()
		s.crash()
		next := s.again("m-1").launch()
		info := next.agent.Info()
		want := bridge.SpawnResult{SessionID: s.cfg.SessionID, PID: info.PID, ClaudeVersion: info.ClaudeVersion,
			Deliveries: []bridge.DeliveryStatus{{MessageID: "m-1", Status: bridge.DeliveryAbsent}},
			Argv:       info.Argv, CWD: s.cfg.CWD, PermissionMode: "default", Env: info.Env, ClaudeSHA256: info.ClaudeSHA256}
		testkit.Same(t, "info", want, info)
		turn := next.turn("go")
		testkit.Check(t, turn.Verdict != nil && turn.CostUSD > 0, "turn: %+v", turn)
		next.written(next.cfg.SessionID)
	})
}

func TestResumeThatIsRefused(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		for name, put := range map[string]func(path string) error{
			"nothing in it":   func(path string) error { return os.WriteFile(path, nil, 0o600) },
			"no regular file": func(path string) error { return syscall.Mkfifo(path, 0o600) },
			"a directory":     func(path string) error { return os.Mkdir(path, 0o700) },
			"a link":          func(path string) error { return os.Symlink("/dev/zero", path) },
		} {
			s, _ := stageFor(t, spec)
			dir := filepath.Join(s.cfg.Env["HOME"], ".claude", "projects", "-some-project")
			testkit.OK(t, os.MkdirAll(dir, 0o700), put(filepath.Join(dir, s.cfg.SessionID+".jsonl")))
			s.cfg.Resume = true
			err := s.try()
			rpc, ok := errors.AsType[*bridge.RPCError](err)
			testkit.Check(t, ok && rpc.Code == bridge.CodeClaude && rpc.Category == bridge.CatResume, "%s: %+v", name, err)
			s.checkNoProcesses()
		}
	})
}

// A resumed CLI drops a repeat of a message that is in its history; its turn ends.
func TestRepeatAfterResume(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageFor(t, spec, verdictReply, verdictReply)
		s.launch()
		id := s.turn("ONCE").MessageIDs[0]
		s.crash()
		next := s.again(id).launch()
		next.message(bridge.MessageParams{MessageID: id, Content: "ONCE"})
		testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatProtocol}, next.turnOf(id))
		testkit.Empty(t, "delivered", of[bridge.Delivered](next.host))
		next.turn("NEXT")
		testkit.Same(t, "the model sees the message times", 1, strings.Count(model.lastRequest(), "ONCE"))
	})
}

// The transcript is used where it is found, even if it should be elsewhere; without it a session begins
// anew.
func TestTranscriptMovedOrGone(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		s, model := stageFor(t, spec, verdictReply, verdictReply)
		s.launch()
		first, second := s.turn("WORDS-ONE").MessageIDs[0], s.turn("WORDS-TWO").MessageIDs[0]
		s.crash()
		whole, file := s.transcript(), filepath.Base(s.record())
		own := filepath.Dir(s.record())
		projects := filepath.Dir(own)
		beginning, _, found := strings.Cut(whole, "WORDS-TWO") // like a rotation, or a restored copy
		testkit.Need(t, found, "the transcript has no second turn")
		for name, c := range map[string]struct{ dir, text, first, second string }{
			"another project": {filepath.Join(projects, "-elsewhere"), whole, bridge.DeliveryRuled,
				bridge.DeliveryRuled},
			"replaced by its own beginning": {own, beginning, bridge.DeliveryRuled, bridge.DeliveryAbsent},
			"deleted":                       {first: bridge.DeliveryAbsent, second: bridge.DeliveryAbsent},
		} {
			testkit.OK(t, os.RemoveAll(projects))
			if c.dir != "" {
				put(t, filepath.Join(c.dir, file), c.text)
			}
			model.reset(verdictReply)
			next := s.again(first, second).launch()
			info := next.agent.Info()
			testkit.Check(t, info.Resumed == (c.dir != "") && len(info.Deliveries) == 2 &&
				info.Deliveries[0].Status == c.first && info.Deliveries[1].Status == c.second, "%s: info: %+v", name, info)
			turn := next.turn("NEXT")
			testkit.Check(t, turn.Verdict != nil, "%s: turn: %+v", name, turn)
			testkit.Same(t, name+": the model sees the first message", c.dir != "",
				strings.Contains(model.lastRequest(), "WORDS-ONE"))
			next.stopNow()
		}
	})
}
