package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The varieties of rounds. Rounds with a crash point to reach are of none of those that a flag sets.
const (
	acts     = "actions"
	loses    = "transcripts"
	mixed    = "makes"
	hosted   = "hosts"
	isolated = "isolated" // Orchestrators have their own directories
	decided  = "decided"  // a decider other than the Arbiter decides
)

type variety struct {
	name string
	each *uint64
	rest uint64
	fits func(r *round) bool
}

// varieties are those with a flag: one of so many rounds is of it, that with a certain rest, if it fits what is above.
var varieties = []variety{
	{hosted, flag.Uint64(hosted, 0, "in one of so many rounds Orchestrators live on another host (0: in none)"), 0,
		func(r *round) bool { return r.claude == "" && !r.is[isolated] && !r.is[decided] }},
	// Writing needs permission there too, which the human grants late, and each agent hits a usage limit.
	{acts, flag.Uint64(acts, 5, "in one of so many rounds the human takes over, halts, pauses, steers and stops"), 1,
		func(*round) bool { return true }},
	{loses, flag.Uint64(loses, 5, "in one of so many rounds transcripts are cut, emptied and zero-filled"), 2,
		func(r *round) bool { return !r.is[hosted] }},
	{mixed, flag.Uint64(mixed, 5, "in one of so many rounds an Orchestrator is an agent of another make"), 0,
		func(r *round) bool { return !r.is[hosted] && !r.is[isolated] && !r.is[decided] }},
}

// choose determines of which varieties the round is.
func (r *round) choose() {
	r.f, r.rnd, r.is = newFigures(), rand.New(rand.NewPCG(r.seed, 17)), map[string]bool{}
	for rest, name := range map[uint64]string{2: isolated, 3: decided} {
		r.is[name] = needOf(r.must).variety == name || r.must == "" && r.seed%4 == rest
	}
	for _, v := range varieties {
		r.is[v.name] = *v.each > 0 && r.must == "" && r.seed%*v.each == v.rest%*v.each && v.fits(r)
	}
}

// damages are what a power cut leaves of a transcript: Claude Code does not wait until it is on disk. at is a place in
// it.
var damages = []func(text []byte, at int) []byte{
	func([]byte, int) []byte { return nil },                                                   // empty
	func(text []byte, at int) []byte { return text[:at] },                                     // cut in a line
	func(text []byte, at int) []byte { clear(text[at:]); return text },                        // zeroes at the end
	func(text []byte, at int) []byte { return text[:bytes.LastIndexByte(text[:at], '\n')+1] }, // without the last lines
}

// loseTranscript damages the transcript of an agent's session, at random, while no process of the run lives.
func (r *round) loseTranscript() {
	paths, _ := filepath.Glob(r.path("home", ".claude", "projects", "*", "*.jsonl"))
	if !r.is[loses] || r.rnd.IntN(2) == 0 || len(paths) == 0 {
		return
	}
	path := paths[r.rnd.IntN(len(paths))]
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return
	}
	kind := r.rnd.IntN(len(damages))
	r.try(os.WriteFile(path, damages[kind](text, r.rnd.IntN(len(text))), 0o600))
	r.f.n["transcripts damaged"]++
	r.logf("transcript %s is damaged (%d)", filepath.Base(path), kind)
}

// fakeMake is the argument with which this program plays an agent of another make.
const fakeMake = "fake-acp"

// In a mixed round, the western thread is spun by an agent of another make. It does what its prompt says, and what is
// left after a kill an Orchestrator of Claude mends.
const (
	westOfClaude = `{prompt: "Spin the western thread."}`
	westOfMake   = `{make: other, prompt: 'Spin the western thread. [[shell echo begun >> west.log]]
              [[tool report_progress|{"message":"The western thread is begun."}]]
              [[shell python3 -c "import time; time.sleep(0.2)"; echo west > west.part && mv west.part west.txt]]
              [[verdict {"kind":"done","expects_response":true,"message":"The western thread is woven.","handoff":
              {"accomplished":["west.txt"],"remaining":[],"key_context":"All there.","files":["west.txt"],
              "checks":[{"command":"cat west.txt","expect":"` + "`west`" + `"}],
              "claims":[{"claim":"the west is woven","verified":true,"check":1}]}}]]'}`
)

// prepareMake configures the other make, which this program plays, and returns the job.
func (r *round) prepareMake() string {
	self, err := os.Executable()
	r.try(err)
	text := strings.Replace(job, westOfClaude, westOfMake, 1)
	if text == job {
		r.fail("the job does not begin the western thread")
	}
	r.f.n["rounds with another make"]++
	r.config = []string{"--config", r.path("config.yaml")}
	r.write(map[string]string{"config.yaml": fmt.Sprintf(
		"makes:\n  other:\n    like: opencode\n    command: ['%s', %s]\n", self, fakeMake)})
	return text
}

// readMakes returns what the agents of the other make were told, in the form of requests to a model: each history is a
// session.
func (r *round) readMakes() (list []rehearsal.Request) {
	paths, _ := filepath.Glob(r.path("home", ".fake-acp", "*[0-9]"))
	for _, path := range paths {
		var history []struct{ User string }
		raw, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(raw, &history)
		}
		told := ""
		for _, e := range history {
			told += e.User + "\n"
		}
		messages, bad := json.Marshal([]map[string]string{{"role": "user", "content": told}})
		r.try(err, bad)
		list = append(list, rehearsal.Request{Session: filepath.Base(path), Role: rehearsal.RoleOrchestrator,
			Incoming: told, Messages: messages})
	}
	return list
}

// checkMakes checks the messages to agents of the other make. It is only known that they were written: an agent that
// was killed before it read one has to be given it again before it ends a turn.
func (r *round) checkMakes(all []contract.Line, requests []rehearsal.Request) {
	of, open := map[string]bool{}, map[string][]string{}
	for _, l := range all {
		switch b := l.Body.(type) {
		case contract.Spawn:
			of[l.ID] = b.Make == "other"
		case contract.Delivered:
			if of[l.ID] {
				r.f.n["messages written to it"]++
				open[l.ID] = append(open[l.ID], b.MessageID)
			}
		case contract.Turn:
			if b.Outcome != bridge.TurnDone {
				continue
			}
			for _, id := range open[l.ID] {
				if !slices.ContainsFunc(requests, func(q rehearsal.Request) bool {
					return strings.Contains(q.Incoming, "| id: "+id)
				}) {
					r.bad("lost", "lost: message %s was written to %s, which ended a turn without it", id, l.ID)
				}
			}
			delete(open, l.ID)
		}
	}
}

// prepareHost makes this machine a host: a command with its own home and search path. Processes there have the
// round's mark, so that they are found and killed like local ones. Its lease is the shortest, since each process waits
// for it.
func (r *round) prepareHost() {
	r.write(map[string]string{"far/bin/.": "", "far/home/.": "", "far/tmp/.": "", "config.yaml": fmt.Sprintf(
		"hosts:\n  box:\n    command: [env, -i, 'ARBITER_CHAOS=%[1]s', 'HOME=%[1]s/far/home', 'TMPDIR=%[1]s/far/tmp', "+
			"'PATH=%[1]s/far/bin:/usr/local/bin:/usr/bin:/bin']\n    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, "+
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC, DISABLE_AUTOUPDATER]\n", r.dir)})
	r.try(os.Symlink(r.bin, r.path("far", "bin", "arbiter")), os.Symlink(r.player, r.path("far", "bin", "claude")))
	r.args, r.config = append(r.args, "--hosts", "box", "--lease", "5s"), []string{"--config", r.path("config.yaml")}
}
