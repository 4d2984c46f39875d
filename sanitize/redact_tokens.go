package sanitize

import (
	"slices"
	"strings"
	"sync"
)

// format is a kind of token with a fixed prefix.
type format struct {
	kind   string
	prefix string
	class  uint16 // of the bytes after the prefix
	least  int    // minimum number of these bytes
	most   int    // maximum number; 0: no limit
}

// formats are tried in order: of two prefixes with the same beginning, the longer comes first.
var formats = []format{
	{"Anthropic", "sk-ant-", url64, 12, 0},
	{"OpenRouter", "sk-or-", url64, 32, 0},
	{"OpenAI project", "sk-proj-", url64, 32, 0},
	{"OpenAI service account", "sk-svcacct-", url64, 32, 0},
	{"OpenAI admin", "sk-admin-", url64, 32, 0},
	{"OpenAI", "sk-", alnum, 32, 0},
	{"AWS access key", "AKIA", upper | digit, 16, 16},
	{"AWS session access key", "ASIA", upper | digit, 16, 16},
	{"AWS bearer", "ABIA", upper | digit, 16, 16},
	{"AWS Bedrock", "ABSK", std64, 60, 0},
	{"GitHub", "ghp_", alnum, 36, 0},
	{"GitHub OAuth", "gho_", alnum, 36, 0},
	{"GitHub user-to-server", "ghu_", alnum, 36, 0},
	{"GitHub server-to-server", "ghs_", word | dot | hyphen, 36, 0},
	{"GitHub refresh", "ghr_", alnum, 36, 0},
	{"GitHub fine-grained", "github_pat_", word, 36, 0},
	{"GitLab", "glpat-", url64 | dot, 20, 0},
	{"GitLab deploy", "gldt-", url64, 20, 0},
	{"GitLab runner", "glrt-", url64 | dot, 20, 0},
	{"GitLab trigger", "glptt-", url64, 20, 0},
	{"GitLab job", "glcbt-", url64, 20, 0},
	{"Slack bot", "xoxb-", url64, 20, 0},
	{"Slack user", "xoxp-", url64, 20, 0},
	{"Slack app", "xoxa-", url64, 20, 0},
	{"Slack refresh", "xoxr-", url64, 20, 0},
	{"Slack session", "xoxs-", url64, 20, 0},
	{"Slack configuration", "xoxe", url64 | dot, 20, 0},
	{"Slack app-level", "xapp-", url64, 20, 0},
	{"Slack webhook", "hooks.slack.com/services/", alnum | base64, 20, 0},
	{"Stripe", "sk_live_", alnum, 16, 0},
	{"Stripe test", "sk_test_", alnum, 16, 0},
	{"Stripe restricted", "rk_live_", alnum, 16, 0},
	{"Stripe restricted test", "rk_test_", alnum, 16, 0},
	{"Stripe webhook", "whsec_", std64, 24, 0},
	{"Google API", "AIza", url64, 35, 0},
	{"Google OAuth secret", "GOCSPX-", url64, 20, 0},
	{"Google OAuth access", "ya29.", url64 | dot, 20, 0},
	{"Google OAuth refresh", "1//0", url64, 30, 0},
	{"npm", "npm_", alnum, 36, 36},
	{"PyPI", "pypi-", url64, 50, 0},
	{"RubyGems", "rubygems_", hex, 48, 48},
	{"Docker", "dckr_pat_", url64, 20, 0},
	{"Twilio", "SK", hex, 32, 32},
	{"SendGrid", "SG.", url64 | dot, 60, 0},
	{"Mailgun", "key-", hex, 32, 32},
	{"DigitalOcean", "dop_v1_", hex, 64, 64},
	{"DigitalOcean OAuth", "doo_v1_", hex, 64, 64},
	{"DigitalOcean refresh", "dor_v1_", hex, 64, 64},
	{"Hugging Face", "hf_", alnum, 30, 0},
	{"Hugging Face organisation", "api_org_", alnum, 30, 0},
	{"Replicate", "r8_", alnum, 37, 0},
	{"Groq", "gsk_", alnum, 48, 0},
	{"xAI", "xai-", alnum, 60, 0},
	{"Perplexity", "pplx-", alnum, 40, 0},
	{"Shopify", "shpat_", hex, 32, 32},
	{"Shopify secret", "shpss_", hex, 32, 32},
	{"Databricks", "dapi", hex, 32, 32},
	{"Linear", "lin_api_", alnum, 32, 0},
	{"Notion", "ntn_", alnum, 40, 0},
	{"Figma", "figd_", url64, 36, 0},
	{"Postman", "PMAK-", hex | hyphen, 50, 0},
	{"Grafana service account", "glsa_", word, 32, 0},
	{"Grafana cloud", "glc_", std64, 32, 0},
	{"New Relic", "NRAK-", alnum, 27, 27},
	{"Vault", "hvs.", url64, 24, 0},
	{"Vault batch", "hvb.", url64, 24, 0},
	{"Supabase", "sbp_", hex, 40, 0},
	{"Tailscale", "tskey-", url64, 20, 0},
	{"Sentry", "sntrys_", url64 | base64, 40, 0},
	{"Atlassian", "ATATT3", url64 | base64, 60, 0},
	{"CircleCI", "CCIPAT_", word, 40, 0},
	{"Doppler", "dp.pt.", alnum, 40, 0},
	{"age", "AGE-SECRET-KEY-1", upper | digit, 58, 58},
	{"Discord webhook", "discord.com/api/webhooks/", url64 | base64, 60, 0},
}

// byFirst maps the first byte of a prefix to its formats.
var byFirst = sync.OnceValue(func() *[256][]format {
	m := new([256][]format)
	for _, f := range formats {
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
	for _, f := range formats {
		add(f.prefix)
	}
	for _, other := range []string{jwtStart, "be", "Be", "bE", "BE"} {
		add(other)
	}
	return sets
})

// isPrefix reports whether mask may have kept s.
func isPrefix(s string) bool {
	return s == jwtStart || slices.ContainsFunc(formats, func(f format) bool { return f.prefix == s })
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
	if strings.HasPrefix(r.src[i:], "-----BEGIN ") {
		return r.pem(i)
	}
	if strings.HasPrefix(r.src[i:], "--") && (i == r.done || r.src[i-1] != '-') {
		return r.flag(i + 2)
	}
	return i + 1
}

// pem masks the body of a private key. The body of a key that is cut off ends with its last line of base64. The
// few headers of an encrypted key are masked with the body.
func (r *redactor) pem(i int) int {
	const (
		rule      = "-----"
		least     = 16 // of the first line: a text may only mention the header
		headers   = 4
		maxHeader = 200
	)
	s := r.src[i+len("-----BEGIN "):]
	head := strings.Index(s[:min(len(s), 60)], rule)
	if head < 0 || !strings.Contains(s[:head], "PRIVATE KEY") {
		return i + len(rule)
	}
	from := i + len("-----BEGIN ") + head + len(rule)
	to, body := from, false
	for seen := 0; ; {
		to += blank(r.src[to:])
		n := run(r.src[to:], std64|hyphen)
		switch line := r.src[to : to+n]; {
		case n == 0, strings.HasPrefix(line, rule):
			if !body {
				return from
			}
			return r.mask(from, to, "")
		case !body && seen < headers && strings.HasPrefix(r.src[to+n:], ": "): // Proc-Type: 4,ENCRYPTED
			to += n
			to = lineEnd(r.src[:min(len(r.src), to+maxHeader)], to)
			seen++
		case !body && n < least:
			return from
		default:
			body = true
			to += n
		}
	}
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
