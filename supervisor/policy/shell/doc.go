// Package shell reads a command line as bash or a POSIX shell would, and lists every simple command that the
// line may run, including those in pipelines, lists, loops, functions, substitutions and here-documents.
//
// The grammar is that of mvdan.cc/sh. In addition this package removes quotes: a [Word] is the text that the
// command receives, with [Hole] for each part that only the running shell knows. What the syntax tree cannot
// show (arithmetic on variables, indirect expansion, a line that bash might split differently) is reported as a
// doubt.
//
// The package handles the grammar only. Package policy knows what a command does with its words
// (sudo, eval, test -v). All functions are pure.
package shell
