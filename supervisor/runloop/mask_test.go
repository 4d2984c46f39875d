package runloop

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
)

// maskASecret is made up.
const maskASecret = "sk-ant-api03-madeup0000madeup0000madeup0000-AA"

// TestJSON: JSON stays JSON, even where escapes hide letters.
func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"x ` + maskASecret + ` y"}`:                                            `{"a":"x sk-ant-*redacted:46* y"}`,
		`{"password":"hunter2hunter2","b":[1]}`:                                      `{"password":"*redacted:14*","b":[1]}`,
		`{"a":"\u0073k-ant-` + maskASecret[7:] + `"}`:                                `{"a":"sk-ant-*redacted:46*"}`,
		`{"` + maskASecret + `":"\u0041"}`:                                           `{"sk-ant-*redacted:46*":"A"}`,
		`{"a":"x ` + maskASecret[:20] + `\u001b[m` + maskASecret[20:] + `"}`:         `{"a":"x sk-ant-*redacted:46*"}`,
		`{"a":"x ` + maskASecret[:30] + `\u200b` + maskASecret[30:] + `\u001b[31m"}`: `{"a":"x sk-ant-*redacted:46*"}`,
		`{"password":"hunter2\u001b[mhunter2","b":1}`:                                `{"password":"*redacted:22*","b":1}`,
		`{"a":"\u0041","n":1.50}`:                                                    `{"a":"\u0041","n":1.50}`,
		`no JSON ` + maskASecret:                                                     `no JSON sk-ant-*redacted:46*`,
		`null`:                                                                       `null`,
	} {
		if got := string(maskJSON([]byte(in), sanitize.Redact)); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

// TestPieces: a secret that comes in pieces is not reported in pieces, wherever it is cut, and other text is
// reported once.
func TestPieces(t *testing.T) {
	const text = "The key is " + maskASecret + " and\npassword: hunter2hunter2\nthat is all. "
	for size := 1; size < 40; size++ {
		var p Pieces
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			if e, ok := p.Event(bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1"},
				Body: bridge.Delta{Text: rest[:n]}}, sanitize.Redact); ok {
				got.WriteString(e.Body.(bridge.Delta).Text)
			}
			rest = rest[n:]
		}
		if want := sanitize.Redact(text); got.String() != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got.String(), want)
		}
	}
	var p Pieces
	pem := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ\n", 20)
	var got strings.Builder
	for line := range strings.Lines(pem) {
		if e, ok := p.Event(bridge.Event{Body: bridge.Delta{Text: line}}, sanitize.Redact); ok {
			got.WriteString(e.Body.(bridge.Delta).Text)
		}
	}
	if strings.Contains(got.String(), "MIIEvQ") {
		t.Errorf("a key line by line: %q", got.String())
	}
}
