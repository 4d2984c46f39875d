package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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

// isMixed reports whether agents of two makes work in this round.
func (r *round) isMixed() bool {
	return r.o.makes > 0 && r.must == "" && !r.hosted && !r.isolated && !r.asks && r.seed%r.o.makes == 0
}

func (r *round) makesFile() string { return filepath.Join(r.dir, "makes.yaml") }

// prepareMake configures the other make, and returns the job in which it works.
func (r *round) prepareMake(job []byte) ([]byte, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	mixed := strings.Replace(string(job), westOfClaude, westOfMake, 1)
	if mixed == string(job) {
		return nil, fmt.Errorf("the job does not begin the western thread")
	}
	r.f.n["rounds with another make"]++
	text := fmt.Sprintf("makes:\n  other:\n    like: opencode\n    command: ['%s', %s]\n", self, fakeMake)
	return []byte(mixed), os.WriteFile(r.makesFile(), []byte(text), 0o600)
}

// readMakes returns how often each message is in the histories of the other make, and all that they were told: more
// than once in one of them means that a session was given it twice.
func (r *round) readMakes() (most map[string]int, told string) {
	most = map[string]int{}
	paths, _ := filepath.Glob(filepath.Join(r.dir, "home", ".fake-acp", "*[0-9]"))
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		var history []struct{ User string }
		if err == nil {
			err = json.Unmarshal(raw, &history)
		}
		if err != nil {
			r.fail("history of the other make: %v", err)
		}
		in := map[string]int{}
		for _, e := range history {
			told += e.User + "\n"
			for _, m := range envelopeID.FindAllStringSubmatch(e.User, -1) {
				in[m[1]]++
				most[m[1]] = max(most[m[1]], in[m[1]])
			}
		}
	}
	return most, told
}

// checkMakes checks the messages to agents of the other make. It is only known that they were written: an agent that
// was killed before it read one has to be given it again before it ends a turn, and none is given one twice.
func (r *round) checkMakes(all []contract.Line) {
	if !r.isMixed() {
		return
	}
	of, open := map[string]bool{}, map[string][]string{}
	seen, _ := r.readMakes()
	for id, n := range seen {
		if n > 1 {
			r.bad("doubled", "an agent of the other make was given message %s %d times", id, n)
		}
	}
	for _, l := range all {
		switch b := l.Body.(type) {
		case contract.Spawn:
			of[l.ID] = b.Make == "other"
		case contract.Delivered:
			if !of[l.ID] {
				continue
			}
			if b.Proof != bridge.ProofWritten {
				r.bad("untrue ends", "message %s to the other make was delivered by proof %q", b.MessageID, b.Proof)
			}
			r.f.n["messages written to it"]++
			open[l.ID] = append(open[l.ID], b.MessageID)
		case contract.Turn:
			if !of[l.ID] || b.Outcome != bridge.TurnDone {
				continue
			}
			for _, id := range open[l.ID] {
				if seen[id] == 0 {
					r.bad("lost", "lost: message %s was written to %s, which ended a turn without it", id, l.ID)
				}
			}
			open[l.ID] = nil
		}
	}
}
