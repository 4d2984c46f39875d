package main

import (
	"strings"
	"testing"
)

func TestFlagsGoFirst(t *testing.T) {
	app := env{}.app()
	for _, c := range []struct{ words, want string }{
		{"replay RUN --decisions", "replay --decisions RUN"},
		{"replay RUN --decisions --only 1,2 --json", "replay --decisions --only 1,2 --json RUN"},
		{"decide --explain RUN --number 3", "decide --explain --number 3 RUN"},
		{"decide RUN --number=3", "decide --number=3 RUN"},
		{"decide --input -", "decide --input -"},
		{"decide - --json", "decide --json -"},
		{"sessions show RUN --json", "sessions show --json RUN"},
		{"sessions --json ls", "sessions --json ls"},
		{"--state-dir replay replay RUN --decisions", "--state-dir replay replay --decisions RUN"},
		{"--debug replay RUN --unknown x", "--debug replay --unknown RUN x"},
		{"replay RUN -- --decisions", "replay RUN -- --decisions"},
		{"replay RUN --only", "replay --only"}, // a value is missing, and is said to be
		{"--json --task decide", "--json --task decide"},
		{"REQUIREMENTS.md --json", "REQUIREMENTS.md --json"}, // no command: refused with a reason
		{"", ""},
		{"--task", "--task"},
	} {
		got := flagsFirst(append([]string{"arbiter"}, strings.Fields(c.words)...), app)
		if text := strings.Join(got[1:], " "); text != c.want {
			t.Errorf("%q becomes %q, want %q", c.words, text, c.want)
		}
	}
}

func TestHelpIsAskedForByAWord(t *testing.T) {
	for words, want := range map[string]string{
		"help":             "arbiter COMMAND",
		"help attach":      "arbiter attach - ",
		"help grants rm":   "arbiter grants rm - ",
		"grants rm --help": "NUMBER|RULE",
		"logs --help":      "--verify FILE",
	} {
		var out, errs strings.Builder
		if code := run(append([]string{"arbiter"}, strings.Fields(words)...), strings.NewReader(""), &out, &errs); code != 0 || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, %s%s", words, code, out.String(), errs.String())
		}
	}
}
