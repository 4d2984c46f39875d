package rehearsal

import (
	"context"
	"encoding/json"
	"net/http"
)

// deliver writes the reply of a step, or its fault. If the real connection would be cut, it aborts the
// connection (http.ErrAbortHandler).
func (r reply) deliver(ctx context.Context, w http.ResponseWriter, c *call) error {
	if err := wait(ctx, r.delay); err != nil {
		return err
	}
	if f := r.fault; f != nil {
		if err := wait(ctx, f.stall); err != nil {
			return err
		}
		if f.status != 0 {
			for k, v := range f.headers {
				w.Header().Set(k, v)
			}
			kind := f.errorType
			if kind == "" {
				kind = errorType(f.status)
			}
			if c.chat {
				chatError(w, f.status, kind, r.faultMessage("Rehearsed failure."))
				return nil
			}
			writeError(w, f.status, kind, r.faultMessage("Rehearsed failure."))
			return nil
		}
	}
	for k, v := range r.headers {
		w.Header().Set(k, v)
	}
	if !c.Stream {
		return r.deliverWhole(ctx, w, c)
	}
	return r.deliverStream(ctx, w, c.Model)
}

func (r reply) faultMessage(otherwise string) string {
	if r.faultText != "" {
		return r.faultText
	}
	return otherwise
}

func (r reply) deliverStream(ctx context.Context, w http.ResponseWriter, model string) error {
	f := r.fault
	if f == nil {
		f = &fault{}
	}
	s := newStream(ctx, w)
	for i, e := range r.events(model) {
		if f.cutAfter > 0 && i == f.cutAfter {
			panic(http.ErrAbortHandler)
		}
		if err := s.send(e); err != nil {
			return err
		}
		// After message_start and the ping, the client knows that a stream has begun.
		if i == 1 {
			if err := r.breakStream(s, f); err != nil || f.garbage || f.errorEvent != "" {
				return err
			}
		}
		if e.gap {
			if err := wait(ctx, r.chunkDelay); err != nil {
				return err
			}
		}
	}
	return nil
}

// breakStream applies a fault in the middle of the stream.
func (r reply) breakStream(s *stream, f *fault) error {
	switch {
	case f.garbage:
		return s.raw("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\n\n" +
			"event: content_block_delta\ndata: not json at all\n\n")
	case f.errorEvent != "":
		return s.send(event{name: "error", data: errorBody(f.errorEvent, r.faultMessage("Rehearsed failure."))})
	}
	return wait(s.ctx, f.stallMid)
}

// deliverWhole writes the reply without streaming. The CLI requests that after a stream failed, so every
// fault has its counterpart here.
func (r reply) deliverWhole(ctx context.Context, w http.ResponseWriter, c *call) error {
	if f := r.fault; f != nil {
		switch {
		case f.cutAfter > 0:
			panic(http.ErrAbortHandler)
		case f.garbage:
			w.Header().Set("Content-Type", "application/json")
			_, err := w.Write([]byte(`{"type":"message",`))
			return err
		case f.errorEvent != "":
			writeError(w, errorStatus(f.errorEvent), f.errorEvent, r.faultMessage("Rehearsed failure."))
			return nil
		}
		if err := wait(ctx, f.stallMid); err != nil {
			return err
		}
	}
	if c.chat {
		return writeJSON(w, http.StatusOK, r.chatAnswer(c.Model))
	}
	return writeJSON(w, http.StatusOK, r.whole(c.Model))
}

var errorTypes = []struct {
	status int
	kind   string
}{
	{400, "invalid_request_error"},
	{401, "authentication_error"},
	{403, "permission_error"},
	{404, "not_found_error"},
	{413, "request_too_large"},
	{429, "rate_limit_error"},
	{500, "api_error"},
	{504, "timeout_error"},
	{529, "overloaded_error"},
}

func errorType(status int) string {
	for _, e := range errorTypes {
		if e.status == status {
			return e.kind
		}
	}
	if status < 500 {
		return "invalid_request_error"
	}
	return "api_error"
}

func errorStatus(kind string) int {
	for _, e := range errorTypes {
		if e.kind == kind {
			return e.status
		}
	}
	return http.StatusInternalServerError
}

func errorBody(kind, message string) object {
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func writeError(w http.ResponseWriter, status int, kind, message string) {
	body := errorBody(kind, message)
	body["request_id"] = w.Header().Get("Request-Id")
	// The client may have gone; then the error cannot be reported.
	_ = writeJSON(w, status, body)
}

func writeJSON(w http.ResponseWriter, status int, body object) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err = w.Write(b)
	return err
}
