package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// The varieties of rounds. Rounds with a crash point to reach are of none of those that a flag sets.
const (
	acts     = "actions"
	loses    = "transcripts"
	refuses  = "refusals"
	mixed    = "makes"
	hosted   = "hosts"
	isolated = "isolated" // Orchestrators have their own directories
	decided  = "decided"  // a decider other than the Arbiter decides
	meddling = "hooks"    // hooks of the user's settings refuse messages and rewrite calls: the stand-in runs none
)

// varieties are those with a flag: one of so many rounds is of it, that with a certain rest, if it fits what is above.
var varieties = []struct {
	name, about string
	each, rest  uint64
	fits        func(r *round) bool
}{
	{hosted, "Orchestrators live on another host", 0, 0,
		func(r *round) bool { return r.claude == "" && !r.is[isolated] && !r.is[decided] }},
	// Writing needs permission there too, which the human grants late, and each agent hits a usage limit.
	{acts, "the human takes sessions over, halts, pauses, steers, changes words and settings, too", 5, 1,
		func(*round) bool { return true }},
	{loses, "transcripts are shortened, emptied and zero-filled between the processes", 5, 2,
		func(r *round) bool { return !r.is[hosted] }},
	{refuses, "the API refuses a session for good whose history has a certain message", 5, 3,
		func(r *round) bool { return !r.is[hosted] }},
	{mixed, "an Orchestrator is an agent of another make", 5, 0,
		func(r *round) bool { return !r.is[hosted] && !r.is[isolated] && !r.is[decided] }},
}

// choose determines of which varieties the round is.
func (r *round) choose() {
	r.f, r.rnd, r.is = newFigures(), rand.New(rand.NewPCG(r.seed, 17)), map[string]bool{}
	for rest, name := range map[uint64]string{2: isolated, 3: decided} {
		r.is[name] = helpFor(r.must).variety == name || r.must == "" && r.seed%4 == rest
	}
	for _, v := range varieties {
		each := r.o.each[v.name]
		r.is[v.name] = each != nil && *each > 0 && r.must == "" && r.seed%*each == v.rest%*each && v.fits(r)
	}
	r.is[meddling] = r.o.userHooks && r.claude != "" && !r.is[acts]
}

// refuser stands before the scripted model. It refuses every request of one session once its history contains a certain
// message, as the API refuses a history with an image that it cannot read.
type refuser struct {
	*httptest.Server
	mu      sync.Mutex
	token   string // of the message
	session string // the first that had it
	refused int
}

const refusal = `{"type":"error","error":{"type":"invalid_request_error","message":` +
	`"messages.1.content.0.image.source.base64.data: Could not process image"}}`

func newRefuser(model string) *refuser {
	r := &refuser{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: strings.TrimPrefix(model, "http://")})
	proxy.FlushInterval = -1
	proxy.ErrorLog = log.New(io.Discard, "", 0) // of clients that were killed
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		if r.refuses(body) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, refusal)
			return
		}
		q.Body, q.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, q)
	}))
	return r
}

var sessionOf = regexp.MustCompile(`session_id\\*":\s*\\*"([0-9a-f-]{36})`)

func (r *refuser) refuses(body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := sessionOf.FindSubmatch(body)
	if r.token == "" || found == nil || !bytes.Contains(body, []byte(r.token)) {
		return false
	}
	if r.session == "" {
		r.session = string(found[1])
	}
	if r.session != string(found[1]) {
		return false
	}
	r.refused++
	return true
}

// arm chooses the message, once.
func (r *refuser) arm(token string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token == "" {
		r.token = token
	}
}

// Damage to a transcript between two processes, as a power cut leaves it: Claude Code does not wait until it is on
// disk.
var damages = []func(text []byte, cut func(n int) int) []byte{
	func(text []byte, cut func(int) int) []byte { return text[:cut(len(text))] }, // in the middle of a line
	func([]byte, func(int) int) []byte { return nil },                            // empty
	func(text []byte, _ func(int) int) []byte { return make([]byte, len(text)) }, // zeroes
	func(text []byte, cut func(int) int) []byte { // zeroes at the end
		at := cut(len(text))
		return append(slices.Clone(text[:at]), make([]byte, len(text)-at)...)
	},
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)) },      // shorter by some lines
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)*1000) }, // or by nearly all
}

func withoutLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[:max(0, len(lines)-1-n)], nil)
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
	r.try(os.WriteFile(path, damages[kind](text, r.rnd.IntN), 0o600))
	session := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	r.damaged[session] = true
	r.f.n["transcripts damaged"]++
	r.logf("transcript of session %s is damaged (%d)", session, kind)
}

//go:embed userhooks.py
var userHook string

// prepareUserHooks writes the user's settings with the hooks. Each notes what it did as an empty file in a directory.
func (r *round) prepareUserHooks() {
	hook := []any{map[string]any{"type": "command",
		"command": fmt.Sprintf("python3 '%s' '%s'", r.path("hook.py"), r.path("hooks"))}}
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{
		"UserPromptSubmit": []any{map[string]any{"hooks": hook}},
		"PreToolUse":       []any{map[string]any{"matcher": "Bash", "hooks": hook}},
	}})
	r.try(err)
	r.write(map[string]string{"hook.py": userHook, "hooks/.": "", "home/.claude/settings.json": string(settings)})
}

// checkUserHooks checks that the log says which calls ran in another form, and that none ran that a hook refused.
func (r *round) checkUserHooks(all []contract.Line) {
	if !r.is[meddling] {
		return
	}
	notices, ended := "", map[string]bool{}
	for _, l := range all {
		switch b := l.Body.(type) {
		case contract.Notice:
			notices += b.Text
		case contract.ToolResult:
			ended[b.ToolUse] = !b.IsError
		}
	}
	notes, err := os.ReadDir(r.path("hooks"))
	r.try(err)
	for _, note := range notes {
		r.f.n["calls changed by hooks"]++
		switch kind, call, _ := strings.Cut(note.Name(), "-"); {
		case kind == "rewritten" && ended[call] && !strings.Contains(notices, ": rewritten "+call+"; "):
			r.bad("untrue ends", "the log does not say that call %s ran in another form", call)
		case kind == "call" && ended[call]:
			r.bad("untrue ends", "call %s succeeded, although a hook refused it", call)
		}
	}
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

// readMakes returns how often each message is in the histories of the other make, and all that they were told: more
// than once in one of them means that a session was given it twice.
func (r *round) readMakes() (most map[string]int, told string) {
	most = map[string]int{}
	paths, _ := filepath.Glob(r.path("home", ".fake-acp", "*[0-9]"))
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
	if !r.is[mixed] {
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
