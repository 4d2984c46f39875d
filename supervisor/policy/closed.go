package policy

import (
	"slices"
	"strings"
)

// Deny and ask rules about files also hold for commands that are known to read or write
// the files they name, as in Claude Code: Read(.env) is about "cat .env" too. That goes
// by names only – a variable, a glob or a cd before it hides a file – so it keeps an
// honest agent from a file; a rule about the command, or a sandbox, keeps others.
var (
	fileReaders = set("cat", "tac", "nl", "rev", "head", "tail", "less", "more", "bat", "wc", "grep", "egrep", "fgrep", "zgrep", "rg", "sed", "awk", "gawk", "mawk", "cut", "sort", "uniq", "tr", "od", "xxd", "hexdump", "strings",
		"base64", "base32", "diff", "cmp", "comm", "paste", "join", "fold", "cp", "mv", "ln", "dd", "tar", "zip", "gzip", "zcat", "rsync", "scp", "source", ".", "vi", "vim", "nvim", "nano", "emacs", "ed", "jq", "yq", "openssl", "gpg", "curl", "md5sum", "sha256sum")

	fileWriters = set("tee", "cp", "mv", "rm", "rmdir", "ln", "dd", "touch", "truncate", "install", "shred", "chmod", "chown", "unlink", "rsync", "scp", "vi", "vim", "nvim", "nano", "emacs", "ed", "ex", "patch")
)

// maxFiles bounds how many files of one command line are looked at; of longer ones,
// none is known.
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
	names := slices.Clone(s.targets)
	for i := range s.commands {
		names = append(names, s.commands[i].files(writes)...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range names[:min(len(names), maxFiles)] {
		if t := q.target(name); t.sure {
			*found = append(*found, t)
		}
	}
	return *found
}

// files are the words of a command that may name files it reads or writes.
func (c *simple) files(writes bool) (out []string) {
	all := c.command()
	last := 1
	if behind, _ := c.behind(); len(behind) > 0 {
		last = min(len(all), maxStarts)
	}
	at := -1
	for i := 0; i < min(last, len(all)) && at < 0; i++ {
		name := baseName(all[i])
		if writes && (fileWriters[name] || name == "sed" && slices.ContainsFunc(all[i:], inPlace)) || !writes && fileReaders[name] {
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	for _, w := range all[at+1:] {
		if _, value, ok := strings.Cut(w, "="); ok && value != "" && !hasHole(value) {
			out = append(out, value) // of=x, --file=x
		}
		if w != "" && !strings.HasPrefix(w, "-") && !hasHole(w) {
			out = append(out, w)
		}
	}
	return out
}

// inPlace finds sed's -i, also among other letters, and --in-place.
func inPlace(arg string) bool {
	return strings.HasPrefix(arg, "--in-place") || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "i")
}
