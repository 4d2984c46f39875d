package sanitize

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// Made-up secrets: each is random, none was ever issued.
const (
	alphaNumeric = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	capitals     = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	hexDigits    = "0123456789abcdef"
	base64Text   = alphaNumeric + "+/"
)

type dice struct{ *rand.Rand }

func (d dice) text(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[d.IntN(len(alphabet))]
	}
	return string(b)
}

// forged is a made-up secret: the prefix that may stay, the secret, and what follows.
type forged struct {
	keep, secret, after string
	named               bool // found by its name, so that its end is the end of the value
}

// forge returns a secret of every kind.
func forge(d dice) map[string]forged {
	m := map[string]forged{}
	for _, f := range formats() {
		n := max(f.least, 64)
		if f.most > 0 {
			n = f.most
		}
		alphabet := alphaNumeric
		switch {
		case f.class&lower == 0 && f.class&hexLetter == 0:
			alphabet = capitals
		case f.class&letter == 0:
			alphabet = hexDigits
		}
		m[f.prefix] = forged{keep: f.prefix, secret: d.text(alphabet, n)}
	}
	line := func() string { return d.text(base64Text, 64) + "\n" }
	m["JWT"] = forged{keep: "eyJ", secret: d.text(alphaNumeric, 33) + ".eyJ" + d.text(alphaNumeric, 61) + "." +
		d.text(alphaNumeric, 43)}
	m["JWE"] = forged{keep: "eyJ", secret: d.text(alphaNumeric, 33) + ".." + d.text(alphaNumeric, 16) + "." +
		d.text(alphaNumeric, 60) + "." + d.text(alphaNumeric, 22)}
	m["PEM"] = forged{keep: "-----BEGIN RSA PRIVATE KEY-----\n", secret: line() + line() + d.text(base64Text, 22) +
		"==", after: "\n-----END RSA PRIVATE KEY-----"}
	m["PEM, encrypted"] = forged{keep: "-----BEGIN EC PRIVATE KEY-----\n",
		secret: "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + line(),
		after:  "-----END EC PRIVATE KEY-----"}
	m["PEM, cut off"] = forged{keep: "-----BEGIN OPENSSH PRIVATE KEY-----\n",
		secret: line() + line() + d.text(base64Text, 12), after: "\n[cut off]"}
	m["PEM in JSON"] = forged{keep: `-----BEGIN PRIVATE KEY-----\n`, secret: d.text(base64Text, 64) + `\n` +
		d.text(base64Text, 20), after: `\n-----END PRIVATE KEY-----\n`}
	m["PEM in a listing"] = forged{keep: "     9→-----BEGIN PRIVATE KEY-----\n", secret: "    10→" + line() + "    11→" +
		line() + "    12→" + d.text(base64Text, 20) + "==", after: "\n13→-----END PRIVATE KEY-----"}
	m["PEM in a search"] = forged{keep: "-----BEGIN PRIVATE KEY-----\n", secret: "2:" + line() + "3:" + line(),
		after: "4:-----END PRIVATE KEY-----"}
	m["PEM in a listing in JSON"] = forged{keep: `-----BEGIN PRIVATE KEY-----\n`, secret: `10\t` +
		d.text(base64Text, 64) + `\n11\t` + d.text(base64Text, 20), after: `\n12\t-----END PRIVATE KEY-----\n`}
	m["PEM without its beginning"] = forged{keep: "x.\n", secret: line() + line() + d.text(base64Text, 22) + "==",
		after: "\n-----END RSA PRIVATE KEY-----"}
	m["PEM in JSON without its beginning"] = forged{keep: `.\n`, secret: d.text(base64Text, 64) + `\n` +
		d.text(base64Text, 20), after: `\n-----END PRIVATE KEY-----\n`}
	m["Azure client secret"] = forged{secret: d.text(alphaNumeric, 3) + "8Q~" + d.text(alphaNumeric+"-_.~", 34)}
	m["Telegram"] = forged{keep: d.text("123456789", 10) + ":", secret: "AA" + d.text(alphaNumeric, 33)}
	m["Discord"] = forged{secret: "M" + d.text(alphaNumeric, 23) + ".G" + d.text(alphaNumeric, 5) + "." +
		d.text(alphaNumeric, 38)}
	m["URL"] = forged{keep: "postgres://app:", secret: d.text(alphaNumeric, 40), after: "@host/x"}
	m["URL without a user"] = forged{keep: "redis://:", secret: d.text(alphaNumeric, 40), after: "@host"}
	m["Bearer alone"] = forged{keep: "sent bearer ", secret: "7" + d.text(alphaNumeric, 39)}
	for kind, form := range map[string][2]string{
		"AWS secret": {"AWS_SECRET_ACCESS_KEY="}, "AWS secret in JSON": {`"SecretAccessKey": "`, `"`},
		"AWS secret in a file": {"aws_secret_access_key = "},
		"Azure storage":        {"DefaultEndpointsProtocol=https;AccountName=x;AccountKey=", ";EndpointSuffix=x"},
		"Bearer":               {"Authorization: Bearer "}, "Basic": {"proxy-authorization: Basic "},
		"header": {"X-Api-Key: "}, "header in JSON": {`"authorization": "Bearer `, `"`},
		"variable": {"export DEPLOY_TOKEN="}, "quoted variable": {`DB_PASSWORD="`, `"`}, "YAML": {"client_secret: "},
		"JSON": {`{"accessToken":"`, `","a":1}`}, "JSON in JSON": {`{\"password\":\"`, `\"}`},
		"JSON in JSON in JSON": {`{\\\"password\\\":\\\"`, `\\\"}`},
		"query":                {"https://x.example/?a=b&api_key=", "&c=d"}, "subscript": {"env['MY_SECRET'] = '", "'"},
		"Go": {"apiKey := \"", "\""}, "Ruby": {":password => '", "'"}, "flag": {"login --password "},
		"flag with =": {"login --token="}, "argument list": {`["login","--api-key","`, `"]`},
		"Twilio token": {"TWILIO_AUTH_TOKEN="}, "escaped line": {`\nCIRCLE_TOKEN=`, `\nX=1`},
		"camel": {"privateKey: "}, "kebab": {"client-secret="}, "dotted": {"spring.datasource.password="},
		"SAS": {"https://x.blob.core.windows.net/c?sv=2024&sig=", "&se=2026"},
	} {
		m[kind] = forged{keep: form[0], secret: "7" + d.text(alphaNumeric, 39), after: form[1], named: true}
	}
	return m
}

// TestSecretsAreMasked: of a secret of each kind, in each surrounding, only its prefix and its length are left.
func TestSecretsAreMasked(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(1, 2))}
	surroundings := map[string][2]string{
		"alone": {"", ""}, "line": {"before\n", "\nafter"}, "text": {"the word is ", " and more"},
		"JSON": {`{"a":"`, `","b":1}`}, "escaped": {`"said\n`, `\nmore"`}, "escaped quote": {`{\"a\":\"x `, `\"}`},
		"unicode escape": {`"x\u003d`, `\u0026y"`}, "percent": {"x%3D", "&y"},
		"brackets": {"(", ")"}, "tag": {"<b>", "</b>"}, "beyond ASCII": {"日本", " 日本"}, "comma": {"a, ", ", b"},
		"quotes": {"'", "'"}, "backticks": {"`", "`"},
	}
	kinds := 0
	for range 3 {
		kinds = 0
		for kind, f := range forge(d) {
			kinds++
			for where, around := range surroundings {
				if f.named && f.after == "" && where != "alone" && where != "line" {
					continue
				}
				in := around[0] + f.keep + f.secret + f.after + around[1]
				out := Redact(in)
				testkit.Check(t, left(out, f.secret) <= 8, "%s, %s: %q became %q", kind, where, in, out)
				if !strings.HasPrefix(out, around[0]+strings.TrimSuffix(strings.TrimSuffix(f.keep, "\n"), `\n`)) ||
					!strings.HasSuffix(out, strings.TrimPrefix(strings.TrimPrefix(f.after+around[1], "\n"), `\n`)) {
					t.Errorf("%s, %s: %q became %q: the surrounding changed", kind, where, in, out)
				}
				testkit.Check(t, strings.Contains(out, MarkStart), "%s, %s: no mark in %q", kind, where, out)
				again := Redact(out)
				testkit.Check(t, again == out, "%s, %s: %q, then %q", kind, where, out, again)
			}
		}
	}
	testkit.Check(t, kinds >= 100, "%d kinds only", kinds)
}

// left returns the length of the longest piece of a secret that is still in the output.
func left(out, secret string) int {
	most := 0
	for from := range len(secret) {
		for from+most < len(secret) && strings.Contains(out, secret[from:from+most+1]) {
			most++
		}
	}
	return most
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"prefix and length", "key sk-ant-" + strings.Repeat("a", 88), "key sk-ant-*redacted:95*"},
		{"known value of a name", "ANTHROPIC_API_KEY=sk-ant-" + strings.Repeat("a", 88) + "\nX=1",
			"ANTHROPIC_API_KEY=sk-ant-*redacted:95*\nX=1"},
		{"two in a line", "A_TOKEN=abc B_TOKEN=defg", "A_TOKEN=*redacted:3* B_TOKEN=*redacted:4*"},
		{"JSON", `{"password":"a\"b","n":1}`, `{"password":"*redacted:4*","n":1}`},
		{"JSON in JSON", `"{\"password\":\"ab\",\"n\":1}"`, `"{\"password\":\"*redacted:2*\",\"n\":1}"`},
		{"URL", "https://bob:pa:ss@host:80/p", "https://bob:*redacted:5*@host:80/p"},
		{"header", "Authorization: Bearer abc.def-123\r\nHost: x", "Authorization: Bearer *redacted:11*\r\nHost: x"},
		{"header in curl", `-H "Authorization: token abcdef" https://x`,
			`-H "Authorization: token *redacted:6*" https://x`},
		{"escape in a variable's value", `PASSWORD=a,b;c\nNEXT=1`, `PASSWORD=*redacted:5*\nNEXT=1`},
		{"pretended mark", "PASSWORD=*redacted:5*hunter2", "PASSWORD=*redacted:19*"},
		{"pretended prefix", "PASSWORD=hunter2*redacted:5*", "PASSWORD=*redacted:19*"},
		{"pretended length", "PASSWORD=*redacted:hunter2*", "PASSWORD=*redacted:18*"},
		{"PEM", "a\n-----BEGIN PRIVATE KEY-----\nMIIEMIIEMIIEMIIE\nAAAA\n-----END PRIVATE KEY-----\nb",
			"a\n-----BEGIN PRIVATE KEY-----*redacted:23*-----END PRIVATE KEY-----\nb"},
		{"rest of a PEM", "a\nMIIEMIIEMIIEMIIE\nAAAA\n-----END PRIVATE KEY-----\nb",
			"a\n*redacted:21*\n-----END PRIVATE KEY-----\nb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testkit.Same(t, tt.in, tt.want, Redact(tt.in))
		})
	}
}

// TestNoSecrets has texts that must stay readable.
func TestNoSecrets(t *testing.T) {
	for _, text := range []string{
		"", "plain text, nothing to hide: here", "550e8400-e29b-41d4-a716-446655440000",
		"session=550e8400-e29b-41d4-a716-446655440000", "da39a3ee5e6b4b0d3255bfef95601890afd80709",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "d41d8cd98f00b204e9800998ecf8427e",
		"/home/me/.local/state/arbiter/runs/2026-11-21/journal.000001", `C:\Users\me\task-list\sk-notes.txt`,
		"github.com/arbiter-cli/arbiter v0.0.0-20261121063313-7852c92abcde",
		"h1:9fHAtK0uDfpveeqqo1hkEZJcFvYXAiCN3UutL8F9xHw=", `"max_tokens": 300000, "input_tokens":12, "output_tokens":7`,
		"token: 12", "next_token=7", "tokens: many and more", "key_context: The word was the human's.",
		"the key: value pairs", "primary key: id", "keyboard=qwerty", "monkey: banana", "author: someone",
		"authority=high", "turkey=bird", "password_file=/run/secrets/db", "TOKEN_URL=https://example.com/token",
		"token_type: bearer", "secret_name: db", "API_KEY=${API_KEY}", "API_KEY=$API_KEY", "api_key: <your key>",
		"PASSWORD=****", "password: null", "password: ''", `"secret": true`, "token := next(line)",
		"if token == other {", "std::token::Type", "a bearer of bad news which is long",
		"-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
		"a file that begins with -----BEGIN PRIVATE KEY----- is a key", "text\n-----END PRIVATE KEY-----",
		"its last line\nis\n-----END PRIVATE KEY-----\nof course", "-----BEGIN PRIVATE KEY-----\n12: it\n13: is",
		"https://example.com:8080/a@b", "ssh://git@github.com/x/y", "mailto:a@b.example", "time: 12:30:45 AM",
		"npm_config_registry=https://registry.example", "SKELETON", "SK", "key-value", "eyJ is how it begins", "a.b.c",
		"hf_transfer", "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:12 +0x1d\nexit status 2",
		"orch-1: sk-ant- is a prefix", "Q~", "1.2.3.4:443", "--token-limit 5", "--password-file x", "rule ----- rule",
		"toolu_01A09q90qw90lq917835lq9", "msg_013Zva2CMHLNnjNjJKqJ2EF", "req_011CSHoEeqs5C35K2UUqR7Fy",
		"AKIA is not enough", "see pypi-server and glpat-short", "0123456789:short", strings.Repeat("A", 5000),
		strings.Repeat("eyJ-", 2000), `cp: "/w/passwd": permission denied`, "open /home/me/.db/password: permission denied",
		"read /run/secret: is a directory", "open secrets: file exists", "open C:\\secrets: file already exists",
	} {
		got := Redact(text)
		testkit.Check(t, got == text, "%q became %q", text, got)
		if n := testing.AllocsPerRun(10, func() { Redact(text) }); n > 8 { // not one for each character or token
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}

// insistent are texts that, repeated, try to make the redactor read the same bytes again and again.
var insistent = []string{
	"eyJa.", "-eyJa", "-----BEGIN PRIVATE KEY-----\n", "-----BEGIN ", "password=\"", "password='", "password=`",
	"a_token:", "https://a:", "://", "Bearer ", "Bearer a", "sk-ant-", "sk-", "--token ", "=", ":", ".",
	"Maaaaaaaaaaaaaaaaaaaaaaaaaa.", "1234567890:A", `\`, `password=\`, "Authorization: ", "xoxe", "glc_", "8Q~",
	"-----BEGIN PRIVATE KEY-----\nA: ", "--token --", "-----END PRIVATE KEY-----", "\n\n-----END PRIVATE KEY-----",
	"AAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----",
}

// TestRedactEnds: the texts are so long that an algorithm of quadratic time would not end while tests run.
func TestRedactEnds(t *testing.T) {
	for _, unit := range insistent {
		text := strings.Repeat(unit, 2_000_000/len(unit))
		n := testing.AllocsPerRun(1, func() { Redact(text) })
		testkit.Check(t, n <= float64(len(text))/2, "%q: %.0f allocations for %d bytes", unit, n, len(text))
	}
}

// TestDisguisedSecrets: a secret that contains something invisible is a secret on the screen, which does not show
// that part.
func TestDisguisedSecrets(t *testing.T) {
	d := dice{rand.New(rand.NewPCG(5, 6))}
	for _, veil := range []string{"\x1b[m\x1b[K", "\x1b[01;31m", "\u200b", "\u2060", "\u009b0m", "\x1b]8;;x\a", "\x00",
		"\U000E0041", "\u00ad", "\u202e"} {
		for _, at := range []int{2, 7, 12, 20} {
			secret := "sk-ant-api03-" + d.text(alphaNumeric, 40)
			text := "found " + secret[:at] + veil + secret[at:] + veil + " in a file\n"
			out := Redact(text)
			n := left(Text(out), secret[7:])
			testkit.Check(t, n <= 4, "%d bytes of %q are seen in %q", n, text, out)
			testkit.Check(t, strings.HasPrefix(Text(out), "found ") && strings.HasSuffix(Text(out), " in a file\n"),
				"%q became %q", text, out)
		}
	}
	const coloured = "\x1b[31mno secret\x1b[0m\u200b here, password: \x1b[1mnone\x1b[m"
	got := Redact(coloured)
	testkit.Check(t, got == coloured, "%q became %q", coloured, got)
}

func FuzzRedact(f *testing.F) {
	d := dice{rand.New(rand.NewPCG(3, 4))}
	for _, s := range forge(d) {
		f.Add(s.keep + s.secret + s.after)
	}
	for _, s := range []string{"PASSWORD=*redacted:5*x", `password:"`, "--token --token x", "a://b:c@d:e@f",
		`token="\"\\"`, "Authorization: Basic Basic x", "x_KEY=AKIA\xff", "token:\u2028x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Redact(s)
		again := Redact(out)
		testkit.Need(t, again == out, "not idempotent: %q, %q, %q", s, out, again)
		testkit.Need(t, !utf8.ValidString(s) || utf8.ValidString(out), "%q became invalid: %q", s, out)
		testkit.Need(t, len(out) <= 8*len(s)+32, "%d bytes became %d", len(s), len(out))
		testkit.Need(t, Redact(s) == out, "not the same twice")
	})
}
