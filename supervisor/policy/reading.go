package policy

import "strings"

// reading describes uses of a command that only read: options that are not listed here may do anything.
type reading struct {
	short    string // letters of options without a value
	value    string // letters of options with one, in the same word or the next
	optional string // letters of options that may have one, only in the same word
	long     string // long options; those with a value end in =, and accept it only in that form
	operands operandKind
	most     int  // operands; 0 for any number
	deep     bool // it shows contents of files that are not operands
}

type operandKind int

const (
	files operandKind = iota
	patternThenFiles
	words
	none
	formats // +%F
	numbers
)

// parse parses arguments. options are the given ones, without their values. A value that is a separate word
// never begins with -, so that no option is mistaken for a value. Except for a search, such a value also counts
// as an operand, because the command might take no value there and read a file instead.
func (u reading) parse(args []string) (operands, options []string, ok bool) {
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w == "--":
			return append(operands, args[i+1:]...), options, true
		case w == "-" || !strings.HasPrefix(w, "-"):
			operands = append(operands, w)
		case strings.HasPrefix(w, "--"):
			name, _, hasValue := strings.Cut(w, "=")
			want := name[2:]
			if hasValue {
				want += "="
			}
			if !containsWord(u.long, want) {
				return nil, nil, false
			}
			options = append(options, name)
		default:
			given, needsValue, known := u.letters(w[1:])
			if !known {
				return nil, nil, false
			}
			options = append(options, given...)
			if !needsValue {
				continue
			}
			if i++; i >= len(args) || strings.HasPrefix(args[i], "-") {
				return nil, nil, false
			}
			if u.operands == files && u.most == 0 {
				operands = append(operands, args[i])
			}
		}
	}
	return operands, options, true
}

// letters parses a word of short options. needsValue says that the next word is the value of the last one.
func (u reading) letters(s string) (options []string, needsValue, known bool) {
	for i := range len(s) {
		options = append(options, "-"+s[i:i+1])
		switch {
		case strings.IndexByte(u.short, s[i]) >= 0:
		case strings.IndexByte(u.optional, s[i]) >= 0:
			return options, false, true
		case strings.IndexByte(u.value, s[i]) >= 0:
			return options, i == len(s)-1, true
		default:
			return nil, false, false
		}
	}
	return options, false, true
}

// containsWord finds a word in a text of words.
func containsWord(text, word string) bool {
	for w := range strings.FieldsSeq(text) {
		if w == word {
			return true
		}
	}
	return false
}

const digits = "0123456789"

// readingCommands only read, if they are used in the described way. Left out on purpose: what follows links on
// its way (grep -R, diff of directories), writes (sort -o, tree -o, tree -R, uniq's second operand, file -C),
// runs other programs (rg --pre, sort --compress-program, sed, awk), or reads names or patterns from files.
var readingCommands = map[string]reading{
	"pwd":    {short: "LP", operands: none},
	"true":   {operands: none},
	"false":  {operands: none},
	"whoami": {operands: none},
	"uptime": {operands: none},
	"nproc":  {operands: none},
	"id":     {short: "gGnru", operands: words},
	"uname":  {short: "asnrvmpio", operands: none},
	"date":   {short: "uRI", value: "d", long: "utc universal iso-8601 iso-8601= rfc-3339= date=", operands: formats},
	"sleep":  {operands: numbers},
	"seq":    {short: "w", value: "s", operands: numbers},
	"echo":   {short: "neE", operands: words},
	"which":  {short: "a", operands: words},
	"type":   {short: "atp", operands: words},
	"tr":     {short: "cCdst", operands: words},

	"basename": {short: "az", value: "s", operands: words},
	"dirname":  {short: "z", operands: words},
	"realpath": {short: "emsqzLP"},
	"readlink": {short: "efmnqsvz"},

	"ls": {short: "1aAbBcCdfFgGhHiklmnNopqQrRsStuUvxXZ", value: "ITw",
		long: "all almost-all human-readable recursive reverse size sort= time= time-style= color color= classify " +
			"directory full-time group-directories-first inode no-group numeric-uid-gid file-type format= hide= " +
			"ignore= si"},
	"cat":  {short: "AbeEnstTuv"},
	"tac":  {},
	"rev":  {},
	"nl":   {value: "bdfhilnsvw"},
	"head": {short: "qvz" + digits, value: "nc", long: "lines= bytes= quiet silent verbose"},
	"tail": {short: "qvzfF" + digits, value: "nc", long: "lines= bytes= quiet silent verbose follow retry"},
	"wc":   {short: "clmwL", long: "lines words chars bytes max-line-length"},
	"stat": {short: "Ltf", value: "c", long: "format= printf= terse"},
	"file": {short: "bikN0", long: "brief mime mime-type mime-encoding"},
	"du": {short: "abchkmsxS0", value: "dt",
		long: "all bytes total human-readable summarize max-depth= apparent-size one-file-system si exclude= " +
			"threshold="},
	"df": {short: "ahHiklPT", long: "all human-readable inodes total local"},
	"tree": {short: "adfipsughDFrtcnCASNQqvUxJX", value: "LPI",
		long: "dirsfirst noreport du prune gitignore ignore-case matchdirs"},
	"sort": {short: "bdfghiMnRrVzucCms", value: "kt",
		long: "reverse unique numeric-sort ignore-case human-numeric-sort version-sort check stable key= " +
			"field-separator="},
	"uniq": {short: "cdDuiz", value: "fsw", long: "count repeated unique ignore-case", most: 1},
	"cut": {short: "nsz", value: "bcdf",
		long: "bytes= characters= delimiter= fields= only-delimited output-delimiter= complement"},
	"comm":      {short: "123z", most: 2},
	"cmp":       {short: "bls", value: "in", long: "silent quiet print-bytes verbose", most: 2},
	"md5sum":    {short: "btz"},
	"sha256sum": {short: "btz"},
	"diff": {deep: true, short: "abBcdeEiNnpqstTuwy", value: "UCWI", most: 2,
		long: "no-dereference brief unified unified= context= side-by-side ignore-all-space ignore-space-change " +
			"ignore-blank-lines ignore-case color color= suppress-common-lines report-identical-files minimal text " +
			"width= label= strip-trailing-cr"},

	"grep":  grepping,
	"egrep": grepping,
	"fgrep": grepping,
	"rg": {short: "FiSsvwxclnNHIoqUPap0.u", value: "egtTABCmMdjEr", operands: patternThenFiles, deep: true,
		long: "files hidden no-ignore no-heading heading line-number no-line-number count count-matches " +
			"files-with-matches files-without-match ignore-case smart-case case-sensitive fixed-strings word-regexp " +
			"invert-match only-matching " +
			"multiline multiline-dotall pcre2 json stats trim glob= iglob= type= type-not= max-count= max-depth= " +
			"max-columns= context= after-context= before-context= regexp= replace= sort= sortr= color= vimgrep " +
			"column no-messages quiet passthru null text type-list"},
}

var grepping = reading{short: "EFGPivwxchHlLnoqsabTUrI" + digits, value: "eABCm", operands: patternThenFiles,
	deep: true,
	long: "recursive ignore-case invert-match word-regexp line-regexp count files-with-matches " +
		"files-without-match line-number with-filename no-filename only-matching quiet silent no-messages " +
		"extended-regexp fixed-strings basic-regexp perl-regexp " +
		"color color= include= exclude= exclude-dir= max-count= after-context= before-context= context= regexp= " +
		"text null binary-files="}
