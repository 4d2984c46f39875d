package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"log"
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

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

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

func newRefuser(model string) (*refuser, error) {
	target, err := url.Parse(model)
	if err != nil {
		return nil, err
	}
	r := &refuser{}
	proxy := httputil.NewSingleHostReverseProxy(target)
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
	return r, nil
}

var sessionOf = regexp.MustCompile(`session_id\\*":\s*\\*"([0-9a-f-]{36})`)

func (r *refuser) refuses(body []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := sessionOf.FindSubmatch(body)
	if r.token == "" || found == nil || !bytes.Contains(body, []byte(r.token)) {
		return false
	}
	session := string(found[1])
	if r.session == "" {
		r.session = session
	}
	if r.session != session {
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

func (r *refuser) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

func (r *round) isRefused() bool {
	return r.o.refusals > 0 && r.must == "" && !r.hosted && r.seed%r.o.refusals == 3%r.o.refusals
}

// Damage to a transcript between two processes, as a power cut leaves it: Claude Code does not wait until it is on
// disk.
var damages = []func(text []byte, cut func(n int) int) []byte{
	func(text []byte, cut func(int) int) []byte { return text[:cut(len(text))] },             // in the middle of a line
	func([]byte, func(int) int) []byte { return nil },                                        // empty
	func(text []byte, _ func(int) int) []byte { return make([]byte, len(text)) },             // zeroes
	func(text []byte, cut func(int) int) []byte { return zeroed(text, cut(len(text))) },      // zeroes at the end
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)) },      // shorter by some lines
	func(text []byte, cut func(int) int) []byte { return withoutLines(text, 1+cut(6)*1000) }, // or by nearly all
}

func zeroed(text []byte, from int) []byte {
	text = slices.Clone(text)
	clear(text[from:])
	return text
}

func withoutLines(text []byte, n int) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	return bytes.Join(lines[:max(0, len(lines)-1-n)], nil)
}

// losesTranscripts reports whether transcripts are damaged in this round. Its forced crash points need them.
func (r *round) losesTranscripts() bool {
	return r.o.transcripts > 0 && r.must == "" && !r.hosted && r.seed%r.o.transcripts == 2%r.o.transcripts
}

// loseTranscript damages the transcript of an agent's session, at random, while no process of the run lives.
func (r *round) loseTranscript() {
	if !r.losesTranscripts() || r.rnd.IntN(2) == 0 {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(r.dir, "home", ".claude", "projects", "*", "*.jsonl"))
	if len(paths) == 0 {
		return
	}
	path := paths[r.rnd.IntN(len(paths))]
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return
	}
	kind := r.rnd.IntN(len(damages))
	if err := os.WriteFile(path, damages[kind](text, r.rnd.IntN), 0o600); err != nil {
		r.fail("damage a transcript: %v", err)
		return
	}
	session := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	r.damaged[session] = true
	r.f.n["transcripts damaged"]++
	r.logf("  %s: transcript of session %s is damaged (%d)", r.name(), session, kind)
}

//go:embed userhooks.py
var userHook []byte

// interferes reports whether hooks of the user's settings refuse messages and rewrite calls in this round. The stand-in
// runs no such hooks.
func (r *round) interferes() bool { return r.o.userHooks && r.claude != "" && !r.acts() }

// prepareUserHooks writes the settings with those hooks.
func (r *round) prepareUserHooks() error {
	home := filepath.Join(r.dir, "home", ".claude")
	for _, dir := range []string{home, r.hooksNoted()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	script := filepath.Join(r.dir, "hook.py")
	if err := os.WriteFile(script, userHook, 0o600); err != nil {
		return err
	}
	hook := []any{map[string]any{"type": "command", "command": fmt.Sprintf("python3 '%s' '%s'", script, r.hooksNoted())}}
	settings, err := json.Marshal(map[string]any{"hooks": map[string]any{
		"UserPromptSubmit": []any{map[string]any{"hooks": hook}},
		"PreToolUse":       []any{map[string]any{"matcher": "Bash", "hooks": hook}},
	}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "settings.json"), settings, 0o600)
}

// hooksNoted is the directory with an empty file for each thing that a hook did.
func (r *round) hooksNoted() string { return filepath.Join(r.dir, "hooks") }

// checkUserHooks checks that the log says which calls ran in another form, and that none ran that a hook refused.
func (r *round) checkUserHooks(all []contract.Line) {
	if !r.interferes() {
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
	notes, err := os.ReadDir(r.hooksNoted())
	if err != nil {
		r.fail("%v", err)
	}
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
