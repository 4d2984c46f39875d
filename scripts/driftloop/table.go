package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// table is the results of several versions, the oldest first.
type table struct {
	pinned   string
	short    bool
	versions []string
	found    []findings // by version
}

const head = `# Drift of the Claude CLI

Made by %s. Do not edit. It ran the same tests against each of these versions of
%s: %s. The driver refuses what is older than the first of them, and says so where
one is newer than the last; all other tests run with %s.

*ok*: as the driver expects it. *differs*: it failed, and why. *not there*: it was skipped or not run. What
differs comes first.
`

func (t table) render() string {
	var b strings.Builder
	made := "`scripts/drift`"
	if t.short {
		made = "`scripts/drift -short` (the core of each part)"
	}
	fmt.Fprintf(&b, head, made, "`@anthropic-ai/claude-code`", strings.Join(t.versions, ", "), t.pinned)
	for _, s := range suites {
		t.part(&b, s.title)
	}
	t.part(&b, recording)
	t.part(&b, onTheWire)
	return b.String()
}

// part writes a part of the table. Of what was seen on the wire it leaves out what is the same in all versions, whether
// or not the driver reads it.
func (t table) part(b *strings.Builder, title string) {
	union := cells{}
	for _, f := range t.found {
		maps.Copy(union, f[title])
	}
	if len(union) == 0 {
		return // it was not run
	}
	var odd, even []string
	for _, row := range slices.Sorted(maps.Keys(union)) {
		isOdd := func(f findings) bool { return !slices.Contains([]string{ok, second, seen}, f[title][row]) }
		if slices.ContainsFunc(t.found, isOdd) {
			odd = append(odd, row)
		} else {
			even = append(even, row)
		}
	}
	rows, what, absent := append(odd, even...), "behaviour", notThere
	about := fmt.Sprintf("%d behaviours, of which %d differ somewhere.", len(union), len(odd))
	if title == onTheWire {
		rows, what, absent = odd, "what", "–"
		about = fmt.Sprintf("Seen in the recorded plays: fields of frames, of requests and of answers to ours, tools, "+
			"capabilities; and what the\ndriver did not know, in any test. %d are the same in all of these versions; "+
			"the others:", len(even))
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n| %s | %s |\n|%s\n", title, about, what, strings.Join(t.versions, " | "),
		strings.Repeat("---|", len(t.versions)+1))
	for _, row := range rows {
		fmt.Fprintf(b, "| %s |", escaped(row))
		for _, f := range t.found {
			fmt.Fprintf(b, " %s |", escaped(cmp.Or(f[title][row], absent)))
		}
		b.WriteString("\n")
	}
}

// escaped escapes the character that would end a cell of a table.
func escaped(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
