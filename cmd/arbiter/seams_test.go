package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// seamPlay is a play in which features interact, and what the human does in it.
type seamPlay struct {
	name  string
	play  func() string
	human func(h *modelHome, f frontendDriver)
	first []string // the tale's entries of the first Orchestrator
	under []string // and those of its subagents
	// onScreen: it is played on the screen also with the real CLI.
	onScreen bool
	// long: with the real CLI it is only played with ARBITER_LONG=1.
	long bool
}

var seamPlays = []seamPlay{crossing, chairs, parked, oneRuleForFour, asking, halting}

// TestFeatureInteractions plays combinations of features by commands of a script, by keys on the screen, with --plain,
// on the web page, and in an editor, with the real CLI and the stand-in: all event logs tell the same story.
func TestFeatureInteractions(t *testing.T) {
	testkit.Long(t)
	for _, play := range seamPlays {
		t.Run(play.name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			stories := map[string]runStory{}
			t.Run("of", func(t *testing.T) { // ends when all runs have ended
				for _, who := range players(t) {
					for by, begin := range frontendDrivers {
						if who.real && by == "screen" && !play.onScreen {
							continue
						}
						t.Run(who.name+" by "+by, func(t *testing.T) {
							led := by == "json" || by == "screen"
							if play.long || !led || play.onScreen != (by == "screen") {
								who.long(t)
							}
							t.Parallel()
							told := play.through(t, who, begin)
							mu.Lock()
							defer mu.Unlock()
							stories[who.name+" by "+by] = told
						})
					}
				}
			})
			for of, other := range stories {
				if diff := cmp.Diff(stories["stand-in by json"].lines(), other.lines()); diff != "" {
					t.Errorf("with %s the story differs:\n%s", of, diff)
				}
			}
		})
	}
}

// through plays it once, from the first message to the end.
func (play seamPlay) through(t *testing.T, who player,
	begin func(*testing.T, player, string, ...string) (*modelHome, frontendDriver)) runStory {
	t.Helper()
	h, f := begin(t, who, play.play())
	play.human(h, f)
	told := storyOf(f.end())
	for _, p := range h.model.Problems() {
		t.Errorf("the play left its script: %s", p)
	}
	h.once()
	testkit.Same(t, "the first Orchestrator", play.first, told["orch-1"])
	testkit.Same(t, "its subagents", play.under, told["orch-1"+subagents])
	return told
}

func always(play string) func() string { return func() string { return play } }

// twoThreads begins the script of an Arbiter that spawns two Orchestrators, and ends when the human says so.
const twoThreads = `actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the east.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the west.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - expect: all is woven
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
        verdict: {decision: COMPLETE, message: It is done., summary: Both were spun., reason: r}
      - {expect: The east is spun, verdict: {decision: ADDRESS_HUMAN, message: Is it well?, reason: r}}
`

// crossing: one Orchestrator's permission request waits for the human while another hands off and gets a
// successor. Then the first calls a subagent and hands off in one answer, and the subagent's request waits.
var crossing = seamPlay{
	name: "a hand-off while a permission waits",
	long: true,
	play: always(`name: crossing
allow: [Write, "Bash(cat *)", Agent]
` + twoThreads + `      - expect: (?s)kind. handoff.*the rest of the (?P<side>east|west)
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Take up the {{.side}}."}}]
      - expect: from. (?P<who>orch-\d+)[^⟧]*kind. question
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: "{{.who}}", message: Begin., reason: r}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: heir
    match: {role: orchestrator, contains: "(?s)Take up the (?P<mine>east|west)"}
    steps:
      - expect: Take up the (?P<mine>east|west)
        verdict: {kind: question, expects_response: true, message: The rest is understood.}
      - expect: Begin
        verdict:
          expects_response: true
          kind: done
          message: The {{.mine}} is spun.
          handoff: {accomplished: ["{{.mine}}"], remaining: [], key_context: none}
  - name: east
    match: {role: orchestrator, contains: Spin the east}
    steps:
      - use: [{tool: Bash, input: {command: touch east.txt, description: Spin}}]
      - use: [{tool: Agent, input: {description: Look, subagent_type: general-purpose, prompt: Look at the east.}}]
        verdict:
          expects_response: true
          kind: handoff
          message: The east is handed on.
          handoff: {accomplished: [half of the east], remaining: [the rest of the east], key_context: none}
  - name: west
    match: {role: orchestrator, contains: Spin the west}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/west.txt", content: "west\n"}}]
      - verdict:
          expects_response: true
          kind: handoff
          message: The west is handed on.
          handoff: {accomplished: [half of the west], remaining: [the rest of the west], key_context: none, checks: [{command: cat west.txt, expect: "` + "`west`" + `"}], claims: [{claim: it is begun, verified: true, check: 1}]}
  - name: looker
    match: {role: subagent}
    steps:
      - use: [{tool: Bash, input: {command: touch looked.txt, description: Look}}]
      - say: It is well.
`),
	human: func(_ *modelHome, f frontendDriver) {
		f.asked("touch east.txt")
		sendMessageAs(f, "orch-3", "arbiter", "The west is spun")
		f.allow("touch east.txt")
		f.asked("touch looked.txt")
		f.allow("touch looked.txt")
		sendMessageAs(f, "arbiter", "human", "Is it well?")
		f.say("", "", "all is woven")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "asks for Bash touch east.txt",
		"allow of Bash touch east.txt by human", "hands to orch-4: half of the east, proofs [], drawn up: false",
		"ends: succeeded by orch-4",
	},
	under: []string{"allow of Bash touch looked.txt by human", "asks for Bash touch looked.txt"},
}

// oneRuleForFour: four requests wait for the human at the same time, twice. One rule answers all of them, the first
// time given in an answer, the second time as a rule of the run.
var oneRuleForFour = seamPlay{
	name: "four requests settled by one rule",
	long: true,
	play: always(`name: settled
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin all four.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: All four are spun
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
        verdict: {decision: COMPLETE, message: It is done., summary: All four were spun., reason: r}
  - name: weaver
    match: {role: orchestrator}
    steps:
      - use:
          - {tool: Agent, input: {description: North, subagent_type: general-purpose, prompt: Spin the north.}}
          - {tool: Agent, input: {description: East, subagent_type: general-purpose, prompt: Spin the east.}}
          - {tool: Agent, input: {description: South, subagent_type: general-purpose, prompt: Spin the south.}}
          - {tool: Agent, input: {description: West, subagent_type: general-purpose, prompt: Spin the west.}}
      - verdict:
          expects_response: true
          kind: done
          message: All four are spun.
          handoff: {accomplished: [all four], remaining: [], key_context: none}
  - name: spinner
    match: {role: subagent}
    steps:
      - expect: Spin the (?P<side>north|east|south|west)
        use: [{tool: Bash, input: {command: "git fetch {{.side}}", description: Spin}}]
      - use: [{tool: Bash, input: {command: "git branch {{.side}}", description: Keep}}]
      - say: It is spun.
`),
	human: func(_ *modelHome, f frontendDriver) {
		f.allowAll("Bash(git fetch *)", "git fetch north", "git fetch east", "git fetch south", "git fetch west")
		f.allowFromNowOn("Bash(git branch *)", "git branch north", "git branch east", "git branch south", "git branch west")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`,
		"hands to arbiter: all four, proofs [], drawn up: false", "ends: enough",
	},
	under: []string{
		"allow of Bash git branch east by human", "allow of Bash git branch north by human",
		"allow of Bash git branch south by human", "allow of Bash git branch west by human",
		"allow of Bash git fetch east by human", "allow of Bash git fetch north by human",
		"allow of Bash git fetch south by human", "allow of Bash git fetch west by human",
		"asks for Bash git branch east", "asks for Bash git branch north", "asks for Bash git branch south",
		"asks for Bash git branch west", "asks for Bash git fetch east", "asks for Bash git fetch north",
		"asks for Bash git fetch south", "asks for Bash git fetch west",
	},
}

// chairs: the human takes over an Orchestrator's session, and the Arbiter is renewed meanwhile. Then the human
// takes it over while the check of the Orchestrator's document runs, and its successor is spawned before the
// session is given back.
var chairs = seamPlay{
	name: "a renewal during a takeover, and a takeover during a hand-off",
	long: true,
	play: always(`name: chairs
allow: ["Bash(*)"]
actors:
  - name: arbiter-2
    match: {role: arbiter, contains: the first chair}
    steps:
      - expect: (?s)kind. inheritance.*took the session of.*sesame
        verdict: {decision: ADDRESS_HUMAN, message: The red or the blue?, reason: r}
      - {expect: the red one, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: Take the red one., reason: r}}
      - expect: kind. handoff
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Take up the rest.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - {expect: The rest is understood, verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-2, message: Begin., reason: r}}
      - {expect: It is spun, verdict: {decision: ADDRESS_HUMAN, message: Is it well?, reason: r}}
      - expect: all is woven
        use: [{tool: mcp__arbiter__release_orchestrator, input: {id: all, reason: enough}}]
        verdict: {decision: COMPLETE, message: It is done., summary: The red one was spun., reason: r}
  - name: arbiter-1
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - {expect: Which thread, verdict: {decision: ADDRESS_HUMAN, message: Which thread shall it be?, reason: r}}
      - {expect: consider it, usage: {context: 143620}, verdict: {decision: ADDRESS_HUMAN, message: It is considered., reason: r}}
      - expect: kind. renewal
        usage: {context: 143620}
        verdict: {decision: HANDOFF, message: Another sees on., reason: r, handoff: {accomplished: [one is summoned], remaining: [the thread], key_context: the first chair}}
  - name: second
    match: {role: orchestrator, contains: Take up the rest}
    steps:
      - verdict: {kind: question, expects_response: true, message: The rest is understood.}
      - verdict: {kind: done, expects_response: true, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}
  - name: first
    match: {role: orchestrator}
    steps:
      - {expect: Spin it, verdict: {kind: question, expects_response: true, message: Which thread?}}
    otherwise:
      - expect: Take the red one
        verdict:
          kind: handoff
          expects_response: true
          message: It is handed on.
          handoff:
            accomplished: [half]
            remaining: [the rest]
            key_context: none
            checks: [{command: sh wait.sh, expect: "` + "`whole`" + `"}]
            claims: [{claim: it is half, verified: true, check: 1}]
      - say: I-shall-remember-it.
  - name: person
    match: {role: any}
    otherwise: {say: I-shall-remember-it.}
`),
	human: func(h *modelHome, f frontendDriver) {
		wait := "touch checking; while [ ! -e go ]; do sleep 0.05; done; echo whole\n"
		testkit.OK(h.t, os.WriteFile(filepath.Join(h.work, "wait.sh"), []byte(wait), 0o600))
		sendMessageAs(f, "arbiter", "human", "Which thread shall it be?")
		p := h.take("orch-1")
		p.Type("my word is sesame")
		p.await("my word is sesame")
		p.Type("\r")
		p.await("I-shall-remember-it.")
		f.say("", "", "consider it")
		f.await("another Arbiter", func(l contract.Line) bool {
			b, ok := l.Body.(contract.Spawn)
			return ok && l.ID == contract.Arbiter && b.Generation == 2
		})
		h.giveBack(p)
		sendMessageAs(f, "arbiter", "human", "The red or the blue?")
		f.say("", "", "the red one")
		awaitFile(h.t, filepath.Join(h.work, "checking"))
		p = h.take("orch-1")
		h.touch("go")
		sendMessageAs(f, "arbiter", "human", "Is it well?")
		h.giveBack(p)
		f.await("the end of the first", func(l contract.Line) bool {
			b, ok := l.Body.(contract.Takeover)
			return ok && b.State == "ended" && b.Words == 0
		})
		f.say("", "", "all is woven")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "takeover began: , 0 words", "ends: takeover",
		"takeover open: , 0 words", "takeover ended: the human gave it back, 1 words",
		`spawned, generation 3, successor of "", resumed: true`, "takeover began: , 0 words", "ends: takeover",
		"takeover open: , 0 words", `hands to orch-2: half, proofs ["verified"], drawn up: false`,
		"takeover ended: the human gave it back, 0 words", "ends: succeeded by orch-2",
	},
}

// parked: one Orchestrator has hit a usage limit that lasts an hour, another is steered by the human and hands
// off. A message of the human ends the wait.
var parked = seamPlay{
	onScreen: true,
	name:     "one parked by a limit, one handing off, and a human who steers",
	play: func() string {
		return fmt.Sprintf(`name: parked
allow: ["Bash(*)"]
`+twoThreads+`      - expect: kind. handoff
        use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Take up the rest.}}]
      - expect: from. (?P<who>orch-\d+)[^⟧]*kind. question
        verdict: {decision: ADDRESS_ORCHESTRATOR, to: "{{.who}}", message: Begin., reason: r}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: heir
    match: {role: orchestrator, contains: Take up the rest}
    steps:
      - verdict: {kind: question, expects_response: true, message: The rest is understood.}
      - verdict: {kind: done, expects_response: true, message: The west is spun., handoff: {accomplished: [west], remaining: [], key_context: none}}
  - name: east
    match: {role: orchestrator, contains: Spin the east}
    steps:
      - fault: {status: 429, message: "Claude AI usage limit reached|%d"}
      - expect: from. human[^⟧]*⟧\s+go on, east
        verdict: {kind: done, expects_response: true, message: The east is spun., handoff: {accomplished: [east], remaining: [], key_context: none}}
  - name: west
    match: {role: orchestrator, contains: Spin the west}
    steps:
      - use: [{tool: Bash, input: {command: "touch begun; while [ ! -e go ]; do sleep 0.05; done; echo half", description: Spin}}]
      - expect: (?s)half.*mind the edge
        verdict:
          kind: handoff
          expects_response: true
          message: The west is handed on.
          handoff: {accomplished: [half], remaining: [the rest], key_context: the edge, checks: [{command: test -e begun, expect: exit 0}], claims: [{claim: it is begun, verified: true, check: 1}]}
`, time.Now().Add(time.Hour).Unix())
	},
	human: func(h *modelHome, f frontendDriver) {
		f.await("a wait for the limit", func(l contract.Line) bool {
			_, ok := l.Body.(contract.Retry)
			return ok && l.ID == "orch-1"
		})
		awaitFile(h.t, filepath.Join(h.work, "begun"))
		f.say("orch-2", contract.Steer, "mind the edge")
		f.await("the word on its way", func(l contract.Line) bool {
			m, ok := l.Body.(contract.Message)
			return ok && m.From == contract.Human && m.To == "orch-2"
		})
		h.touch("go")
		sendMessageAs(f, "orch-3", "arbiter", "The west is spun")
		f.say("orch-1", "", "go on, east")
		sendMessageAs(f, "arbiter", "human", "Is it well?")
		f.say("", "", "all is woven")
	},
	first: []string{`spawned, generation 1, successor of "", resumed: false`,
		"hands to arbiter: east, proofs [], drawn up: false", "ends: enough"},
}

// asking: one Orchestrator asks a question that the human has reserved for themselves, while two others work.
// It is reported as a question, and stays open until the human answers, although the others are done by then
// and the Arbiter has decided on their work.
var asking = seamPlay{
	name: "a question to the human while two work",
	long: true,
	play: always(`name: asking
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Unpick the old thread.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the west.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin the north.}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - {expect: May the old thread go, verdict: {decision: ADDRESS_HUMAN, message: "You kept this for yourself: may the old thread go?", reason: r}}
      - {expect: "(?s)kind. answer.*it may go", verdict: {decision: ADDRESS_ORCHESTRATOR, to: orch-1, message: It may go., reason: r}}
      - {expect: The old thread is gone, verdict: {decision: COMPLETE, message: It is done., summary: All three are done., reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: old
    match: {role: orchestrator, contains: Unpick the old}
    otherwise:
      - {expect: It may go, verdict: {kind: done, expects_response: true, message: The old thread is gone., handoff: {accomplished: [unpicked], remaining: [], key_context: none}}}
      - verdict: {kind: question, expects_response: true, message: May the old thread go?}
  - name: spinner
    match: {role: orchestrator, contains: "Spin the (?P<side>west|north)"}
    steps:
      - expect: Spin the (?P<side>west|north)
        use: [{tool: Bash, input: {command: "while [ ! -e go ]; do sleep 0.05; done; echo spun", description: Spin}}]
      - verdict: {kind: done, expects_response: true, message: "The {{.side}} is spun.", handoff: {accomplished: ["{{.side}}"], remaining: [], key_context: none}}
`),
	human: func(h *modelHome, f frontendDriver) {
		f.await("the question", func(l contract.Line) bool {
			q, ok := l.Body.(contract.Question)
			return ok && strings.Contains(q.Text, "may the old thread go")
		})
		h.touch("go")
		sendMessageAs(f, "orch-2", "arbiter", "The west is spun")
		sendMessageAs(f, "orch-3", "arbiter", "The north is spun")
		f.say("", "", "it may go")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`,
		"hands to arbiter: unpicked, proofs [], drawn up: false", "ends: complete",
	},
}

// halting: the human stops the same command three times. None of these stops counts as a failure of the agent,
// and the fourth try completes the task.
var halting = seamPlay{
	name: "stopped by the human three times",
	long: true,
	play: always(`name: halting
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin it.}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
    otherwise:
      - {expect: "What now after the (?P<n>\\d)", verdict: {decision: RETRY, to: orch-1, message: "Take up try {{.n}}.", reason: r}}
      - {expect: It is spun, verdict: {decision: COMPLETE, message: It is done., summary: It is spun., reason: r}}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
  - name: spinner
    match: {role: orchestrator}
    otherwise:
      - {expect: Take up try 3, verdict: {kind: done, expects_response: true, message: It is spun., handoff: {accomplished: [spun], remaining: [], key_context: none}}}
      - {expect: "not like this, for the (?P<n>\\d)", verdict: {kind: question, expects_response: true, message: "What now after the {{.n}}?"}}
      - {expect: "Take up try (?P<n>\\d)", use: [{tool: Bash, input: {command: "touch begun-{{.n}}; exec sleep 1000", description: Spin}}]}
      - use: [{tool: Bash, input: {command: "touch begun-0; exec sleep 1000", description: Spin}}]
`),
	human: func(h *modelHome, f frontendDriver) {
		for n := range 3 {
			awaitFile(h.t, filepath.Join(h.work, fmt.Sprintf("begun-%d", n)))
			f.say("orch-1", contract.Stop, fmt.Sprintf("not like this, for the %d. time", n+1))
		}
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "hands to arbiter: spun, proofs [], drawn up: false",
		"ends: complete",
	},
}

// TestMessageBeforeAnInterruptIsRead: a message that is accepted right before an interrupt, or before a message
// that stops the turn, is still delivered, and the model reads it.
func TestMessageBeforeAnInterruptIsRead(t *testing.T) {
	const play = `name: overtaken
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - {expect: That is all, verdict: {decision: COMPLETE, message: It is done., summary: Heard., reason: r}}
      - {expect: "Heed (?P<n>\\d)", verdict: {decision: ADDRESS_HUMAN, message: "Heard to {{.n}}.", reason: r}}
      - {expect: Remember, delay: 600s, verdict: {decision: ADDRESS_HUMAN, message: Too late., reason: r}}
      - verdict: {decision: ADDRESS_HUMAN, message: Speak., reason: r}
`
	eachPlayerLong(t, func(t *testing.T, who player) {
		// the driver's TestInterruptIsReadAfterTheMessage covers the real CLI
		h := build(t, who, play)
		s := h.script()
		asked := func(text string) {
			t.Helper()
			await(s, "the question "+text, func(_ string, q contract.Question) bool {
				return strings.Contains(q.Text, text)
			})
		}
		asked("Speak.")
		for n := range 3 {
			s.send(contract.Say{Text: fmt.Sprintf("Remember word %d.", n)})
			s.send(contract.Say{Text: fmt.Sprintf("Heed %d.", n), Strength: contract.Stop})
			asked(fmt.Sprintf("Heard to %d.", n))
		}
		s.send(contract.Say{Text: "Remember the last."})
		last := await(s, "the last word", func(_ string, m contract.Message) bool {
			return m.Text == "Remember the last."
		})
		for at := len(collect[contract.Turn](s)); ; at++ {
			s.send(contract.Interrupt{})
			until(t, "an interrupted turn", func() bool { return len(collect[contract.Turn](s)) > at })
			if slices.Contains(collect[contract.Turn](s)[at].MessageIDs, last.MessageID) {
				break
			}
			// The interrupted turn was that of an earlier message, which "Heed" had overtaken and which was
			// sent again.
			await(s, "the last word's delivery", func(_ string, d contract.Delivered) bool {
				return d.MessageID == last.MessageID
			})
		}
		asked("was interrupted")
		s.send(contract.Say{Text: "That is all."})
		s.finish(contract.ExitComplete)
		var latest rehearsal.Request
		for _, r := range h.model.Requests() {
			if r.Role == rehearsal.RoleArbiter {
				latest = r
			}
		}
		for _, word := range []string{"Remember word 0.", "Remember word 1.", "Remember word 2.",
			"Remember the last."} {
			if n := strings.Count(string(latest.Messages), word); n != 1 {
				t.Errorf("the model read %q %d times", word, n)
			}
		}
		h.sound(s)
	})
}
