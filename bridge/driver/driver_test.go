package driver

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestCut(t *testing.T) {
	testkit.Same(t, "cut in mid-rune", "a", Cut("aé", 2))
}

func TestSecretsOf(t *testing.T) {
	testkit.Same(t, "", secretsOf([]string{"ANTHROPIC_API_KEY=sk-12345678", "DEBUG_AUTH=1", "PATH=/usr/bin:/bin"}),
		map[string]string{"sk-12345678": "ANTHROPIC_API_KEY"})
}

func TestStderrLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		l := NewStderrLog(func(line string) { lines = append(lines, line) })
		l.Drain(strings.NewReader(strings.Repeat("x\n\n", 100) + strings.Repeat("y", 5000) + "\nlast\n"))
		if len(lines) != StderrBurst+1 || lines[StderrBurst] != "(82 lines left out)" {
			t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
		}
		tail := strings.Split(l.Tail(), "\n")
		testkit.Check(t, len(tail) == StderrLines && tail[len(tail)-1] == "last" &&
			len(tail[len(tail)-2]) == StderrLine, "tail of %d lines: %.100q", len(tail), tail)
	})
}
