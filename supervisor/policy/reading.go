package policy

import (
	"slices"
	"strings"
	"sync"
)

// readingPrograms change no files, but with options that begin as those of writingOptions.
const readingPrograms = "ls cat head tail wc stat file pwd cd which type echo printf test [ true false grep egrep " +
	"fgrep rg find tree du df cut uniq sort tr diff cmp comm jq nl date basename dirname realpath readlink " +
	"sha256sum md5sum"

const readingGit = "status log diff show blame grep ls-files ls-tree cat-file rev-parse shortlog describe merge-base"

var writingOptions = expr(`^(-o|--out|-(delete|exec|ok|fprint|fls))`)

var (
	readingRules = sync.OnceValue(func() []Rule {
		list := []Rule{mustRule("Read(//**)")}
		for _, name := range names(readingPrograms) {
			list = append(list, mustRule("Bash("+name+" *)"), mustRule("Bash("+name+")"))
		}
		for _, sub := range names(readingGit) {
			list = append(list, mustRule("Bash(git "+sub+" *)"), mustRule("Bash(git "+sub+")"))
		}
		return list
	})
	committingRules = sync.OnceValue(func() []Rule {
		return append(slices.Clone(readingRules()), mustRule("Bash(git add *)"), mustRule("Bash(git commit *)"))
	})
)

// mustRule parses a rule of this file.
func mustRule(text string) Rule {
	r, err := ParseRule(text)
	if err != nil {
		panic(err)
	}
	return r
}

// OnlyReads reports whether a call surely changes nothing, or with commits is a commit. In doubt it is false.
func (p Policy) OnlyReads(r Request, commits bool) bool {
	if r.Tool != "Bash" {
		return !MayWrite(r.Tool)
	}
	rules := readingRules()
	if commits {
		rules = committingRules()
	}
	if _, ok := p.Within(r, rules); !ok {
		return false
	}
	for _, u := range p.newQuery(r).line().units {
		if slices.ContainsFunc(u.read, func(w word) bool { return writingOptions().MatchString(w.text) }) ||
			len(u.read) > 0 && strings.Contains(u.read[0].text, "/") {
			return false
		}
	}
	return true
}

// Edits reports whether a call is an edit, or a command that does not surely only read.
func (p Policy) Edits(r Request) bool {
	return editors.has(r.Tool) || (r.Tool == "Bash" || r.Tool == "Monitor") && !p.OnlyReads(r, false)
}
