package driver

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestSecretsOf(t *testing.T) {
	testkit.Same(t, "", secretsOf([]string{"ANTHROPIC_API_KEY=sk-12345678", "DEBUG_AUTH=1", "PATH=/usr/bin:/bin"}),
		map[string]string{"sk-12345678": "ANTHROPIC_API_KEY"})
}

func TestStderrLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		l := NewStderrLog(func(line string) { lines = append(lines, line) })
		l.Drain(strings.NewReader(strings.Repeat("x\n\n", 100) + strings.Repeat("y", 5000) + "\nlast\n"))
		testkit.Check(t, len(lines) == StderrBurst+1 && lines[StderrBurst] == "(82 lines left out)",
			"%d lines, the last %q", len(lines), lines[len(lines)-1])
		tail := strings.Split(l.Tail(), "\n")
		testkit.Check(t, len(tail) == StderrLines && tail[len(tail)-1] == "last" &&
			len(tail[len(tail)-2]) == StderrLine, "tail of %d lines: %.100q", len(tail), tail)
	})
}

// TestStderrKey: no line of a private key is passed on or kept, however long the key is.
func TestStderrKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const key = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n"
		var lines []string
		l := NewStderrLog(func(line string) { lines = append(lines, line) })
		l.Drain(strings.NewReader("before\n" + key + strings.Repeat("MIIEvQIBADANBgkqhkiG9w0B\n", 100) +
			"SHORT==\n-----END RSA PRIVATE KEY-----\nafter it\n"))
		for what, text := range map[string]string{"passed on": strings.Join(lines, "\n"), "kept": l.Tail()} {
			testkit.Excludes(t, what, text, "MIIEvQ")
			testkit.Excludes(t, what, text, "SHORT")
			testkit.Check(t, strings.HasPrefix(text, "before\n-----BEGIN RSA") &&
				strings.HasSuffix(text, "KEY-----\nafter it"), "%s: %q", what, text)
		}
		testkit.Includes(t, "passed on", strings.Join(lines, "\n"), "(101 lines left out)")
	})
}
