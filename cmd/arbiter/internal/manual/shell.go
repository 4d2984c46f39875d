package manual

import (
	"embed"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
)

// The scripts ask the program for each completion, through the command Ask. They have no commands or flags of their
// own.
//
//go:embed shell
var scripts embed.FS

// Ask is the hidden command that completion scripts call: `arbiter __complete SHELL LINE [BREAKS]`. LINE is the command
// line up to the cursor, and BREAKS the characters at which bash breaks words.
const Ask = "__complete"

// Shells are the shells with a completion script.
var Shells = []string{"bash", "zsh", "fish"}

// Script returns the completion script of a shell.
func Script(shell string) (string, error) {
	text, err := scripts.ReadFile("shell/completion." + shell)
	if err != nil {
		return "", fmt.Errorf("there is no completion for %q: use one of %s", shell, strings.Join(Shells, ", "))
	}
	return string(text), nil
}

// Complete writes the completions of a line for a shell: one word per line, and at the end which files to add. For
// bash, each word starts after the last word break in it.
func Complete(w io.Writer, app *cli.App, shell, line, breaks string, values Values) {
	words := Split(line)
	last := len(words) - 1
	word := words[last]
	o := Read(app, words[min(1, last):last]).offer(word, values)
	skip := 0
	if shell == "bash" {
		skip = strings.LastIndexAny(word, breaks) + 1
	}
	for _, e := range o.Words {
		switch {
		case strings.ContainsAny(e.Term, " \t\n'\"\\$`();&|<>*?[]#~!{}"): // it would need quotes
		case shell == "bash":
			fmt.Fprintln(w, e.Term[min(skip, len(e.Term)):])
		default:
			fmt.Fprintf(w, "%s\t%s\n", e.Term, wrap(e.Text, 70)[0])
		}
	}
	switch {
	case o.Files:
		fmt.Fprintln(w, ":files")
	case o.Dirs:
		fmt.Fprintln(w, ":dirs")
	}
}

// wordParts matches what words of a command line consist of, and the space between words. A quote may be open.
var wordParts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)[ \t]+|'([^']*)'?|"((?:[^"\\]|\\.)*)"?|\\(.?)|[^ \t'"\\]+`)
})

// Split splits a line into words like a shell, as far as quotes are concerned. The last word is the one being typed;
// it is empty after a space.
func Split(line string) []string {
	words, inside := []string{""}, false
	for _, m := range wordParts().FindAllStringSubmatch(line, -1) {
		word := &words[len(words)-1]
		switch part := m[0]; part[0] {
		case ' ', '\t':
			if inside {
				words = append(words, "")
			}
			inside = false
			continue
		case '"':
			*word += strings.NewReplacer(`\\`, `\`, `\`, "").Replace(m[2])
		case '\'', '\\':
			*word += m[1] + m[3]
		default:
			*word += part
		}
		inside = true
	}
	return words
}
