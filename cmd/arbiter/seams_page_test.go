package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// onPage is a run without a screen that is steered on its web page. The test reads the page's event stream, and
// sends the page's commands.
type onPage struct {
	*modelHome
	user *webUser
	run  string

	mu      sync.Mutex
	lines   []contract.Line
	changed chan struct{} // capacity 1
}

// openPage starts the run and opens its page.
func openPage(t *testing.T, h *modelHome) *onPage {
	t.Helper()
	run := strings.TrimSpace(h.output(append([]string{"--detach"}, h.args...)...))
	f := &onPage{modelHome: h, run: run, user: h.page(run), changed: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	req := testkit.Must(http.NewRequestWithContext(ctx, http.MethodGet, f.user.page+"/run/events", nil))(t)
	req.Header.Set("X-Arbiter-Key", f.user.key)
	answer := testkit.Must(f.user.client.Do(req))(t)
	var reading sync.WaitGroup
	reading.Go(func() { f.read(bufio.NewScanner(answer.Body)) })
	t.Cleanup(func() {
		cancel()
		_ = answer.Body.Close()
		reading.Wait()
	})
	return f
}

// read reads the lines of the stream until it ends.
func (f *onPage) read(s *bufio.Scanner) {
	s.Buffer(nil, 16<<20)
	kind := ""
	for s.Scan() {
		if name, ok := strings.CutPrefix(s.Text(), "event: "); ok {
			kind = name
		}
		data, ok := bytes.CutPrefix(s.Bytes(), []byte("data: "))
		if !ok || kind != "lines" {
			continue
		}
		var list []json.RawMessage
		if err := json.Unmarshal(data, &list); err != nil {
			f.t.Errorf("the page is sent %.200s: %v", data, err)
			return
		}
		f.mu.Lock()
		for _, raw := range list {
			line, err := contract.DecodeLine(raw)
			if err != nil {
				f.t.Errorf("the page is sent %.200s: %v", raw, err)
			}
			f.lines = append(f.lines, line)
		}
		f.mu.Unlock()
		select {
		case f.changed <- struct{}{}:
		default:
		}
	}
}

// seen returns the first line that fits.
func (f *onPage) seen(fits func(contract.Line) bool) (contract.Line, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.lines {
		if fits(l) {
			return l, true
		}
	}
	return contract.Line{}, false
}

func (f *onPage) first(what string, fits func(contract.Line) bool) contract.Line {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), seamTimeout)
	defer cancel()
	for {
		if l, ok := f.seen(fits); ok {
			return l
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			f.t.Fatalf("no %s\n%s", what, f.output("status", f.run))
		}
	}
}

func (f *onPage) await(what string, fits func(contract.Line) bool) {
	f.t.Helper()
	f.first(what, fits)
}

func (f *onPage) say(to, strength, text string) {
	f.t.Helper()
	f.user.sends(contract.Say{To: to, Strength: strength, Text: text})
}

// request waits for a permission request that contains a text, and returns its id.
func (f *onPage) request(text string) string {
	f.t.Helper()
	l := f.first("request for "+text, func(l contract.Line) bool {
		b, ok := l.Body.(contract.PermissionRequest)
		return ok && strings.Contains(string(b.Input), text)
	})
	return l.Body.(contract.PermissionRequest).Request
}

func (f *onPage) asked(text string) {
	f.t.Helper()
	f.request(text)
}

func (f *onPage) allow(text string) {
	f.t.Helper()
	f.user.sends(contract.Permit{Request: f.request(text), Behavior: "allow"})
}

func (f *onPage) allowAll(rule string, texts ...string) {
	f.t.Helper()
	last := ""
	for _, text := range texts {
		last = f.request(text)
	}
	f.user.sends(contract.Permit{Request: last, Behavior: "allow", Scope: contract.ScopeRun, Rule: rule})
}

// allowFromNowOn adds the rule from a terminal, since the page cannot change the run's rules.
func (f *onPage) allowFromNowOn(rule string, texts ...string) {
	f.t.Helper()
	for _, text := range texts {
		f.request(text)
	}
	f.addRule(f, rule)
}

// addRule adds a rule to the run's rules from another terminal, and waits until the rule has settled a request.
func (h *modelHome) addRule(f frontendDriver, rule string) {
	h.t.Helper()
	p := h.open("--plain")
	p.Type("/allow " + rule + "\n")
	f.await("permission by a rule", func(l contract.Line) bool {
		b, ok := l.Body.(contract.Permission)
		return ok && b.Rule == rule
	})
	p.HangUp()
}

func (f *onPage) end() []contract.Line {
	f.t.Helper()
	f.await("result", func(l contract.Line) bool {
		_, ok := l.Body.(contract.Result)
		return ok
	})
	awaitGone(f.t, f.run)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lines
}
