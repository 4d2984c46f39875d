// Package policy reads permission rules, writes them in the CLI's own syntax, and finds requests that a deny or
// ask rule is about.
//
// It never allows anything. The CLI judges what is allowed, by rules that [Rule.Native] writes for it. It also
// judges deny and ask rules; [Policy.Decide] adds what it does not see: options between the words of a command,
// commands behind other programs, other names of a file. So a fault here can only deny or ask too much, or leave
// the decision to the CLI.
//
// A deny rule denies a request that it names, and asks about one that might be it, because the request hides what
// it does: eval, code for an interpreter, a variable in the place of a command. Rules stop mistakes and honest
// agents; only a sandbox stops a program. line.go splits a command line into commands, commands.go and files.go
// compare them with rules, hidden.go says what hides something.
package policy
