package standin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// overload is the status of an overloaded API.
const overload = 529

// hiddenTries is how often a refused request (400) is repeated without a word:
// the CLI drops one set of beta headers after the other.
const hiddenTries = 5

// persistence decides whether a request is tried again, and how. The rules were
// observed with CLI 2.1.329, request by request.
type persistence struct {
	most     int  // announced retries
	failures int  // that count towards them
	refused  int  // 400s
	whole    bool // streams are given up: the answer is asked for in one piece
}

// another tells whether to try again, and whether to wait and say so first.
func (p *persistence) another(e *apiError) (again, announced bool) {
	switch {
	case e.status == http.StatusBadRequest && !e.tooLong() && p.refused < hiddenTries:
		p.refused++
		return true, false
	case e.status == http.StatusNotFound && !p.whole:
		p.whole = true
		return true, false
	case e.status >= 400 && e.status < 500 && e.status != http.StatusUnauthorized && e.status != http.StatusTooManyRequests:
		return false, false
	case e.garbled:
		again, p.whole = !p.whole, true
		return again, false
	case e.mid && !p.whole && e.status == http.StatusInternalServerError:
		p.failures++
		p.whole = true
		return true, false
	}
	most := p.most
	if e.status == overload {
		most = min(most, 2)
	}
	if p.failures++; p.failures <= most {
		return true, true
	}
	if e.mid && !p.whole {
		p.whole = true
		return true, false
	}
	return false, false
}

func readAPIError(resp *http.Response) *apiError {
	var w struct {
		Error struct{ Type, Message string }
	}
	raw, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	e := &apiError{status: resp.StatusCode}
	if json.Unmarshal(raw, &w) == nil {
		e.kind, e.message = w.Error.Type, w.Error.Message
	}
	if e.message == "" {
		e.message = strings.TrimSpace(string(raw))
	}
	if n, err := strconv.Atoi(resp.Header.Get("retry-after")); err == nil {
		e.after = time.Duration(n) * time.Second
	}
	return e
}

// class is the `error` field of frames about the failure.
func (e *apiError) class() string {
	switch {
	case e.tooLong(), e.local:
		return "invalid_request"
	case e.status == 401 || e.status == 403:
		return "authentication_failed"
	case e.status == 404:
		return "model_not_found"
	case e.status == 429:
		return "rate_limit"
	case e.status >= 500:
		return "server_error"
	}
	return "unknown"
}

func (e *apiError) tooLong() bool {
	return e.status == 400 && strings.HasPrefix(e.message, "prompt is too long")
}

// text is what the CLI says to its user.
func (e *apiError) text(model, gateway string) string {
	switch {
	case e.said != "":
		return e.said
	case e.tooLong():
		return "Prompt is too long · " + strings.TrimPrefix(e.message, "prompt is too long: ")
	case e.status == 0:
		return "API Error: " + e.message
	case e.status == 401 || e.status == 403:
		return fmt.Sprintf("Failed to authenticate. API Error: %d %s", e.status, e.message)
	case e.status == 404:
		return "There's an issue with the selected model (" + model + "): the API does not know it."
	case e.status == 429:
		return "API Error: Request rejected (429) · " + e.message
	case e.status >= 500:
		return fmt.Sprintf("API Error: %d %s (%s)", e.status, e.message, gateway)
	}
	return fmt.Sprintf("API Error: %d %s", e.status, e.message)
}
