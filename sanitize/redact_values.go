package sanitize

import (
	"slices"
	"strings"
)

// separator is called at a '=' or ':', if what stands before it may name a secret.
func (r *redactor) separator(i int) int {
	s := r.src
	if s[i] == ':' {
		if strings.HasPrefix(s[i:], "://") {
			return r.userinfo(i + len("://"))
		}
		if end := r.telegram(i); end > 0 {
			return end
		}
		if strings.HasPrefix(s[i:], "::") {
			return i + 2
		}
		if strings.HasPrefix(s[i:], ":=") { // the '=' is next
			return i + 1
		}
	} else if strings.HasPrefix(s[i:], "==") {
		return i + 2
	}
	name, bare := r.nameBefore(i)
	how := secretName(name)
	if how == harmless {
		return i + 1
	}
	env := bare && s[i] == '=' && run(name, upper|digit|under) == len(name)
	from := i + 1
	if strings.HasPrefix(s[from:], ">") {
		from++
	}
	return r.value(from, how, env)
}

// maxName is the maximum length of a name.
const maxName = 64

// nameBefore returns the name that ends before i, without quotes and brackets. bare is whether it had none of
// these, and no blank after it.
func (r *redactor) nameBefore(i int) (name string, bare bool) {
	s := r.src[max(r.done, i-maxName-8):i]
	s = strings.TrimSuffix(s, ":") // :=
	plain := len(s)
	s = strings.TrimRight(s, " ")
	s = strings.TrimSuffix(s, "]")
	if n := back(s, quotes, 2); n == 1 {
		s = s[:len(s)-1]
	}
	s = strings.TrimRight(s, "\\")
	n := back(s, names, maxName)
	n -= escaped(s[:len(s)-n], s[len(s)-n:])
	return s[len(s)-n:], plain == len(s) && n > 0
}

// escaped returns how many bytes of a name belong to an escape that ends in it: \n, \u003d, %3D.
func escaped(before, name string) int {
	switch {
	case strings.HasSuffix(before, "%") && len(name) > 2 && run(name[:2], hex) == 2:
		return 2
	case !strings.HasSuffix(before, "\\") || name == "":
		return 0
	case name[0] == 'u' && len(name) > 5 && run(name[1:5], hex) == 4:
		return 5
	case strings.IndexByte("nrtbf", name[0]) >= 0:
		return 1
	}
	return 0
}

// What a name says about its value.
type secrecy int

const (
	harmless secrecy = iota
	number           // a secret unless it is a number: token, key
	scheme           // an Authorization header: the scheme stays
	secret           // always: password, secret
)

// stem is a part of a secret's name. Every such name has a stem, and most other names do not even have the
// letters of one.
type stem struct {
	text    string
	letters uint32 // see lettersOf
}

var stems = func() (all []stem) {
	for _, text := range strings.Fields("key token secret pass pwd credential sig auth jwt bearer") {
		all = append(all, stem{text, lettersOf(text)})
	}
	return all
}()

// lettersOf returns a set with a bit for each letter of a text, whatever its case.
func lettersOf(s string) (letters uint32) {
	for i := range len(s) {
		if is(s[i], letter) {
			letters |= 1 << (s[i] & 31)
		}
	}
	return letters
}

// isSecretName reports whether a name contains a stem.
func isSecretName(name string) bool {
	letters, small := lettersOf(name), ""
	for _, stem := range stems {
		if letters&stem.letters != stem.letters {
			continue
		}
		if small == "" {
			small = strings.ToLower(name)
		}
		if strings.Contains(small, stem.text) {
			return true
		}
	}
	return false
}

// Words in names of secrets, and last words that make a name harmless.
var (
	always = words{
		"secret", "secrets", "password", "passwords", "passwd", "passphrase", "pwd", "credential",
		"credentials",
	}
	last     = words{"token", "apikey", "authtoken", "accesstoken", "jwt", "bearer", "sig", "signature"}
	keyAfter = words{
		"api", "access", "secret", "private", "signing", "encryption", "auth", "account", "storage", "service",
		"master", "client", "shared", "app", "application", "license", "deploy", "ssh", "subscription",
		"session", "anthropic", "openai",
	}
	describe = words{
		"count", "counts", "limit", "type", "types", "url", "uri", "file", "files", "path", "paths", "dir",
		"id", "ids", "name", "names", "len", "length", "size", "at", "ttl", "expires", "expiry", "expiration",
		"policy", "field", "label", "hint", "prompt", "env", "var", "manager", "provider", "store", "version",
		"reset", "changed", "hash",
	}
)

type words []string

func (list words) has(word string) bool { return slices.Contains(list, word) }

// secretName classifies a name by its words.
func secretName(name string) secrecy {
	if !isSecretName(name) {
		return harmless
	}
	parts := split(name)
	if len(parts) == 0 {
		return harmless
	}
	end := parts[len(parts)-1]
	switch {
	case end == "authorization":
		return scheme
	case describe.has(end):
		return harmless
	case last.has(end):
		return number
	case end == "key":
		if len(parts) > 1 && (keyAfter.has(parts[len(parts)-2]) || run(name, upper|digit|under) == len(name)) {
			return number
		}
		return harmless
	}
	for _, p := range parts {
		if always.has(p) {
			return secret
		}
	}
	return harmless
}

// split splits a name at _, - and ., and before a capital letter that follows a small one, and returns its
// words in lower case.
func split(name string) []string {
	var parts []string
	from := 0
	cut := func(to int) {
		if to > from {
			parts = append(parts, strings.ToLower(name[from:to]))
		}
	}
	for i := range len(name) {
		switch {
		case !is(name[i], alnum):
			cut(i)
			from = i + 1
		case i > from && is(name[i], upper) && is(name[i-1], lower):
			cut(i)
			from = i
		}
	}
	cut(len(name))
	return parts
}

// value masks the value that begins at i, possibly after blanks and a quote.
func (r *redactor) value(i int, how secrecy, env bool) int {
	s := r.src
	from := i
	if !env {
		for from < len(s) && from < i+4 && (s[from] == ' ' || s[from] == '\t') {
			from++
		}
	}
	slashes := count(s[from:], '\\')
	if q := from + slashes; q < len(s) && strings.IndexByte("\"'`", s[q]) >= 0 {
		return r.judge(q+1, quotedEnd(s, q+1, s[q], slashes), how, true)
	}
	if how == scheme { // one or two words
		return r.judge(from, lineEnd(s, from), how, true)
	}
	return r.judge(from, plainEnd(s, from, env), how, env)
}

// count returns the number of bytes b at the beginning of s.
func count(s string, b byte) int {
	n := 0
	for n < len(s) && s[n] == b {
		n++
	}
	return n
}

// quotedEnd returns the end of a quoted text: a quote with at most as many backslashes before it as the first
// quote had, or the end of the line.
func quotedEnd(s string, i int, quote byte, slashes int) int {
	n := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '\\':
			n++
			continue
		case '\n':
			return i - n
		case quote:
			if n <= slashes {
				return i - n
			}
		}
		n = 0
	}
	return i
}

// lineEnd returns the end of the line, also of an escaped one.
func lineEnd(s string, i int) int {
	for ; i < len(s); i++ {
		if strings.IndexByte("\n\r\"'`\\", s[i]) >= 0 {
			break
		}
	}
	return i
}

// plainEnd returns the end of an unquoted value. The value of an environment variable ends at the next white
// space.
func plainEnd(s string, i int, env bool) int {
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c <= ' ', strings.IndexByte("\"'`", c) >= 0:
			return i
		case c == '\\' && i+1 < len(s) && strings.IndexByte("nrtu\"'`\\", s[i+1]) >= 0:
			return i
		case !env && strings.IndexByte(",;&()[]{}<>|\\", c) >= 0:
			return i
		}
	}
	return i
}

// judge masks src[from:to] unless it only stands for a secret. sure says that it was quoted, or is a variable's
// value.
func (r *redactor) judge(from, to int, how secrecy, sure bool) int {
	value := r.src[from:to]
	if how == scheme {
		if word, rest, ok := strings.Cut(value, " "); ok && len(word) < 16 && run(word, letter|hyphen) == len(word) {
			from, value = to-len(rest), rest
		}
	}
	least := 4
	if sure {
		least = 1
	}
	switch {
	case len(value) < least, masked(value), placeholder(value):
		return from
	case how == number && run(value, digit|dot) == len(value) && len(value) < 12:
		return from
	case !sure && to < len(r.src) && r.src[to] == '(': // code that gets the secret from somewhere
		return from
	case !sure && systemError(r.src[from:]):
		return from
	}
	if is(value[0], alnum) {
		if end, prefix := r.tokenAt(from); end == to {
			return r.mask(from, to, prefix)
		}
	}
	return r.mask(from, to, "")
}

// systemErrors are the texts of the most frequent errors that systems append to a path and a colon. The name of the
// file may be that of a secret.
var systemErrors = words{
	"permission denied", "operation not permitted", "file exists", "file already exists", "file name too long",
	"input/output error",
}

// systemError reports whether a text begins with the text of a system's error, in upper or lower case.
func systemError(text string) bool {
	return slices.ContainsFunc(systemErrors, func(e string) bool {
		return len(text) >= len(e) && strings.EqualFold(text[:len(e)], e)
	})
}

var standIns = words{
	"true", "false", "null", "nil", "none", "undefined", "string", "number", "boolean", "bool", "int",
	"object", "any", "required", "optional", "yes", "no", "unset", "empty", "redacted", "hidden",
}

// placeholder reports whether a value names a secret, or says that there is none.
func placeholder(v string) bool {
	switch {
	case strings.Trim(v, "*") == "", strings.Trim(v, "xX") == "", strings.Trim(v, ".") == "", v == "…":
		return true
	case strings.HasPrefix(v, "$"):
		name := strings.TrimSuffix(strings.TrimPrefix(v[1:], "{"), "}")
		return name != "" && run(name, upper|digit|under) == len(name)
	case strings.HasPrefix(v, "<") && strings.HasSuffix(v, ">"):
		return true
	}
	return len(v) < 12 && standIns.has(strings.ToLower(v))
}

// flag masks the value of a flag whose name begins at i: "--token value", and `"--token", "value"` in an
// argument list. For "--token=value" it does nothing: separator handles that.
func (r *redactor) flag(i int) int {
	n := run(r.src[i:min(len(r.src), i+maxName)], names)
	how := secretName(r.src[i : i+n])
	if how == harmless {
		return i
	}
	at := i + n
	rest := strings.TrimLeft(r.src[at:min(len(r.src), at+8)], "\"', ")
	from := min(len(r.src), at+8) - len(rest)
	if from == at || rest == "" || rest[0] == '-' || rest[0] == '=' || rest[0] == ':' {
		return at
	}
	return r.judge(from, plainEnd(r.src, from, false), how, true)
}

// userinfo masks the password of a URL whose authority begins at i.
func (r *redactor) userinfo(i int) int {
	s := r.src
	colon := -1
	for j := i; j < len(s); j++ {
		switch c := s[j]; {
		case c == ':' && colon < 0:
			colon = j
		case c == '@':
			if colon < 0 || j == colon+1 || masked(s[colon+1:j]) || placeholder(s[colon+1:j]) {
				return i
			}
			return r.mask(colon+1, j, "")
		case c <= ' ', strings.IndexByte("/?#\"'`<>\\", c) >= 0:
			return i
		}
	}
	return i
}

// telegram masks a bot's token, whose colon is at i. It keeps the bot's number.
func (r *redactor) telegram(i int) int {
	if i+1 == len(r.src) || r.src[i+1] != 'A' || run(r.src[i+1:min(len(r.src), i+1+36)], url64) != 35 {
		return 0
	}
	if id := back(r.src[r.done:i], digit, 12); id < 8 || id > 10 || !r.boundary(i-id) {
		return 0
	}
	return r.mask(i+1, i+1+35, "")
}
