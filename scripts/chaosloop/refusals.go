package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"sync"
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
