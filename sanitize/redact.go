package sanitize

import (
	"slices"
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
	for _, n := range []int{1, 2, 5} {
		if i > n && escaped(r.src[:i-n], r.src[i-n:]) == n {
			return true
		}
	}
	return i == r.done || !is(r.src[i-1], alnum)
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

// format is a kind of token with a fixed prefix.
type format struct {
	prefix string
	class  uint16 // of the bytes after the prefix
	least  int    // minimum number of these bytes
	most   int    // maximum number; 0: no limit
}

// formats are tried in order: of two prefixes with the same beginning, the longer comes first.
var formats = sync.OnceValue(func() (all []format) {
	for _, row := range []struct {
		prefixes    string
		class       uint16
		least, most int
	}{
		{"sk-ant-", url64, 12, 0},                               // Anthropic
		{"sk-or- sk-proj- sk-svcacct- sk-admin-", url64, 32, 0}, // OpenRouter, OpenAI
		{"sk-", alnum, 32, 0},                                   // OpenAI
		{"AKIA ASIA ABIA", upper | digit, 16, 16},               // AWS
		{"ABSK", std64, 60, 0},                                  // AWS Bedrock
		{"ghp_ gho_ ghu_ ghr_", alnum, 36, 0},                   // GitHub
		{"ghs_", word | dot | hyphen, 36, 0},
		{"github_pat_", word, 36, 0},
		{"glpat- glrt-", url64 | dot, 20, 0}, // GitLab
		{"gldt- glptt- glcbt-", url64, 20, 0},
		{"xoxb- xoxp- xoxa- xoxr- xoxs- xapp-", url64, 20, 0}, // Slack
		{"xoxe", url64 | dot, 20, 0},
		{"hooks.slack.com/services/", alnum | base64, 20, 0},
		{"sk_live_ sk_test_ rk_live_ rk_test_", alnum, 16, 0}, // Stripe
		{"whsec_", std64, 24, 0},
		{"AIza", url64, 35, 0}, // Google
		{"GOCSPX-", url64, 20, 0},
		{"ya29.", url64 | dot, 20, 0},
		{"1//0", url64, 30, 0},
		{"npm_", alnum, 36, 36},
		{"pypi-", url64, 50, 0},
		{"rubygems_", hex, 48, 48},
		{"dckr_pat_", url64, 20, 0},              // Docker
		{"SK", hex, 32, 32},                      // Twilio
		{"SG.", url64 | dot, 60, 0},              // SendGrid
		{"key-", hex, 32, 32},                    // Mailgun
		{"dop_v1_ doo_v1_ dor_v1_", hex, 64, 64}, // DigitalOcean
		{"hf_ api_org_", alnum, 30, 0},           // Hugging Face
		{"r8_", alnum, 37, 0},                    // Replicate
		{"gsk_", alnum, 48, 0},                   // Groq
		{"xai-", alnum, 60, 0},
		{"pplx-", alnum, 40, 0},        // Perplexity
		{"shpat_ shpss_", hex, 32, 32}, // Shopify
		{"dapi", hex, 32, 32},          // Databricks
		{"lin_api_", alnum, 32, 0},     // Linear
		{"ntn_", alnum, 40, 0},         // Notion
		{"figd_", url64, 36, 0},        // Figma
		{"PMAK-", hex | hyphen, 50, 0}, // Postman
		{"glsa_", word, 32, 0},         // Grafana
		{"glc_", std64, 32, 0},
		{"NRAK-", alnum, 27, 27},           // New Relic
		{"hvs. hvb.", url64, 24, 0},        // Vault
		{"sbp_", hex, 40, 0},               // Supabase
		{"tskey-", url64, 20, 0},           // Tailscale
		{"sntrys_", url64 | base64, 40, 0}, // Sentry
		{"ATATT3", url64 | base64, 60, 0},  // Atlassian
		{"CCIPAT_", word, 40, 0},           // CircleCI
		{"dp.pt.", alnum, 40, 0},           // Doppler
		{"AGE-SECRET-KEY-1", upper | digit, 58, 58},
		{"discord.com/api/webhooks/", url64 | base64, 60, 0},
	} {
		for prefix := range strings.FieldsSeq(row.prefixes) {
			all = append(all, format{prefix, row.class, row.least, row.most})
		}
	}
	return all
})

// byFirst maps the first byte of a prefix to its formats.
var byFirst = sync.OnceValue(func() *[256][]format {
	m := new([256][]format)
	for _, f := range formats() {
		m[f.prefix[0]] = append(m[f.prefix[0]], f)
	}
	return m
})

// byteSet is a set of bytes.
type byteSet [4]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]&(1<<(b&63)) != 0 }

// begins maps the first byte of everything that token looks for to the set of its second bytes: few words of a
// text have both.
var begins = sync.OnceValue(func() *[256]byteSet {
	sets := new([256]byteSet)
	add := func(prefix string) { sets[prefix[0]][prefix[1]>>6] |= 1 << (prefix[1] & 63) }
	for _, f := range formats() {
		add(f.prefix)
	}
	for _, other := range []string{jwtStart, "be", "Be", "bE", "BE"} {
		add(other)
	}
	return sets
})

// isPrefix reports whether mask may have kept s.
func isPrefix(s string) bool {
	return s == jwtStart || slices.ContainsFunc(formats(), func(f format) bool { return f.prefix == s })
}

// token masks a token that begins at i.
func (r *redactor) token(i int) int {
	if !r.boundary(i) {
		return i + 1
	}
	if end, prefix := r.tokenAt(i); end > 0 {
		return r.mask(i, end, prefix)
	}
	if end := r.bearer(i); end > 0 {
		return end
	}
	return i + 1
}

// tokenAt finds the end of the token that begins at i, or returns 0.
func (r *redactor) tokenAt(i int) (end int, prefix string) {
	s := r.src[i:]
	for _, f := range byFirst()[s[0]] {
		if !strings.HasPrefix(s, f.prefix) {
			continue
		}
		n := run(s[len(f.prefix):], f.class)
		end := i + len(f.prefix) + n
		if n >= f.least && (f.most == 0 || n <= f.most) && r.ends(end) {
			return end, f.prefix
		}
	}
	if end := r.jwt(i); end > 0 {
		return end, jwtStart
	}
	return 0, ""
}

// jwtStart is `{"` in base64, with which the header and the payload of a JWT begin.
const jwtStart = "eyJ"

// jwt finds the end of a JSON Web Token of three parts, or of five (encrypted).
func (r *redactor) jwt(i int) int {
	s := r.src[i:]
	if !strings.HasPrefix(s, jwtStart) || i > r.done && is(r.src[i-1], under|hyphen) {
		return 0
	}
	end, parts, empty := 0, 0, 0
	for {
		n := run(s[end:], url64)
		if end += n; n == 0 {
			empty++
		}
		if parts++; parts == 5 || end == len(s) || s[end] != '.' {
			break
		}
		end++
	}
	if parts < 3 || end < 30 || parts < 5 && empty > 0 {
		return 0
	}
	return i + end
}

// bearer masks what follows "bearer ", if it cannot be a word itself.
func (r *redactor) bearer(i int) int {
	const least = 16
	s := r.src[i:]
	if len(s) < len("bearer ")+least || !strings.EqualFold(s[:len("bearer ")], "bearer ") {
		return 0
	}
	from := i + len("bearer ")
	value := r.src[from:]
	n := run(value, url64|base64|dot|tilde)
	if n < least || !strings.ContainsAny(value[:n], "0123456789") {
		return 0
	}
	if end, prefix := r.tokenAt(from); end == from+n {
		return r.mask(from, end, prefix)
	}
	return r.mask(from, from+n, "")
}

// discord masks a bot's token (id, time, code), whose first dot is at i.
func (r *redactor) discord(i int) int {
	first := 0
	for n := min(back(r.src[r.done:i], url64, 30), 30); n >= 23; n-- {
		if strings.IndexByte("MNO", r.src[i-n]) >= 0 && r.boundary(i-n) {
			first = n
			break
		}
	}
	if first == 0 {
		return i + 1
	}
	rest := r.src[i+1:]
	second := run(rest[:min(len(rest), 9)], url64)
	if second < 6 || second > 7 || second == len(rest) || rest[second] != '.' {
		return i + 1
	}
	third := run(rest[second+1:], url64)
	if third < 27 {
		return i + 1
	}
	return r.mask(i-first, i+1+second+1+third, "")
}

// azure masks a client secret, which has "Q~" after three characters and a digit. The tilde is at i.
func (r *redactor) azure(i int) int {
	const class = url64 | dot | tilde
	if i < r.done+5 || r.src[i-1] != 'Q' || !is(r.src[i-2], digit) || back(r.src[r.done:i], class, 5) < 5 ||
		!r.boundary(i-5) {
		return i + 1
	}
	rest := r.src[i+1 : min(len(r.src), i+1+37)]
	if n := run(rest, class); n >= 31 && n <= 36 {
		return r.mask(i-5, i+1+n, "")
	}
	return i + 1
}

// dash masks a private key in PEM, or the value of a flag.
func (r *redactor) dash(i int) int {
	switch {
	case strings.HasPrefix(r.src[i:], pemBegin):
		return r.pem(i)
	case strings.HasPrefix(r.src[i:], pemEnd):
		return r.pemRest(i)
	case strings.HasPrefix(r.src[i:], "--") && (i == r.done || r.src[i-1] != '-'):
		return r.flag(i + 2)
	}
	return i + 1
}

const (
	pemRule  = "-----"
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END "
)

// privateKey returns the end of a line that begins or ends a private key, or 0. The kind of the key begins at i.
func (r *redactor) privateKey(i int) int {
	s := r.src[i:]
	n := strings.Index(s[:min(len(s), 60)], pemRule)
	if n < 0 || !strings.Contains(s[:n], "PRIVATE KEY") {
		return 0
	}
	return i + n + len(pemRule)
}

// pem masks the body of a private key. The body of a key that is cut off ends with its last line of base64. The
// few headers of an encrypted key are masked with the body.
func (r *redactor) pem(i int) int {
	const (
		least     = 16 // of the first line: a text may only mention the header
		headers   = 4
		maxHeader = 200
	)
	from := r.privateKey(i + len(pemBegin))
	if from == 0 {
		return i + len(pemRule)
	}
	to, body := from, false
	for seen := 0; ; {
		at := to + margin(r.src[to:])
		n := run(r.src[at:], std64|hyphen)
		switch line := r.src[at : at+n]; {
		case n == 0, strings.HasPrefix(line, pemRule):
			if !body {
				return from
			}
			return r.mask(from, to+blank(r.src[to:]), "")
		case !body && seen < headers && strings.HasPrefix(r.src[at+n:], ": "): // Proc-Type: 4,ENCRYPTED
			to = lineEnd(r.src[:min(len(r.src), at+n+maxHeader)], at+n)
			seen++
		case !body && n < least:
			return from
		default:
			body = true
			to = at + n
		}
	}
}

// pemRest masks the body of a private key whose beginning is missing. Its last line is at i.
func (r *redactor) pemRest(i int) int {
	const (
		least = 16 // of a line that is not the last one
		most  = 200
	)
	after := r.privateKey(i + len(pemEnd))
	if after == 0 {
		return i + len(pemRule)
	}
	from, to, long := i, i, false
	for at := i; ; {
		end := at - backBlank(r.src[r.done:at])
		begin := max(end-most, r.done)
		n := strings.LastIndexByte(r.src[begin:end], '\n') + 1
		if escaped := strings.LastIndex(r.src[begin:end], `\n`); escaped >= n {
			n = escaped + len(`\n`)
		}
		if n == 0 && begin > r.done { // it is too long for a line of a key
			break
		}
		at = begin + n
		start := at + margin(r.src[at:end])
		size := run(r.src[start:end], std64)
		if size == 0 || start+size < end || from < i && size < least {
			break
		}
		if from == i {
			to = end
		}
		from, long = start, long || size >= least
	}
	if long {
		r.mask(from, to, "")
	}
	return after
}

// margin is like blank, and includes what may stand before a line in a listing of a file: its number, or the mark of a
// quote.
func margin(s string) int {
	n := blank(s)
	digits := run(s[n:], digit)
	rest := s[n+digits:]
	for _, mark := range []string{"\t", `\t`, "→", ":", "|", ">"} {
		if strings.HasPrefix(rest, mark) {
			n += digits + len(mark)
			return n + blank(s[n:])
		}
	}
	return n
}

// backBlank is like blank, for the end of s.
func backBlank(s string) int {
	n := 0
	for n < len(s) {
		rest := s[:len(s)-n]
		switch {
		case strings.IndexByte(" \t\r\n", rest[len(rest)-1]) >= 0:
			n++
		case len(rest) > 1 && rest[len(rest)-2] == '\\' && strings.IndexByte("nrt", rest[len(rest)-1]) >= 0:
			n += 2
		case rest[len(rest)-1] == '\\':
			n++
		default:
			return n
		}
	}
	return n
}

// blank returns the length of the white space, escaped or not, at the beginning of s.
func blank(s string) int {
	n := 0
	for n < len(s) {
		switch {
		case strings.IndexByte(" \t\r\n", s[n]) >= 0:
			n++
		case s[n] == '\\' && n+1 < len(s) && strings.IndexByte("nrt\\", s[n+1]) >= 0:
			n += 2
		default:
			return n
		}
	}
	return n
}

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
	always   = words(strings.Fields("secret secrets password passwords passwd passphrase pwd credential credentials"))
	last     = words(strings.Fields("token apikey authtoken accesstoken jwt bearer sig signature"))
	keyAfter = words(strings.Fields("api access secret private signing encryption auth account storage service master " +
		"client shared app application license deploy ssh subscription session anthropic openai"))
	describe = words(strings.Fields("count counts limit type types url uri file files path paths dir id ids name names " +
		"len length size at ttl expires expiry expiration policy field label hint prompt env var manager provider store " +
		"version reset changed hash"))
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
	slashes := len(s[from:]) - len(strings.TrimLeft(s[from:], `\`))
	if q := from + slashes; q < len(s) && strings.IndexByte("\"'`", s[q]) >= 0 {
		return r.judge(q+1, quotedEnd(s, q+1, s[q], slashes), how, true)
	}
	if how == scheme { // one or two words
		return r.judge(from, lineEnd(s, from), how, true)
	}
	return r.judge(from, plainEnd(s, from, env), how, env)
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

var standIns = words(strings.Fields("true false null nil none undefined string number boolean bool int object any " +
	"required optional yes no unset empty redacted hidden"))

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
