// Package policy reads permission rules, writes them in the CLI's own syntax, and finds requests that a deny or
// ask rule is about.
//
// It never allows anything. The CLI judges what is allowed, by rules that [Rule.Native] writes for it. It also
// judges deny and ask rules; [Policy.Decide] adds what it does not see: options between the words of a command,
// commands behind other programs, other names of a file. So a fault here can only deny or ask too much, or leave
// the decision to the CLI.
//
// A rule names a request, or it might be about it, because the request hides what it does: eval, code for an
// interpreter, a variable in the place of a command. A deny rule denies the former and asks about the latter.
// Rules stop mistakes and honest agents. They judge the text of a request: a program that may run can do
// anything, and only a sandbox stops it. SECURITY.md lists the guarantees.
//
// line.go splits a command line into commands, roughly as bash does. commands.go compares them with rules about
// commands, hidden.go says what hides something, files.go compares what they name with rules about files.
//
// A [Policy] is a stateless value. The only I/O of a decision is to resolve symbolic links.
package policy
