package policy

import "strings"

// reading is how a command is used that only reads: options that are not named here
// may do anything.
type reading struct {
	short    string // letters of options without a value
	value    string // letters of options with one, which names no file
	long     string // long options; those with a value end in =
	operands operandKind
	most     int  // operands; 0 for any number
	deep     bool // it shows contents of files that are not among the operands
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

// parse takes arguments apart. options are those given, without their values. Values
// that are words of their own count as operands, too, but of a search: elsewhere the
// same letter may take none, and the word be a file.
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
			for j := 1; j < len(w); j++ {
				options = append(options, "-"+w[j:j+1])
				if strings.IndexByte(u.short, w[j]) >= 0 {
					continue
				}
				if strings.IndexByte(u.value, w[j]) < 0 {
					return nil, nil, false
				}
				if j+1 < len(w) {
					break // the rest is the value
				}
				if i++; i >= len(args) {
					return nil, nil, false
				}
				if u.operands == files && u.most == 0 {
					operands = append(operands, args[i])
				}
			}
		}
	}
	return operands, options, true
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

// readingCommands only read, if they are used so. Left out on purpose: what follows
// links on its way (grep -R, diff of directories), writes (sort -o, tree -o, tree -R,
// uniq's second operand, file -C), runs others (rg --pre, sort --compress-program,
// sed, awk), or takes names or patterns from files.
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
		long: "all almost-all human-readable recursive reverse size sort= time= time-style= color color= classify directory full-time group-directories-first inode no-group numeric-uid-gid file-type format= hide= ignore= si"},
	"cat":       {short: "AbeEnstTuv"},
	"tac":       {},
	"rev":       {},
	"nl":        {value: "bdfhilnsvw"},
	"head":      {short: "qvz" + digits, value: "nc", long: "lines= bytes= quiet silent verbose"},
	"tail":      {short: "qvzfF" + digits, value: "nc", long: "lines= bytes= quiet silent verbose follow retry"},
	"wc":        {short: "clmwL", long: "lines words chars bytes max-line-length"},
	"stat":      {short: "Ltf", value: "c", long: "format= printf= terse"},
	"file":      {short: "bikN0", long: "brief mime mime-type mime-encoding"},
	"du":        {short: "abchkmsxS0", value: "dt", long: "all bytes total human-readable summarize max-depth= apparent-size one-file-system si exclude= threshold="},
	"df":        {short: "ahHiklPT", long: "all human-readable inodes total local"},
	"tree":      {short: "adfipsughDFrtcnCASNQqvUxJX", value: "LPI", long: "dirsfirst noreport du prune gitignore ignore-case matchdirs"},
	"sort":      {short: "bdfghiMnRrVzucCms", value: "kt", long: "reverse unique numeric-sort ignore-case human-numeric-sort version-sort check stable key= field-separator="},
	"uniq":      {short: "cdDuiz", value: "fsw", long: "count repeated unique ignore-case", most: 1},
	"cut":       {short: "nsz", value: "bcdf", long: "bytes= characters= delimiter= fields= only-delimited output-delimiter= complement"},
	"comm":      {short: "123z", most: 2},
	"cmp":       {short: "bls", value: "in", long: "silent quiet print-bytes verbose", most: 2},
	"md5sum":    {short: "btz"},
	"sha256sum": {short: "btz"},
	"diff": {deep: true, short: "abBcdeEiNnpqstTuwy", value: "UCWI", most: 2,
		long: "no-dereference brief unified unified= context= side-by-side ignore-all-space ignore-space-change ignore-blank-lines ignore-case color color= suppress-common-lines report-identical-files minimal text width= label= strip-trailing-cr"},

	"grep":  grepping,
	"egrep": grepping,
	"fgrep": grepping,
	"rg": {short: "FiSsvwxclnNHIoqUPap0.u", value: "egtTABCmMdjEr", operands: patternThenFiles, deep: true,
		long: "files hidden no-ignore no-heading heading line-number no-line-number count count-matches files-with-matches files-without-match ignore-case smart-case case-sensitive fixed-strings word-regexp invert-match only-matching " +
			"multiline multiline-dotall pcre2 json stats trim glob= iglob= type= type-not= max-count= max-depth= max-columns= context= after-context= before-context= regexp= replace= sort= sortr= color= vimgrep column no-messages quiet passthru null text type-list"},
}

var grepping = reading{short: "EFGPivwxchHlLnoqsabTUzrI" + digits, value: "eABCm", operands: patternThenFiles, deep: true,
	long: "recursive ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match line-number with-filename no-filename only-matching quiet silent no-messages extended-regexp fixed-strings basic-regexp perl-regexp " +
		"color color= include= exclude= exclude-dir= max-count= after-context= before-context= context= regexp= text null binary-files="}

const gitDiffing = "patch no-patch stat stat= shortstat numstat summary name-only name-status no-color color color= word-diff word-diff= unified= ignore-all-space ignore-space-change ignore-blank-lines diff-filter= find-renames find-copies no-renames " +
	"minimal patience histogram check relative raw full-index binary exit-code quiet no-ext-diff no-textconv no-prefix compact-summary abbrev= "

const gitLogging = gitDiffing + "oneline graph all decorate decorate= no-decorate format= pretty pretty= since= after= until= before= author= committer= grep= abbrev-commit no-abbrev-commit date= merges no-merges first-parent reverse follow " +
	"max-count= skip= branches remotes tags topo-order date-order relative-date no-walk source simplify-by-decoration left-right cherry-pick cherry-mark ancestry-path not "

// readingGit are git's subcommands that only read. Left out: --output, --ext-diff,
// --no-index, --show-signature, -O, and options before the subcommand.
var readingGit = map[string]reading{
	"status": {short: "sbvzunoalrm", long: "short branch porcelain porcelain= long verbose untracked-files untracked-files= ignored ignored= ahead-behind no-ahead-behind renames no-renames show-stash column"},
	"log":    {deep: true, short: "pquszwbaRcmigEFPMC" + digits, value: "nSGUL", long: gitLogging},
	"show":   {deep: true, short: "pquszwbaRcmigEFPMC" + digits, value: "nSGUL", long: gitLogging},
	"diff":   {deep: true, short: "pquszwbaRcmMC" + digits, value: "SGU", long: gitDiffing + "cached staged merge-base"},
	"rev-parse": {short: "q",
		long: "abbrev-ref show-toplevel show-prefix show-cdup git-dir git-common-dir absolute-git-dir is-inside-work-tree is-inside-git-dir is-bare-repository short short= verify quiet symbolic symbolic-full-name all branches tags remotes"},
	"ls-files": {short: "cdmotuksvz", long: "cached deleted modified others ignored stage unmerged exclude-standard full-name error-unmatch"},
	"blame":    {deep: true, short: "lswcbtfnpeMC", value: "L", long: "porcelain line-porcelain date= abbrev= root show-name show-number show-email"},
	"describe": {long: "tags all always long dirty dirty= abbrev= exact-match contains match= exclude= candidates= first-parent"},
	"remote":   {short: "v", long: "verbose", operands: none},
	"branch":   {short: "arv", long: "all remotes verbose show-current list merged no-merged no-color color= sort= format= contains= merged= no-merged= points-at= abbrev= column", operands: words},
	"tag":      {short: "l", long: "list sort= format= contains= merged= no-merged= points-at=", operands: words},
}
