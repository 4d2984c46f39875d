package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Hole stands for a part of a text that the shell inserts: a variable's value, a command's output, the files
// that match a pattern. It can be any text. No command receives this character otherwise, because an argument
// cannot contain a NUL byte.
const Hole = '\x00'

// Dialect is the grammar of a line.
type Dialect int

// The dialects. Claude Code runs its Bash tool, and Arbiter its checks, with Bash; POSIX is for the text of sh
// -c, which is dash on many systems.
const (
	Bash Dialect = iota
	POSIX
)

// Line is what a command line may do.
type Line struct {
	Commands  []Command  // all that it may run, also inside substitutions and functions
	Redirects []Redirect // those to and from files; others, and /dev/null, are left out
	Assigned  []Assign   // variables that it sets other than by or before a command: for x in …

	// Doubts are the reasons why Commands may not be all that happens. A line without any only runs Commands
	// and opens Redirects.
	Doubts []string

	// Plain says that the line is one list of simple commands with ; | && and ||, without
	// assignments, substitutions, comments and line breaks.
	Plain bool

	// Broken says that the grammar could not be applied. Commands is empty then.
	Broken bool
}

// Command is one simple command.
type Command struct {
	Assigns []Assign // set for this command only, or for the shell if Words is empty
	Words   []Word   // the program, and its arguments

	// Keyword says that it is [[ … ]], which runs no program itself: there is none to allow.
	Keyword bool

	// Input is the text that a here-document or here-string gives it on standard input.
	Input *Word
}

// Assign is a variable that gets a value.
type Assign struct {
	Name  string
	Value Word
}

// Redirect is a file that is opened for a command.
type Redirect struct {
	File   Word
	Writes bool
}

// Word is a word as a command receives it.
type Word struct {
	Text   string // after quote removal, with Hole for unknown parts
	Source string // as it is written

	// Splits says that it may become several words, or none.
	Splits bool
	// Pattern says that all holes of Text come from a file name pattern, each for a part of one name.
	Pattern bool
	// Tilde says that the shell replaces the ~ at its beginning.
	Tilde bool
}

// Known says that nothing about the word is unknown.
func (w Word) Known() bool { return strings.IndexByte(w.Text, Hole) < 0 }

// Known says that all words are known.
func Known(words []Word) bool {
	return !slices.ContainsFunc(words, func(w Word) bool { return !w.Known() })
}

// Bounds of what is read. What is larger is Broken, so that reading never takes long.
const (
	maxSource   = 64 << 10
	maxNesting  = 1000
	maxCommands = 1000
)

// splitOperator finds a line that is continued within $x, << and the like, where the parser sees two tokens and
// bash joins them.
var splitOperator = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[$<>]\\\n`)
})

var continuedComment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(^|[\s;&|()])#[^\n]*\\\n`)
})

// Parse reads a command line.
func Parse(source string, d Dialect) Line {
	switch {
	case len(source) > maxSource:
		return broken("it is too long to be read")
	case strings.ContainsRune(source, 0):
		return broken("it has a NUL byte")
	case strings.ContainsFunc(source, isControl):
		return broken("it has control characters")
	case continuedComment().MatchString(source):
		return broken("it has a comment that ends in a backslash") // the parser continues such a comment
	case splitOperator().MatchString(source):
		return broken("it continues on the next line within an operator")
	case nesting(source) > maxNesting:
		return broken("it is nested too deeply to be read")
	}
	file, err := parse(source, d)
	if err != nil {
		return broken("it is not valid shell syntax")
	}
	r := reader{source: source, dialect: d, line: Line{Plain: !strings.Contains(strings.TrimSpace(source), "\n")}}
	r.statements(file.Stmts)
	if len(file.Last) > 0 {
		r.line.Plain = false
	}
	if r.cut != "" {
		return broken(r.cut)
	}
	return r.line
}

func broken(why string) Line { return Line{Broken: true, Doubts: []string{why}} }

// isControl recognises characters that a terminal does not show, and about which shells disagree: to bash a
// carriage return is an ordinary character, to the parser it can be part of a line's end.
func isControl(c rune) bool { return c < ' ' && c != '\n' && c != '\t' || c == 0x7f }

// nesting is the maximal number of open brackets and compound commands, quoted or not: a bound on how deeply
// the grammar nests.
func nesting(source string) int {
	depth, deepest := 0, 0
	for word := range strings.FieldsSeq(source) {
		switch word {
		case "if", "while", "until", "for", "select", "case":
			depth++
			deepest = max(deepest, depth)
		case "fi", "done", "esac", "fi;", "done;", "esac;":
			depth = max(depth-1, 0)
		}
	}
	depth = 0
	for i := range len(source) {
		switch source[i] {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

func parse(source string, d Dialect) (*syntax.File, error) {
	variant := syntax.LangBash
	if d == POSIX {
		variant = syntax.LangPOSIX
	}
	parser := syntax.NewParser(syntax.Variant(variant), syntax.KeepComments(true))
	return parser.Parse(strings.NewReader(source), "")
}
