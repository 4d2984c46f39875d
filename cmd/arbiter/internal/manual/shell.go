package manual

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// The scripts ask the program for each completion, through the command Ask. They have no commands or flags of their
// own.
var (
	//go:embed shell/completion.bash
	bash string
	//go:embed shell/completion.zsh
	zsh string
	//go:embed shell/completion.fish
	fish string
)

// Ask is the hidden command that completion scripts call: `arbiter __complete SHELL …`.
const Ask = "__complete"

// Shells are the shells with a completion script.
var Shells = []string{"bash", "zsh", "fish"}

// Script returns the completion script of a shell.
func Script(shell string) (string, error) {
	switch shell {
	case "bash":
		return bash, nil
	case "zsh":
		return zsh, nil
	case "fish":
		return fish, nil
	}
	return "", fmt.Errorf("there is no completion for %q: use one of %s", shell, strings.Join(Shells, ", "))
}

// Asked parses the arguments of Ask: the words before the one that is being typed, without the program's name, and
// that word. Bash passes its word breaks and the line up to the cursor, because it also splits words at = and :.
// The other shells pass the words.
func Asked(args []string) (shell string, words []string, word string) {
	if len(args) == 0 {
		return "", nil, ""
	}
	shell, args = args[0], args[1:]
	if shell == "bash" && len(args) == 2 {
		args = split(args[1])
	}
	if shell == "bash" && len(args) > 0 {
		args = args[1:]
	}
	if len(args) == 0 {
		return shell, nil, ""
	}
	return shell, args[:len(args)-1], args[len(args)-1]
}

// Answer writes the offer for a shell: one word per line, and at the end which files to add. For bash, each word
// starts after the last word break in it; breaks and word are used for that only.
func Answer(w io.Writer, shell string, o Offer, breaks, word string) {
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
			fmt.Fprintf(w, "%s\t%s\n", e.Term, strings.Join(wrap(e.Text, 70)[:1], ""))
		}
	}
	switch {
	case o.Files:
		fmt.Fprintln(w, ":files")
	case o.Dirs:
		fmt.Fprintln(w, ":dirs")
	}
}

// split splits a line into words like a shell, as far as quotes are concerned. The last word is the one being
// typed; it is empty after a space.
func split(line string) []string {
	var words []string
	var word strings.Builder
	quote, escaped, inside := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inside = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, inside = r, true
		case r == ' ' || r == '\t':
			if inside {
				words = append(words, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteRune(r)
			inside = true
		}
	}
	return append(words, word.String())
}
