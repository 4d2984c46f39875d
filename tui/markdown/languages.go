package markdown

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
