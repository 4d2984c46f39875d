package manual

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// PartialLine is an incomplete command line, parsed as the program would parse it.
type PartialLine struct {
	Command Command
	Given   map[string]string // flags before the word, with their values
	Args    []string          // arguments before the word
	Flag    *Flag             // the flag whose value is being typed
	Word    string            // the typed part of the word; for --flag=WORD, the part after =
	lead    string            // the part before Word: --flag=
	plain   bool              // after --
}

// Read parses the words before the one that is being typed, without the program's name, and the typed part of that
// word.
func Read(app *cli.App, words []string, word string) PartialLine {
	h := PartialLine{Command: Of(app), Given: map[string]string{}, Word: word}
	for len(words) > 0 {
		first := words[0]
		words = words[1:]
		switch {
		case h.plain || len(first) < 2 || first[0] != '-':
			if below, ok := h.Command.Below(first); ok && !h.plain && len(h.Args) == 0 {
				h.Command = below
			} else {
				h.Args = append(h.Args, first)
			}
		case first == "--":
			h.plain = true
		default:
			name, value, whole := strings.Cut(strings.TrimLeft(first, "-"), "=")
			f := h.flag(name)
			if f == nil || whole || f.Value == "" {
				h.Given[name] = value
				continue
			}
			if len(words) == 0 {
				h.Flag = f
				return h
			}
			h.Given[name], words = words[0], words[1:]
		}
	}
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(name, "--") && !h.plain {
		h.Flag, h.lead, h.Word = h.flag(name[2:]), name+"=", value
	}
	return h
}

func (h PartialLine) flag(name string) *Flag {
	for _, f := range h.Command.Flags {
		if slices.Contains(f.Names(), name) {
			found := FlagDoc(f)
			return &found
		}
	}
	return nil
}

// Offer has the possible completions of a word.
type Offer struct {
	Words       []Entry // Term is the complete word
	Files, Dirs bool    // also names of files, or of directories only; the shell completes them
}

// Values returns the possible values of a placeholder: RUN, AGENT, NAME …
type Values func(h PartialLine, what string) Offer

// Offer returns the completions of the word. Files are left to the shell.
func (h PartialLine) Offer(values Values) Offer {
	var o Offer
	switch {
	case h.Flag != nil:
		o = h.of(h.Flag.Value, values)
	case h.lead != "": // the flag is unknown or takes no value
	case strings.HasPrefix(h.Word, "-") && !h.plain:
		o = h.flags()
	default:
		o = h.arguments(values)
	}
	o.Words = slices.DeleteFunc(slices.Clone(o.Words), func(e Entry) bool { return !strings.HasPrefix(e.Term, h.Word) })
	for i := range o.Words {
		o.Words[i].Term = h.lead + o.Words[i].Term
	}
	return o
}

// of returns the possible values of a flag or argument, which may be of several kinds.
func (h PartialLine) of(value string, values Values) (o Offer) {
	if list := Choices(value); list != nil {
		for _, word := range list {
			o.Words = append(o.Words, Entry{Term: word})
		}
		return o
	}
	for what := range strings.SplitSeq(value, "|") {
		more := values(h, what)
		o.Words = append(o.Words, more.Words...)
		o.Files, o.Dirs = o.Files || more.Files, o.Dirs || more.Dirs
	}
	return o
}

// flags returns the flags that may still be given. Arbiter's own flags come before its arguments.
func (h PartialLine) flags() (o Offer) {
	if len(h.Command.Path) == 1 && len(h.Args) > 0 {
		return o
	}
	for _, f := range append(h.Command.FlagDocs(), Flag{Name: "help", About: "show this help"}) {
		if _, given := h.Given[f.Name]; !given || f.Repeats {
			o.Words = append(o.Words, Entry{"--" + f.Name, f.About})
		}
	}
	return o
}

// arguments returns the commands that may follow, and the values of the next argument.
func (h PartialLine) arguments(values Values) (o Offer) {
	if len(h.Args) > 0 && h.Args[0] == "help" && len(h.Command.Commands) > 0 {
		for _, word := range h.Args[1:] {
			h.Command, _ = h.Command.Below(word)
		}
		h.Args, h.Command.Args = nil, ""
	}
	if len(h.Args) == 0 && !h.plain {
		for _, c := range h.Command.Commands {
			o.Words = append(o.Words, Entry{c.Name, c.Usage})
		}
	}
	what, _, _ := strings.Cut(h.Command.Args, " | ")
	takes := strings.Fields(what)
	n := len(h.Args)
	if last := len(takes) - 1; last >= 0 && n > last && strings.Contains(takes[last], "…") {
		n = last
	}
	if n >= len(takes) {
		return o
	}
	more := h.of(strings.Trim(takes[n], "[]…"), values)
	for _, e := range more.Words {
		if !slices.Contains(h.Args, e.Term) &&
			!slices.ContainsFunc(o.Words, func(b Entry) bool { return b.Term == e.Term }) {
			o.Words = append(o.Words, e)
		}
	}
	o.Files, o.Dirs = more.Files, more.Dirs
	return o
}
