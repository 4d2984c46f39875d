package policy

import (
	"slices"

	"github.com/arbiter-cli/arbiter/bridge"
)

// Programs and subcommands of git that change no files, but with writingOptions, or with words that only the shell
// knows and that may be such options.
var (
	readingPrograms = names("ls cat head tail wc stat file pwd cd which type echo printf test [ true false grep egrep " +
		"fgrep rg find tree du df cut uniq sort tr diff cmp comm jq nl date basename dirname realpath readlink " +
		"sha256sum md5sum")
	readingGit = names("status log diff show blame grep ls-files ls-tree cat-file rev-parse shortlog describe merge-base")

	writingOptions = expr(`(^| )(-o|--out|-(delete|exec|ok|fprint|fls))|^(date (.* )?-([uRjn]*s|-s)|` +
		`file (.* )?-(\w*C|-c)|git grep .*-(O|-op)|rg .*--(pre|hostname-b)|sort (.* )?-(\w*o|-(o|comp))|tree (.* )?-\w*o|` +
		`uniq( -\S+)* (-|[^- ]\S*) \S|(date|file|find|git|rg|sort|tree|uniq) (.* )?\x00)`)
)

// OnlyReads reports whether a call surely changes nothing, or with commits is a commit. In doubt it is false.
func (p Policy) OnlyReads(r Request, commits bool) bool {
	if r.Tool != "Bash" {
		return !bridge.MayWrite(r.Tool)
	}
	line := p.newQuery(r).line()
	if line.hidden != "" || line.tricky || len(line.units) == 0 {
		return false
	}
	return !slices.ContainsFunc(line.units, func(u unit) bool {
		words := u.read[:min(2, len(u.read))]
		git := len(words) == 2 && words[0].text == "git" &&
			(readingGit.has(words[1].text) || commits && (words[1].text == "add" || words[1].text == "commit"))
		return u.usesFile() || writingOptions().MatchString(joined(u.read)) ||
			!u.within && len(words) > 0 && !git && !readingPrograms.has(words[0].text)
	})
}
