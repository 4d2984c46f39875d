package policy

import "strings"

// dollar reads what begins with $, inside or outside of double quotes. A plain
// variable is a hole; everything else is a doubt as well, because it can run
// commands: $(…), ${x@P}, $[…], or needs the shell's own reading: $'…'.
func (l *lexer) dollar(quoted bool) bool {
	l.begin()
	rest := l.src[l.pos+1:]
	if rest == "" {
		l.put('$')
		l.pos++
		return true
	}
	switch c := rest[0]; {
	case c == '(':
		n := matching(rest[1:])
		if n < 0 || strings.Contains(rest[1:1+n], "case") {
			return false // the patterns of a case end in parentheses of their own
		}
		l.inner = append(l.inner, rest[1:1+n])
		l.expansion(1 + 1 + n + 1)
	case c == '{':
		n := strings.IndexByte(rest, '}')
		if n < 0 {
			return false
		}
		if name := rest[1:n]; name == "" || nameLength(name) != len(name) {
			l.doubt = true
			l.inner = append(l.inner, name)
			// The braces may nest: what follows is read as part of the word, and may
			// stand for anything.
			l.vague = true
		}
		l.expansion(1 + n + 1)
	case quoted && (c == '\'' || c == '"'):
		l.put('$') // within double quotes these two are themselves
		l.pos++
	case c == '\'':
		n := closingQuote(rest[1:])
		if n < 0 {
			return false
		}
		l.doubt = true
		l.expansion(1 + 1 + n + 1)
	case c == '"', c == '[':
		l.doubt = true
		l.expansion(1)
	case nameLength(rest) > 0:
		l.expansion(1 + nameLength(rest))
	case strings.IndexByte("@*#?$!-0123456789", c) >= 0:
		l.expansion(2)
	default:
		l.put('$')
		l.pos++
	}
	return true
}

// expansion puts a hole for the next n bytes.
func (l *lexer) expansion(n int) {
	l.put(byte(hole))
	l.pos += n
}

// nameLength is the length of the variable's name that s begins with.
func nameLength(s string) int {
	n := 0
	for n < len(s) {
		c := s[n]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (n == 0 || c < '0' || c > '9') {
			break
		}
		n++
	}
	return n
}

// closingQuote finds the end of a $'…' string, in which a backslash quotes.
func closingQuote(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			return i
		}
	}
	return -1
}

func (l *lexer) backtick() bool {
	l.begin()
	for i := l.pos + 1; i < len(l.src); i++ {
		switch l.src[i] {
		case '\\':
			i++
		case '`':
			inner := l.src[l.pos+1 : i]
			l.inner = append(l.inner, strings.NewReplacer("\\`", "`", `\\`, `\`, `\$`, `$`).Replace(inner))
			l.expansion(i + 1 - l.pos)
			return true
		}
	}
	return false
}

// matching finds the parenthesis that ends a substitution, -1 if none does.
func matching(s string) int {
	depth := 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			n := strings.IndexByte(s[i+1:], '\'')
			if n < 0 {
				return -1
			}
			i += n + 1
		case '"':
			n := closingDouble(s[i+1:])
			if n < 0 {
				return -1
			}
			i += n + 1
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// closingDouble finds the end of a double-quoted string, over substitutions in it.
func closingDouble(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '"':
			return i
		case strings.HasPrefix(s[i:], "$("):
			n := matching(s[i+2:])
			if n < 0 {
				return -1
			}
			i += n + 2
		}
	}
	return -1
}
