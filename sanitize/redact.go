package sanitize

import (
	"strconv"
	"strings"
	"sync"
)

// Redact returns s with what looks like a secret masked: tokens of known formats,
// private keys, passwords in URLs, Authorization headers, and the values of names
// such as *_TOKEN, *_KEY, *SECRET* and PASSWORD. Of a secret its kind's prefix and
// its length in bytes stay: "sk-ant-*redacted:95*".
//
// It runs in linear time, is idempotent, and keeps valid UTF-8 valid. Text without
// a secret is returned as it is. It is for logs and crash reports: what it does not
// know, it does not find.
//
// A secret with something in it that is not seen, such as the colours of a search
// that found it, is one on a screen: then s comes back as [Text] shows it.
func Redact(s string) string {
	r := redactor{src: s}
	out := r.redact()
	shown := Text(s)
	if shown == s {
		return out
	}
	bare := redactor{src: shown}
	if veiled := bare.redact(); veiled != Text(out) {
		// What was masked in s may not have been in what is shown: a word began there.
		return strings.NewReplacer(r.found...).Replace(veiled)
	}
	return out
}

// MarkStart is what each mark begins with that stands in a secret's place.
const MarkStart = "*redacted:"

const (
	markEnd = "*"

	leastFound = 12 // bytes of a secret that is looked for elsewhere; shorter ones are words, too
)

// Mark stands in the place of a secret of so many bytes.
func Mark(size int) string { return MarkStart + strconv.Itoa(size) + markEnd }

// IsMark reports whether s is a mark and nothing else.
func IsMark(s string) bool {
	n, starts := strings.CutPrefix(s, MarkStart)
	n, ends := strings.CutSuffix(n, markEnd)
	return starts && ends && n != "" && len(n) <= 12 && run(n, digit) == len(n)
}

// redactor goes through src once. Every rule looks a bounded way back, and what it
// looks at ahead it either masks or gives up within a bounded way.
type redactor struct {
	src   string
	out   []byte // of src[:done]; nil as long as nothing was masked
	done  int
	found []string // each that is long, as it is shown, and what it is replaced by
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

// mask replaces src[from:to], but for what it begins with, and returns to.
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

// masked reports whether s is what mask made.
func masked(s string) bool {
	at := strings.LastIndex(s, MarkStart)
	return at >= 0 && IsMark(s[at:]) && (at == 0 || isPrefix(s[:at]))
}

// boundary reports whether a word may begin at i: after anything but a letter or a
// digit, and after an escape that ends in one (\n, \u003d, %3D).
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

// run is the length of the run of a class that s begins with.
func run(s string, class uint16) int {
	for i := range len(s) {
		if !is(s[i], class) {
			return i
		}
	}
	return len(s)
}

// back is the length of the run of a class that s ends with, up to most.
func back(s string, class uint16, most int) int {
	n := 0
	for n < len(s) && n < most && is(s[len(s)-1-n], class) {
		n++
	}
	return n
}

// What a byte may be the beginning, or the middle, of.
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
