package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
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
	t.wire(&b)
	return b.String()
}

// part writes the table of one suite.
func (t table) part(b *strings.Builder, title string) {
	union := map[string]bool{}
	for _, f := range t.found {
		for row := range f.cells[title] {
			union[row] = true
		}
	}
	if len(union) == 0 {
		return // it was not run
	}
	var odd, even []string
	for _, row := range slices.Sorted(maps.Keys(union)) {
		isOdd := func(f findings) bool { return !slices.Contains([]string{ok, second}, f.cells[title][row].State) }
		if slices.ContainsFunc(t.found, isOdd) {
			odd = append(odd, row)
		} else {
			even = append(even, row)
		}
	}
	fmt.Fprintf(b, "\n## %s\n\n%d behaviours, of which %d differ somewhere.\n\n", title, len(union), len(odd))
	t.header(b, "behaviour")
	for _, row := range append(odd, even...) {
		fmt.Fprintf(b, "| %s |", words(row))
		for _, f := range t.found {
			c := f.cells[title][row]
			text := cmp.Or(c.State, notThere)
			if c.Reason != "" {
				text += ": " + cellText(c.Reason)
			}
			b.WriteString(" " + text + " |")
		}
		b.WriteString("\n")
	}
}

// wire writes where the frames of the versions differ, whether or not the driver reads those fields.
func (t table) wire(b *strings.Builder) {
	differ, same := allSeen(t.found)
	if len(differ)+same == 0 {
		return
	}
	fmt.Fprintf(b, "\n## What the CLI says\n\nSeen in the recorded plays: fields of frames, of requests and of "+
		"answers to ours, tools, capabilities; and what the\n"+
		"driver did not know, in any test. %d are the same in all of these versions; the others:\n\n", same)
	t.header(b, "what")
	for _, observation := range differ {
		fmt.Fprintf(b, "| %s |", cellText(observation))
		for _, f := range t.found {
			b.WriteString(map[bool]string{true: " seen |", false: " – |"}[f.wire[observation]])
		}
		b.WriteString("\n")
	}
}

func (t table) header(b *strings.Builder, first string) {
	fmt.Fprintf(b, "| %s | %s |\n|%s\n", first, strings.Join(t.versions, " | "),
		strings.Repeat("---|", len(t.versions)+1))
}

// cellText escapes the character that would end a cell of a table.
func cellText(s string) string { return strings.ReplaceAll(s, "|", "\\|") }

// words makes words from a test's name: TestLiveAPIErrors becomes "api errors".
func words(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "Test"), "Live")
	runes := []rune(name)
	var b strings.Builder
	for i, r := range runes {
		switch {
		case r == '-' || r == '_':
			r = ' '
		case i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
