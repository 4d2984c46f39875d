package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

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
				testkit.Same(t, fmt.Sprintf("with %s the story differs", of), stories["stand-in by json"].lines(), other.lines())
			}
		})
	}
}

// through plays it once, from the first message to the end.
func (play seamPlay) through(t *testing.T, who player, begin func(*modelHome) frontendDriver) runStory {
	t.Helper()
	h := build(t, who, play.play())
	f := begin(h)
	play.human(h, f)
	told := storyOf(f.end())
	for _, p := range h.model.Problems() {
		t.Errorf("the play left its script: %s", p)
	}
	histories(h.t, h.model, rehearsal.RoleArbiter, rehearsal.RoleOrchestrator)
	testkit.Same(t, "the first Orchestrator", play.first, told["orch-1"])
	testkit.Same(t, "its subagents", play.under, told["orch-1"+subagents])
	return told
}

func always(play string) func() string { return func() string { return play } }

// twoThreads is an Arbiter that spawns two Orchestrators, and ends when the human says so.
func twoThreads(otherwise ...object) object {
	return arbiter(summons("Spin the east.", "Spin the west."), append([]object{
		on("all is woven", releasesAll("Both were spun.")), on("The east is spun", asksHuman("Is it well?"))},
		append(otherwise, on(`from. (?P<who>orch-\d+)[^⟧]*kind. question`, tells("{{.who}}", "Begin.")), patience)...)...)
}

// proven is a document whose claim is proved by its check.
func proven(step object, claim string) object {
	step["verdict"].(object)["handoff"].(object)["claims"] = []object{{"claim": claim, "verified": true, "check": 1}}
	return step
}

// crossing: one Orchestrator's permission request waits for the human while another hands off and gets a
// successor. Then the first calls a subagent and hands off in one answer, and the subagent's request waits.
var crossing = seamPlay{
	name: "a hand-off while a permission waits",
	long: true,
	play: always(allowing([]string{"Write", "Bash(cat *)", "Agent"},
		twoThreads(on("(?s)kind. handoff.*the rest of the (?P<side>east|west)", spawns("Take up the {{.side}}."))),
		orchestrator("heir", "(?s)Take up the (?P<mine>east|west)", []object{
			on("Take up the (?P<mine>east|west)", question("The rest is understood.")),
			on("Begin", done("The {{.mine}} is spun."))}),
		orchestrator("east", "Spin the east", []object{bash("touch east.txt"), with(hires("Look at the east."), "verdict",
			handsOff("handoff", "The east is handed on.", []string{"the rest of the east"})["verdict"])}),
		orchestrator("west", "Spin the west", []object{writes("west.txt", "west\n"), proven(handsOff("handoff",
			"The west is handed on.", []string{"the rest of the west"}, check("cat west.txt", "`west`")), "it is begun")}),
		subagent(bash("touch looked.txt"), says("It is well.")))),
	human: func(_ *modelHome, f frontendDriver) {
		f.asked("touch east.txt")
		sendMessageAs(f, "orch-3", "arbiter", "The west is spun")
		f.allow("touch east.txt")
		f.allow("touch looked.txt")
		sendMessageAs(f, "arbiter", "human", "Is it well?")
		f.say("", "", "all is woven")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "asks for Bash touch east.txt",
		"allow of Bash touch east.txt by human", "hands to orch-4: a part, proofs [], drawn up: false",
		"ends: succeeded by orch-4",
	},
	under: []string{"allow of Bash touch looked.txt by human", "asks for Bash touch looked.txt"},
}

// oneRuleForFour: four requests wait for the human at the same time, twice. One rule answers all of them, the first
// time given in an answer, the second time as a rule of the run.
var oneRuleForFour = seamPlay{
	name: "four requests settled by one rule",
	long: true,
	play: always(playOf(
		arbiter(append(summons("Spin all four."), on("All four are spun", releasesAll("All four were spun.")))),
		orchestrator("weaver", "", []object{hires("Spin the north.", "Spin the east.", "Spin the south.", "Spin the west."),
			handsOff("done", "All four are spun.", nil)}),
		subagent(on("Spin the (?P<side>north|east|south|west)", bash("git fetch {{.side}}")),
			bash("git branch {{.side}}"), says("It is spun.")))),
	human: func(_ *modelHome, f frontendDriver) {
		f.asked("git fetch north", "git fetch east", "git fetch south", "git fetch west")
		f.allowAll("Bash(git fetch *)", "git fetch west")
		f.asked("git branch north", "git branch east", "git branch south", "git branch west")
		f.addRule("Bash(git branch *)")
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`,
		"hands to arbiter: a part, proofs [], drawn up: false", "ends: enough",
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
	play: always(allowing([]string{"Bash(*)"},
		actor("arbiter-2", object{"role": "arbiter", "contains": "the first chair"}, []object{
			on("(?s)kind. inheritance.*took the session of.*sesame", asksHuman("The red or the blue?")),
			on("the red one", tells("orch-1", "Take the red one.")), on("kind. handoff", spawns("Take up the rest.")), patience,
			on("The rest is understood", tells("orch-2", "Begin.")), on("It is spun", asksHuman("Is it well?")),
			on("all is woven", releasesAll("The red one was spun."))}),
		actor("arbiter-1", object{"role": "arbiter"}, append(summons("Spin it."),
			on("Which thread", asksHuman("Which thread shall it be?")),
			on("consider it", with(asksHuman("It is considered."), "usage", object{"context": 143620})),
			object{"expect": "kind. renewal", "usage": object{"context": 143620}, "verdict": object{"decision": "HANDOFF",
				"message": "Another sees on.", "reason": "r", "handoff": object{"accomplished": []string{"one is summoned"},
					"remaining": []string{"the thread"}, "key_context": "the first chair"}}})),
		orchestrator("second", "Take up the rest", []object{question("The rest is understood."), done("It is spun.")}),
		orchestrator("first", "", []object{on("Spin it", question("Which thread?"))},
			on("Take the red one", proven(handsOff("handoff", "It is handed on.", []string{"the rest"},
				check("sh wait.sh", "`whole`")), "it is half")), says("I-shall-remember-it.")),
		anybody(says("I-shall-remember-it.")))),
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
		"takeover open: , 0 words", `hands to orch-2: a part, proofs ["verified"], drawn up: false`,
		"takeover ended: the human gave it back, 0 words", "ends: succeeded by orch-2",
	},
}

// parked: one Orchestrator has hit a usage limit that lasts an hour, another is steered by the human and hands
// off. A message of the human ends the wait.
var parked = seamPlay{
	onScreen: true,
	name:     "one parked by a limit, one handing off, and a human who steers",
	play: func() string {
		limit := fmt.Sprintf("Claude AI usage limit reached|%d", time.Now().Add(time.Hour).Unix())
		return allowing([]string{"Bash(*)"}, twoThreads(on("kind. handoff", spawns("Take up the rest."))),
			orchestrator("heir", "Take up the rest", []object{question("The rest is understood."),
				done("The west is spun.")}),
			orchestrator("east", "Spin the east", []object{{"fault": object{"status": 429, "message": limit}},
				on(`from. human[^⟧]*⟧\s+go on, east`, done("The east is spun."))}),
			orchestrator("west", "Spin the west", []object{
				bash("touch begun; while [ ! -e go ]; do sleep 0.05; done; echo half"),
				on("(?s)half.*mind the edge", proven(handsOff("handoff", "The west is handed on.", []string{"the rest"},
					check("test -e begun", "exit 0")), "it is begun"))}))
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
		"hands to arbiter: a part, proofs [], drawn up: false", "ends: enough"},
}

// asking: one Orchestrator asks a question that the human has reserved for themselves, while two others work.
// It is reported as a question, and stays open until the human answers, although the others are done by then
// and the Arbiter has decided on their work.
var asking = seamPlay{
	name: "a question to the human while two work",
	long: true,
	play: always(allowing([]string{"Bash(*)"},
		arbiter(summons("Unpick the old thread.", "Spin the west.", "Spin the north."),
			on("May the old thread go", asksHuman("You kept this for yourself: may the old thread go?")),
			on("(?s)kind. answer.*it may go", tells("orch-1", "It may go.")),
			on("The old thread is gone", complete("All three are done.")), patience),
		orchestrator("old", "Unpick the old", nil, on("It may go", done("The old thread is gone.")),
			question("May the old thread go?")),
		orchestrator("spinner", "Spin the (?P<side>west|north)", []object{on("Spin the (?P<side>west|north)",
			bash("while [ ! -e go ]; do sleep 0.05; done; echo spun")), done("The {{.side}} is spun.")}))),
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
		"hands to arbiter: a part, proofs [], drawn up: false", "ends: complete",
	},
}

// halting: the human stops the same command three times. None of these stops counts as a failure of the agent,
// and the fourth try completes the task.
var halting = seamPlay{
	name: "stopped by the human three times",
	long: true,
	play: always(allowing([]string{"Bash(*)"},
		arbiter(summons("Spin it."), on(`What now after the (?P<n>\d)`, rules("RETRY", "Take up try {{.n}}.", "to", "orch-1")),
			on("It is spun", complete("It is spun.")), patience),
		orchestrator("spinner", "", nil, on("Take up try 3", done("It is spun.")),
			on(`not like this, for the (?P<n>\d)`, question("What now after the {{.n}}?")),
			on(`Take up try (?P<n>\d)`, bash("touch begun-{{.n}}; exec sleep 1000")),
			bash("touch begun-0; exec sleep 1000")))),
	human: func(h *modelHome, f frontendDriver) {
		for n := range 3 {
			awaitFile(h.t, filepath.Join(h.work, fmt.Sprintf("begun-%d", n)))
			f.say("orch-1", contract.Stop, fmt.Sprintf("not like this, for the %d. time", n+1))
		}
	},
	first: []string{
		`spawned, generation 1, successor of "", resumed: false`, "hands to arbiter: a part, proofs [], drawn up: false",
		"ends: complete",
	},
}
