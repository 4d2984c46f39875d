package host

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// TelemetryTrace identifies the trace of a run, and the spans in it that others refer to.
type TelemetryTrace struct {
	run     string
	id      string // 32 hexadecimal digits
	parent  string // of the run's span, 16 hexadecimal digits; "" if it has none
	dropped bool   // the program that started arbiter does not record this trace
}

// NewTrace returns the trace of a run. traceparent is the value with which arbiter itself was started, in the
// format of W3C Trace Context; an invalid value is ignored.
func NewTrace(run, traceparent string) TelemetryTrace {
	t := TelemetryTrace{run: run, id: hash(16, run)}
	version, rest, _ := strings.Cut(traceparent, "-")
	fields := strings.Split(rest, "-")
	if !isID(version, 2) || version == "ff" || len(fields) < 3 || version == "00" && len(fields) > 3 {
		return t
	}
	id, parent, flags := fields[0], fields[1], fields[2]
	if !isID(id, 32) || !isID(parent, 16) || !isID(flags, 2) ||
		strings.Trim(id, "0") == "" || strings.Trim(parent, "0") == "" {
		return t
	}
	sampled, err := strconv.ParseUint(flags, 16, 8)
	t.id, t.parent, t.dropped = id, parent, err == nil && sampled&1 == 0
	return t
}

// Traceparent returns the TRACEPARENT for an agent's process: the agent's span is the parent of its spans.
func (t TelemetryTrace) Traceparent(agent string, generation int) string {
	return t.traceparent(t.agent(agent, generation))
}

// traceparent returns the TRACEPARENT for a process whose spans belong below span.
func (t TelemetryTrace) traceparent(span string) string {
	flags := "01"
	if t.dropped {
		flags = "00"
	}
	return "00-" + t.id + "-" + span + "-" + flags
}

// agent returns the id of an agent's span.
func (t TelemetryTrace) agent(agent string, generation int) string {
	return t.span("agent", agent, strconv.Itoa(generation))
}

// span returns the id of a span that these parts identify in the run.
func (t TelemetryTrace) span(parts ...string) string {
	return hash(8, append([]string{t.run}, parts...)...)
}

// hash computes an id of bytes bytes, as hexadecimal digits.
func hash(bytes int, parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d %s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil)[:bytes])
}

// isID reports whether s has exactly digits lower-case hexadecimal digits.
func isID(s string, digits int) bool {
	return len(s) == digits && strings.Trim(s, "0123456789abcdef") == ""
}
