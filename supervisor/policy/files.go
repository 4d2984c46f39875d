package policy

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/policy/shell"
)

// Deny and ask rules about files also hold for commands that are known to read or write the files they name, as
// in Claude Code: Read(.env) is about "cat .env" too. This works by names only – a variable, a glob or a cd
// before it hides a file – so it keeps an honest agent from a file. To stop others, use a rule about the
// command, or a sandbox.
var (
	fileReaders = nameSet{"cat", "tac", "nl", "rev", "head", "tail", "less", "more", "bat", "wc", "grep", "egrep", "fgrep",
		"zgrep", "rg", "sed", "awk", "gawk", "mawk", "cut", "sort", "uniq", "tr", "od", "xxd", "hexdump", "strings",
		"base64", "base32", "diff", "cmp", "comm", "paste", "join", "fold", "cp", "mv", "ln", "dd", "tar", "zip",
		"gzip", "zcat", "rsync", "scp", "source", ".", "vi", "vim", "nvim", "nano", "emacs", "ed", "jq", "yq",
		"openssl", "gpg", "curl", "md5sum", "sha256sum"}

	fileWriters = nameSet{"tee", "cp", "mv", "rm", "rmdir", "ln", "dd", "touch", "truncate", "install", "shred", "chmod",
		"chown", "unlink", "rsync", "scp", "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "patch"}
)

// maxFiles bounds how many files of one command line are checked; of a longer line, none is known.
const maxFiles = 256

// commandFiles are the files that a command line is known to read, or to write.
func (q *query) commandFiles(rule string) []target {
	writes := rule != "Read"
	found := &q.readFiles
	if writes {
		found = &q.writtenFiles
	}
	if *found != nil {
		return *found
	}
	*found = []target{}
	s := q.commands()
	var names []string
	for _, r := range s.redirects {
		if r.File.Known() {
			names = append(names, r.File.Text)
		}
	}
	for i := range s.commands {
		names = append(names, filesOf(s.commands[i].Words, writes)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, place := range q.places() {
		at := *q
		at.cwd = place
		for _, name := range names[:min(len(names), maxFiles)] {
			if t := at.target(name); t.sure {
				*found = append(*found, t)
			}
		}
	}
	return *found
}

// filesOf are the words of a command that may name files it reads or writes.
func filesOf(words []shell.Word, writes bool) (out []string) {
	if len(words) == 0 {
		return nil
	}
	if baseName(words[0].Text) == "" || !touches(words, writes) && (writes || !comparesFiles(words)) {
		return nil
	}
	for _, w := range words[1:] {
		if _, value, ok := strings.Cut(w.Text, "="); ok && value != "" && !hasHole(value) {
			out = append(out, value) // of=x, --file=x
		}
		if w.Text != "" && !strings.HasPrefix(w.Text, "-") && w.Known() {
			out = append(out, strings.TrimPrefix(w.Text, "@")) // curl -d @x
		}
		if len(w.Text) > 2 && w.Text[0] == '-' && w.Text[1] != '-' && w.Known() {
			out = append(out, w.Text[2:]) // -fx
		}
	}
	return out
}

// inPlace recognises sed's -i, also among other letters, and --in-place.
func inPlace(w shell.Word) bool {
	arg := w.Text
	return strings.HasPrefix(arg, "--in-place") || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") &&
		strings.Contains(arg, "i")
}

func hasHole(word string) bool { return strings.IndexByte(word, hole) >= 0 }
