package render

import (
	"cmp"
	"slices"
	"strings"
)

// language is what the tokenizer knows about a language: enough to distinguish comments, strings, numbers
// and keywords, line by line, looking at each byte a bounded number of times. It consists of constant data,
// so it costs nothing before it is used.
type language struct {
	names    string // between blanks, lower case
	comments []string
	block    [2]string
	quotes   []quote
	keywords string // between blanks
	fold     bool   // keywords are case-insensitive
	letters  string // further characters of names, besides letters, digits and _
	key      byte   // ends a key: : or =
	loose    bool   // quotes and comments begin only where no word continues
	tags     bool   // < begins the name of a tag
	special  func(text string, s state) (Line, state)
}

// quote begins and ends a string.
type quote struct {
	open, close string
	escape      bool // a backslash escapes the next character
	lines       bool // it may span several lines
	char        bool // exactly one character; otherwise it is not a string
}

// state is the state at the end of a line: 0, inComment, or 1 + the index of the open quote.
type state uint8

const inComment state = 255

// find returns the language with a name, or nil.
func find(name string) *language {
	const longest = 20
	if name == "" || len(name) > longest {
		return nil
	}
	name = " " + strings.ToLower(name) + " "
	for i := range languages {
		if strings.Contains(languages[i].names, name) {
			return &languages[i]
		}
	}
	return nil
}

func (l *language) line(text string, s state) (Line, state) {
	switch {
	case text == "":
		return nil, s
	case l == nil:
		return Of(Code, text), s
	case l.special != nil:
		return l.special(text, s)
	}
	t := tokens{lang: l, text: text}
	return t.run(s)
}

// tokens is the state of tokenizing a line.
type tokens struct {
	lang *language
	text string
	out  Line
	done int // of text is in out
	at   int
}

// take ends a token with a role. The text before it gets no role of its own.
func (t *tokens) take(from, to int, r Role) {
	if from > t.done {
		t.out = t.out.Append(Code, t.text[t.done:from])
	}
	if to > from {
		t.out = t.out.Append(r, t.text[from:to])
	}
	t.done, t.at = to, to
}

func (t *tokens) run(s state) (Line, state) {
	switch { // a comment or string of an earlier line goes on
	case s == inComment:
		s = t.comment(t.at, t.at)
	case s > 0:
		s = t.str(t.at, t.at, int(s-1))
	}
	for s == 0 && t.at < len(t.text) {
		s = t.token()
	}
	t.take(len(t.text), len(t.text), Code)
	return t.out, s
}

func (t *tokens) token() state {
	l, i := t.lang, t.at
	c := t.text[i]
	rest := t.text[i:]
	if c == ' ' || c == '\t' {
		t.at++
		return 0
	}
	begins := !l.loose || i == 0 || strings.IndexByte(" \t[{(,:=|&;", t.text[i-1]) >= 0
	if begins {
		if l.block[0] != "" && strings.HasPrefix(rest, l.block[0]) {
			return t.comment(i, i+len(l.block[0]))
		}
		for _, open := range l.comments {
			if strings.HasPrefix(rest, open) {
				t.take(i, len(t.text), CodeComment)
				return 0
			}
		}
		for k := range l.quotes {
			if q := &l.quotes[k]; strings.HasPrefix(rest, q.open) && (!q.char || isChar(rest)) {
				return t.str(i, i+len(q.open), k)
			}
		}
	}
	switch {
	case c == '<' && l.tags:
		name := len(rest) - len(strings.TrimLeft(rest, "</!?"))
		for name < len(rest) && (alphanumeric(rest[name]) || strings.IndexByte("-_:.", rest[name]) >= 0) {
			name++
		}
		t.take(i, i+name, CodeKeyword)
	case c == '>' && l.tags:
		t.take(i, i+1, CodeKeyword)
	case c >= '0' && c <= '9':
		t.number()
	case l.letter(c):
		t.word()
	case c == '$' && l.loose:
		t.variable()
	default:
		t.at++
	}
	return 0
}

// comment reads a comment up to its end, or the end of the line.
func (t *tokens) comment(from, after int) state {
	end := t.lang.block[1]
	if i := strings.Index(t.text[after:], end); i >= 0 {
		t.take(from, after+i+len(end), CodeComment)
		return 0
	}
	t.take(from, len(t.text), CodeComment)
	return inComment
}

// str reads a string up to its end, or the end of the line.
func (t *tokens) str(from, after, k int) state {
	q := &t.lang.quotes[k]
	for i := after; i < len(t.text); i++ {
		switch {
		case q.escape && t.text[i] == '\\':
			i++
		case strings.HasPrefix(t.text[i:], q.close):
			t.string(from, i+len(q.close))
			return 0
		}
	}
	t.take(from, len(t.text), CodeString)
	if q.lines {
		return state(k + 1)
	}
	return 0
}

// string ends a whole string: a key, if the language's key mark follows.
func (t *tokens) string(from, to int) {
	role := CodeString
	if t.lang.key != 0 && strings.HasPrefix(strings.TrimLeft(t.text[to:min(to+4, len(t.text))], " "),
		string(t.lang.key)) {
		role = CodeName
	}
	t.take(from, to, role)
}

func (t *tokens) number() {
	i := t.at
	for i < len(t.text) &&
		(alphanumeric(t.text[i]) || t.text[i] == '_' || t.text[i] == '.' && i+1 < len(t.text) && t.text[i+1] != '.') {
		i++
	}
	t.take(t.at, i, CodeNumber)
}

func (t *tokens) word() {
	const longest = 24
	l, i := t.lang, t.at
	for i < len(t.text) &&
		(l.letter(t.text[i]) || t.text[i] >= '0' && t.text[i] <= '9' ||
			i > t.at && strings.IndexByte(l.letters, t.text[i]) >= 0) {
		i++
	}
	word := t.text[t.at:i]
	role := Code
	if len(word) <= longest {
		known := word
		if l.fold {
			known = strings.ToLower(word)
		}
		if strings.Contains(l.keywords, " "+known+" ") {
			role = CodeKeyword
		}
	}
	if role == Code && l.isName(t.text[i:]) {
		role = CodeName
	}
	if role == Code {
		t.at = i
		return
	}
	t.take(t.at, i, role)
}

func (t *tokens) variable() {
	i := t.at + 1
	if i < len(t.text) && t.text[i] == '{' {
		if n := strings.IndexByte(t.text[i:], '}'); n >= 0 {
			t.take(t.at, i+n+1, CodeName)
			return
		}
	}
	for i < len(t.text) && (alphanumeric(t.text[i]) || t.text[i] == '_') {
		i++
	}
	t.take(t.at, max(i, t.at+1), CodeName)
}

func (l *language) letter(c byte) bool {
	return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// isName reports, from the text after a word, whether the word is a name of something.
func (l *language) isName(rest string) bool {
	switch {
	case rest == "":
		return false
	case l.key == ':':
		return rest[0] == ':' && (len(rest) == 1 || rest[1] == ' ')
	case l.key == '=':
		rest = strings.TrimLeft(rest[:min(len(rest), 4)], " ")
		return rest != "" && rest[0] == '='
	}
	return rest[0] == '(' || strings.HasPrefix(rest, "!(")
}

// isChar reports whether a character in single quotes begins s, and not a lifetime or an
// apostrophe.
func isChar(s string) bool {
	const longest = 12
	if len(s) > 1 && s[1] == '\\' {
		return true
	}
	i := strings.IndexByte(s[1:min(len(s), longest)], '\'')
	return i > 0 && i <= 4
}

func difference(text string, s state) (Line, state) {
	role := Code
	switch text[0] {
	case '+':
		role = DiffAdd
	case '-':
		role = DiffRemove
	case '@':
		role = DiffHunk
	case 'd', 'i':
		if strings.HasPrefix(text, "diff ") || strings.HasPrefix(text, "index ") {
			role = DiffHunk
		}
	}
	return Of(role, text), s
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// coder gives the lines of a block of code their roles, one after the other.
type coder struct {
	lang  *language
	state state
}

func (c *coder) line(text string) (line Line) {
	line, c.state = c.lang.line(strings.TrimRight(text, "\r"), c.state)
	return line
}

// growingCode is a block of code that is still arriving. Its lines but the last are laid out once.
type growingCode struct {
	width      int
	info, text string // as far as it is laid out
	coder      coder  // at the end of that
	lines      []Line
}

// codeBlock lays out a block of code. Lines are not wrapped at words, but cut at the edge.
func (l blockLayout) codeBlock(info, text string) []Line {
	bar, rest := l.glyphs.Vertical+" ", l.glyphs.Vertical+l.glyphs.Ellipsis
	if l.width < roomy {
		bar, rest = "", ""
	}
	l.width -= Width(bar)
	code := cmp.Or(l.code, &growingCode{})
	if code.width != l.width || code.info != info || !strings.HasPrefix(text, code.text) {
		*code = growingCode{width: l.width, info: info, coder: coder{lang: find(languageOf(info))}}
		if info != "" {
			label := Shorten(strings.ReplaceAll(info, "\t", " "), l.width, l.glyphs.Ellipsis)
			code.lines = prefixed([]Line{Of(Dim, label)}, Of(Frame, bar), nil)
		}
	}
	lay := func(c *coder, line string) []Line {
		return prefixed(l.fit(Cut(c.line(line), l.width)), Of(Frame, bar), Of(Frame, rest))
	}
	lines := strings.Split(strings.TrimSuffix(text[len(code.text):], "\n"), "\n")
	for _, line := range lines[:len(lines)-1] {
		code.text = text[:len(code.text)+len(line)+1]
		code.lines = append(code.lines, lay(&code.coder, line)...)
	}
	c := code.coder
	return append(slices.Clip(code.lines), lay(&c, lines[len(lines)-1])...)
}

// languageOf returns the name of the language that the info string of a block of code begins with.
func languageOf(info string) string {
	name := strings.TrimLeft(info, "{. ")
	if i := strings.IndexAny(name, " \t,:{}"); i >= 0 {
		name = name[:i]
	}
	return name
}

// Highlight gives the text of each line of code its roles. Lines are not wrapped; tabs are kept.
func Highlight(lang, src string) []Line {
	c := coder{lang: find(lang)}
	var out []Line
	for text := range strings.SplitSeq(src, "\n") {
		out = append(out, c.line(text))
	}
	return out
}

// The quotes languages share.
var (
	doubled    = quote{open: `"`, close: `"`, escape: true}
	single     = quote{open: "'", close: "'", escape: true}
	character  = quote{open: "'", close: "'", escape: true, char: true}
	verbatim   = quote{open: "'", close: "'"}
	rawTicks   = quote{open: "`", close: "`", lines: true}
	template   = quote{open: "`", close: "`", escape: true, lines: true}
	triple     = quote{open: `"""`, close: `"""`, escape: true, lines: true}
	tripleOne  = quote{open: "'''", close: "'''", escape: true, lines: true}
	manyLines  = quote{open: `"`, close: `"`, escape: true, lines: true}
	manySingle = quote{open: "'", close: "'", lines: true}
)

var (
	slashes      = []string{"//"}
	hash         = []string{"#"}
	slashComment = [2]string{"/*", "*/"}
)

// languages are the supported languages.
var languages = [...]language{
	{
		names: " go golang ", comments: slashes, block: slashComment, quotes: []quote{doubled, rawTicks, character},
		keywords: " break case chan const continue default defer else fallthrough for func go goto if import " +
			"interface map package range return select struct switch type var nil true false iota any bool byte " +
			"error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr ",
	},
	{
		names: " c h m cpp c++ cc cxx hpp objc objective-c cuda arduino ", comments: slashes, block: slashComment,
		quotes: []quote{doubled, character},
		keywords: " alignas alignof auto bool break case catch char class const consteval constexpr continue " +
			"co_await co_return co_yield decltype default define delete do double else endif enum explicit export " +
			"extern false final float for friend goto if ifdef ifndef include inline int long mutable namespace new " +
			"noexcept nullptr operator override private protected public pragma register restrict return short " +
			"signed sizeof static static_assert static_cast struct switch template this throw true try typedef " +
			"typename undef union unsigned using virtual void volatile while NULL size_t int8_t int16_t int32_t " +
			"int64_t uint8_t uint16_t uint32_t uint64_t ",
	},
	{
		names:    " java kotlin kt kts scala groovy gradle csharp cs c# swift dart php proto protobuf zig solidity ",
		comments: slashes, block: slashComment, quotes: []quote{triple, doubled, single}, letters: "$",
		keywords: " abstract actor as assert async await base bool boolean break by byte case catch char class " +
			"companion const continue data decimal def default defer delegate do double echo else enum event extends " +
			"extension extern false final finally float fn for foreach fun func function get goto guard if " +
			"implements import in include init inner instanceof int interface internal is lateinit lazy let lock " +
			"long match message module mutable namespace new nil null object open operator out override package " +
			"params private protected protocol public readonly record ref repeated repeat require return rpc sealed " +
			"self service set short sizeof static string String struct super switch synchronized this throw throws " +
			"trait transient true try type typealias typeof use using val var virtual void volatile when where while " +
			"with yield int32 int64 uint32 uint64 bytes option optional oneof map ",
	},
	{
		names: " python py python3 pyi pycon ipython starlark bzl ", comments: hash,
		quotes: []quote{triple, tripleOne, doubled, single},
		keywords: " False None True and as assert async await break case class continue def del elif else except " +
			"finally for from global if import in is lambda match nonlocal not or pass raise return self try while " +
			"with yield ",
	},
	{
		names: " javascript js jsx mjs cjs typescript ts tsx mts node deno json5 jsonc ", comments: slashes,
		block: slashComment, quotes: []quote{doubled, single, template}, letters: "$",
		keywords: " abstract any as async await boolean break case catch class const constructor continue debugger " +
			"declare default delete do else enum export extends false finally for from function get if implements " +
			"import in infer instanceof interface is keyof let module namespace never new null number object of " +
			"override private protected public readonly return satisfies set static string super switch symbol this " +
			"throw true try type typeof undefined unknown var void while with yield ",
	},
	{
		names: " rust rs ", comments: slashes, block: slashComment, quotes: []quote{manyLines, character},
		keywords: " Err None Ok Self Some as async await bool box break char const continue crate dyn else enum " +
			"extern f32 f64 false fn for i128 i16 i32 i64 i8 if impl in isize let loop macro match mod move mut pub " +
			"ref return self static str String struct super trait true type u128 u16 u32 u64 u8 union unsafe use " +
			"usize Vec where while yield ",
	},
	{
		names: " ruby rb rake elixir ex exs crystal perl pl ", comments: hash, quotes: []quote{doubled, single},
		letters: "?", keywords: " alias and begin break case class def defined do else elsif end ensure extend false " +
			"for foreach if in include last local module my next nil not or package private protected public raise " +
			"redo require require_relative rescue retry return self sub super then true undef unless until use when " +
			"while yield defmodule defp fn ",
	},
	{
		names: " lua ", comments: []string{"--"}, block: [2]string{"--[[", "]]"},
		quotes: []quote{doubled, single, {open: "[[", close: "]]", lines: true}},
		keywords: " and break do else elseif end false for function goto if in local nil not or repeat return then " +
			"true until while ",
	},
	{
		names:    " bash sh shell zsh console shellsession shell-session fish ksh terminal powershell ps1 ",
		comments: hash, quotes: []quote{manyLines, manySingle}, letters: "-", loose: true,
		keywords: " alias break case cd continue declare do done echo elif else esac eval exec exit export fi for " +
			"function if in local mkdir printf read readonly return select set shift source sudo then trap unset " +
			"until while ",
	},
	{names: " json jsonl ndjson geojson ipynb ", quotes: []quote{doubled}, keywords: " true false null ", key: ':'},
	{names: " yaml yml ", comments: hash, quotes: []quote{doubled, verbatim},
		keywords: " true false null yes no on off ", letters: "-./", key: ':', loose: true},
	{names: " toml ini cfg conf properties env dotenv editorconfig systemd ", comments: []string{"#", ";"},
		quotes: []quote{triple, tripleOne, doubled, verbatim}, keywords: " true false ", letters: "-.", key: '=',
		loose: true},
	{
		names: " sql postgres postgresql mysql sqlite plsql psql ", comments: []string{"--"}, block: slashComment,
		quotes: []quote{{open: "'", close: "'", lines: true}, {open: `"`, close: `"`}}, fold: true,
		keywords: " add all alter analyze and any as asc begin between bigint boolean by cascade case cast check " +
			"column commit constraint create cross current database date default delete desc distinct do drop else " +
			"end except exists explain false for foreign from full function grant group having if ilike in index " +
			"inner insert int integer intersect into is join json jsonb key left like limit not null numeric offset " +
			"on or order outer over partition primary references returning revoke right rollback row select serial " +
			"set table text then timestamp to transaction trigger true truncate union unique update using uuid " +
			"values varchar view when where with ",
	},
	{names: " css scss sass less ", comments: slashes, block: slashComment, quotes: []quote{doubled, single},
		letters: "-", key: ':',
		keywords: " important media import keyframes supports include mixin extend use forward "},
	{
		names: " dockerfile docker containerfile ", comments: hash, quotes: []quote{doubled, single}, loose: true,
		keywords: " FROM RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL " +
			"HEALTHCHECK SHELL AS ",
	},
	{names: " makefile make mk ", comments: hash, quotes: []quote{doubled, single}, letters: "-.", key: ':',
		loose: true, keywords: " ifeq ifneq ifdef ifndef else endif include define endef export override "},
	{
		names: " hcl terraform tf nix ", comments: []string{"#", "//"}, block: slashComment, quotes: []quote{doubled},
		letters: "-", key: '=',
		keywords: " resource data variable output module provider locals terraform for in if else let inherit with " +
			"rec import true false null ",
	},
	{
		names: " haskell hs elm purescript ", comments: []string{"--"}, block: [2]string{"{-", "-}"},
		quotes: []quote{doubled, character}, letters: "'",
		keywords: " case class data deriving do else family forall foreign if import in infix infixl infixr instance " +
			"let module newtype of then type where exposing port ",
	},
	{
		names: " clojure clj cljs lisp elisp scheme racket edn ", comments: []string{";"}, quotes: []quote{manyLines},
		letters: "-?!*+/<>=",
		keywords: " def defn defmacro defun defvar let fn if cond case when do loop recur lambda ns require nil true " +
			"false t quote set ",
	},
	{names: " html htm xml xhtml svg vue svelte astro rss plist ", block: [2]string{"<!--", "-->"},
		quotes: []quote{{open: `"`, close: `"`}, verbatim}, letters: "-:@", key: '=', loose: true, tags: true},
	{names: " diff patch udiff ", special: difference},
}
