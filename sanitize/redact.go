package sanitize

import (
	"strconv"
	"strings"
	"sync"
)

// Redact returns s with everything masked that looks like a secret: tokens of known formats, private keys,
// passwords in URLs, Authorization headers, and the values of names such as *_TOKEN, *_KEY, *SECRET* and
// PASSWORD. It keeps the prefix of the secret's kind and the secret's length in bytes: "sk-ant-*redacted:95*".
//
// It runs in linear time, is idempotent, and keeps valid UTF-8 valid. It returns text without a secret
// unchanged. It is for logs and crash reports, and does not find secrets of unknown forms.
//
// A secret may be interrupted by invisible text, such as the colours of a search that found it. On a screen it
// is a secret all the same: then Redact returns s in the form of [Text].
func Redact(s string) string {
	r := redactor{src: s}
	out := r.redact()
	shown := Text(s)
	if shown == s {
		return out
	}
	bare := redactor{src: shown}
	if veiled := bare.redact(); veiled != Text(out) {
		// A secret masked in s may not be found in the shown text, if only an invisible sequence began a word
		// there.
		return strings.NewReplacer(r.found...).Replace(veiled)
	}
	return out
}

// MarkStart is the beginning of each mark that replaces a secret.
const MarkStart = "*redacted:"

const (
	markEnd = "*"

	leastFound = 12 // bytes of a secret to look for elsewhere; a shorter one may be a word
)

// Mark returns the mark for a secret of size bytes.
func Mark(size int) string { return MarkStart + strconv.Itoa(size) + markEnd }

// IsMark reports whether s is exactly one mark.
func IsMark(s string) bool {
	n, starts := strings.CutPrefix(s, MarkStart)
	n, ends := strings.CutSuffix(n, markEnd)
	return starts && ends && n != "" && len(n) <= 12 && run(n, digit) == len(n)
}

// redactor reads src once. Every rule looks back a limited distance; what it reads ahead it either masks, or it
// gives up within a limited distance.
type redactor struct {
	src   string
	out   []byte // for src[:done]; nil if nothing was masked yet
	done  int
	found []string // pairs: a long secret as it is shown, and its mark
}

func (r *redactor) redact() string {
	r.run()
	if r.out == nil {
		return r.src
	}
	return string(append(r.out, r.src[r.done:]...))
}

func (r *redactor) run() {
	starts, begins := starts(), begins()
	for i := 0; i < len(r.src); {
		next := i + 1
		switch starts[r.src[i]] {
		case startNone:
		case startSeparator:
			next = r.separator(i)
		case startDash:
			next = r.dash(i)
		case startDot:
			next = r.discord(i)
		case startTilde:
			next = r.azure(i)
		case startLetter:
			if i+1 < len(r.src) && begins[r.src[i]].has(r.src[i+1]) {
				next = r.token(i)
			}
		}
		i = max(next, i+1)
	}
}

// mask replaces src[from:to] except its prefix by a mark, and returns to.
func (r *redactor) mask(from, to int, prefix string) int {
	r.out = append(r.out, r.src[r.done:from]...)
	at := len(r.out)
	r.out = append(r.out, prefix...)
	r.out = append(r.out, Mark(to-from)...)
	if to-from >= leastFound {
		r.found = append(r.found, Text(r.src[from:to]), string(r.out[at:]))
	}
	r.done = to
	return to
}

// masked reports whether s is a result of mask.
func masked(s string) bool {
	at := strings.LastIndex(s, MarkStart)
	return at >= 0 && IsMark(s[at:]) && (at == 0 || isPrefix(s[:at]))
}

// boundary reports whether a word may begin at i: after anything but a letter or a digit, and after an escape
// that ends in a letter or a digit (\n, \u003d, %3D).
func (r *redactor) boundary(i int) bool {
	s := r.src
	if i == r.done || !is(s[i-1], alnum) {
		return true
	}
	switch {
	case i >= 2 && s[i-2] == '\\' && strings.IndexByte("nrtbf", s[i-1]) >= 0:
		return true
	case i >= 3 && s[i-3] == '%' && run(s[i-2:i], hex) == 2:
		return true
	case i >= 6 && s[i-6] == '\\' && s[i-5] == 'u' && run(s[i-4:i], hex) == 4:
		return true
	}
	return false
}

// ends reports whether a word may end before i.
func (r *redactor) ends(i int) bool { return i == len(r.src) || !is(r.src[i], alnum) }

// Classes of bytes.
const (
	lower uint16 = 1 << iota
	upper
	digit
	hexLetter // a–f; with digit: hex
	under     // _
	hyphen    // -
	dot       // .
	base64    // + / =
	tilde     // ~
	quotes    // " ' `

	letter = lower | upper
	alnum  = letter | digit
	hex    = digit | hexLetter
	word   = alnum | under
	url64  = word | hyphen
	names  = url64 | dot
	std64  = alnum | base64
)

var classes = func() (c [256]uint16) {
	for b := 'a'; b <= 'z'; b++ {
		c[b] |= lower
		c[b-'a'+'A'] |= upper
	}
	for b := '0'; b <= '9'; b++ {
		c[b] |= digit
	}
	for _, b := range "abcdefABCDEF" {
		c[b] |= hexLetter
	}
	c['_'], c['-'], c['.'], c['~'] = under, hyphen, dot, tilde
	c['+'], c['/'], c['='] = base64, base64, base64
	c['"'], c['\''], c['`'] = quotes, quotes, quotes
	return c
}()

func is(b byte, class uint16) bool { return classes[b]&class != 0 }

// run returns the length of the longest beginning of s in a class.
func run(s string, class uint16) int {
	for i := range len(s) {
		if !is(s[i], class) {
			return i
		}
	}
	return len(s)
}

// back returns the length of the longest end of s in a class, up to most.
func back(s string, class uint16, most int) int {
	n := 0
	for n < len(s) && n < most && is(s[len(s)-1-n], class) {
		n++
	}
	return n
}

// What may begin at a byte, or have it inside.
const (
	startNone uint8 = iota
	startSeparator
	startDash
	startDot
	startTilde
	startLetter
)

var starts = sync.OnceValue(func() *[256]uint8 {
	c := new([256]uint8)
	for b, seconds := range begins() {
		if seconds != (byteSet{}) {
			c[b] = startLetter
		}
	}
	c['='], c[':'], c['-'], c['.'], c['~'] = startSeparator, startSeparator, startDash, startDot, startTilde
	return c
})
