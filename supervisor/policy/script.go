package policy

import "strings"

// script is a command line taken apart, far enough to hold rules against it. It is
// no shell: what it does not know for sure it calls a doubt, and what it cannot
// read at all it cuts up without regard to quotes.
type script struct {
	line     string // blanks folded
	commands []simple
	targets  []string // of redirections
	top      int      // so many of them stand in the line itself, the rest inside of others
	doubt    bool     // it does more than the commands of the line say
	opaque   bool     // it may run anything
}

// simple is one command between operators.
type simple struct {
	raw   string   // as written, blanks folded, harmless redirections left out
	words []string // as the command would get them, with holes

	starts []string // what it can be taken for, each with what follows
	long   string   // instead, of a runner with very many words: all behind it
}

// Bounds on what is taken apart. What is larger may be anything.
const (
	maxScript   = 64 << 10
	maxCommands = 200
	maxDepth    = 8
)

func (s *script) unknown() { s.doubt, s.opaque = true, true }

// readScript takes a command line apart, with all that it runs inside of others.
func readScript(src string) *script {
	s := &script{line: strings.Join(strings.Fields(src), " ")}
	s.read(strings.TrimRight(src, " \t\n"), 0)
	for i := range s.commands {
		s.commands[i].findStarts()
	}
	return s
}

func (s *script) read(src string, depth int) {
	if len(src) > maxScript || len(s.commands) > maxCommands || depth > maxDepth {
		s.unknown()
		return
	}
	l := lexer{src: src}
	if !l.run() {
		s.doubt = true
		l = lexer{commands: crude(src)}
	}
	s.doubt = s.doubt || l.doubt
	s.commands = append(s.commands, l.commands...)
	s.targets = append(s.targets, l.targets...)
	if depth == 0 {
		s.top = len(s.commands)
	}
	for _, inner := range l.inner {
		s.doubt = true
		s.read(inner, depth+1)
	}
	for _, c := range l.commands {
		for _, inner := range c.scripts() {
			s.read(inner, depth+1)
		}
		s.opaque = s.opaque || c.unreadable()
		s.doubt = s.doubt || c.evaluates()
	}
}

// crude cuts at everything that may end a command and forgets the quotes. It is
// for deny rules alone; its result carries a doubt.
func crude(src string) []simple {
	var out []simple
	for _, part := range strings.FieldsFunc(src, func(r rune) bool { return strings.ContainsRune(";&|\n\r(){}`<>", r) }) {
		words := strings.Fields(strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\x00", "").Replace(part))
		for i, w := range words {
			if strings.ContainsAny(w, "$*?[") {
				words[i] = string(hole)
			}
		}
		if len(words) > 0 {
			out = append(out, simple{words: words})
		}
	}
	return out
}
