package manual

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
)

// The scripts ask the program at each Tab, by Ask: they know no command and no flag.
var (
	//go:embed shell/completion.bash
	bash string
	//go:embed shell/completion.zsh
	zsh string
	//go:embed shell/completion.fish
	fish string
)

// Ask is the hidden command by which a shell asks: `arbiter __complete SHELL …`.
const Ask = "__complete"

// Shells are those there is a script for.
var Shells = []string{"bash", "zsh", "fish"}

// Script is what a shell is to load.
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

// Asked are the words of a question: those before the one that is being typed, without the
// program's name, and that one. Bash hands over its word breaks and the line up to the
// cursor, since it splits words also at = and :; the others hand over the words.
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

// Answer tells a shell the offer, a word a line, and last what is to be added from files.
// Bash gets each word from its own last break on; breaks and word are for it.
func Answer(w io.Writer, shell string, o Offer, breaks, word string) {
	skip := 0
	if shell == "bash" {
		skip = strings.LastIndexAny(word, breaks) + 1
	}
	for _, e := range o.Words {
		switch {
		case strings.ContainsAny(e.Term, " \t\n'\"\\$`();&|<>*?[]#~!{}"): // never typed unquoted
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

// split makes words of a line as a shell does, as far as quotes go; the last one is what
// is being typed, empty after a space.
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
