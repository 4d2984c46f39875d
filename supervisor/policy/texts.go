package policy

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// maxText bounds the text that a rule is compared with; a longer one may end in anything.
const maxText = 4 << 10

// maxOptions bounds how many options before a subcommand are skipped.
const maxOptions = 16

// gone stands before a word that may be absent: an unquoted variable that is empty. It is followed by two
// characters that belong to it, a space and the hole.
const gone = '\x01'

// textsOf are the texts that a deny or ask rule is compared with: the command as its words say, by its path and
// by its name; without the options before a subcommand, so that a rule for "git push" also matches "git -C dir
// push"; and with the variables set for it.
func textsOf(c shell.Command) []string {
	texts := commandTexts(c.Words)
	if len(c.Assigns) > 0 {
		var b strings.Builder
		for _, a := range c.Assigns {
			b.WriteString(a.Name + "=" + a.Value.Text + " ")
		}
		texts = append(texts, bounded(b.String()+texts[0]))
	}
	return texts
}

func commandTexts(words []shell.Word) []string {
	full := joined(words)
	texts := []string{bounded(full)}
	name := baseName(words[0].Text)
	if name != words[0].Text {
		texts = append(texts, bounded(name+full[len(words[0].Text):]))
	}
	if !words[0].Known() {
		return texts
	}
	for i := 1; i < len(words) && i <= maxOptions; i++ {
		option := words[i].Text
		if !strings.HasPrefix(option, "-") {
			break
		}
		texts = append(texts, withoutOptions(name, words[i+1:]))
		if i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-") && !strings.Contains(option, "=") {
			i++ // perhaps the option's value
			texts = append(texts, withoutOptions(name, words[i+1:]))
		}
	}
	return texts
}

func withoutOptions(name string, rest []shell.Word) string {
	return bounded(joined(append([]shell.Word{{Text: name}}, rest...)))
}

// joined is the words with spaces between them, as deny and ask rules see them.
func joined(words []shell.Word) string {
	var b strings.Builder
	for i, w := range words {
		vanishes := w.Splits && w.Text == string(hole) && len(words) > 1
		switch {
		case vanishes && i == 0:
			b.WriteByte(gone)
			b.WriteByte(hole)
			b.WriteByte(' ')
		case vanishes:
			b.WriteByte(gone)
			b.WriteByte(' ')
			b.WriteByte(hole)
		case i > 0 && !(i == 1 && words[0].Splits && words[0].Text == string(hole)):
			b.WriteByte(' ')
			b.WriteString(w.Text)
		default:
			b.WriteString(w.Text)
		}
	}
	return b.String()
}

func bounded(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + string(hole)
	}
	return s
}

// blank stands for a space within a word, so that a word with spaces is not mistaken for several; empty stands
// for an empty word.
const (
	blank = '\x1f'
	empty = "\x1e"
)

// exact is the words as an allow rule sees them: each remains one word.
func exact(words []shell.Word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(exactWord(w.Text))
	}
	return b.String()
}

func exactWord(text string) string {
	if text == "" {
		return empty
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' || r == '\n' {
			return blank
		}
		return r
	}, text)
}

// exactPattern is the pattern of an allow rule in the same form: quotes are removed, and a quoted text remains
// one word. A pattern that is not a list of words is used as it is.
func exactPattern(spec string) string {
	if !strings.ContainsAny(spec, `'"\`) {
		return spec
	}
	line := shell.Parse(spec, shell.Bash)
	if line.Broken || len(line.Commands) != 1 || !line.Plain || len(line.Redirects) > 0 {
		return spec
	}
	words := line.Commands[0].Words
	for i, w := range words {
		words[i].Text = strings.ReplaceAll(w.Text, string(hole), "*")
		if strings.ContainsAny(w.Source, "*?[{$") && !w.Known() {
			words[i].Text = w.Source // wildcards are the rule's own, not the shell's
		}
	}
	return exact(words)
}
