// Package wirecase runs conversations, written down as txtar files, against a
// program that speaks the Claude Code CLI's stream-json wire: the CLI itself, or
// a stand-in. It is for tests only.
//
// A case is one file. Its sections:
//
//	-- args --      extra arguments, one a line
//	-- env --       extra environment, NAME=value a line
//	-- model --     the scripted model, one JSON reply a line, used in order (see Reply)
//	-- host --      the conversation, one step a line (see below)
//	-- host.2 --    another process on the same files, and so on; args.2, env.2 go with it
//	-- work/NAME -- a file of the working directory
//
// Steps of the host:
//
//	> {…}            write this line to stdin (any text is allowed, also bad JSON)
//	< {…}            wait for a frame that has all of this; frames in between are skipped
//	! {…}            no frame of this process so far had all of this (after exit: none at all)
//	saw N REGEXP     the N-th model request (of the whole case) matches
//	requests N       the model was called N times
//	called N         wait until it was called N times
//	release          let the reply go on that waits with "hold"
//	eof              close stdin
//	signal TERM      send a signal
//	exit N           wait for the exit code
//	stderr REGEXP    stderr matches (after exit)
//	file PATH REGEXP a file, by glob, relative to the working directory, matches
//	until PATH REGEXP wait until it does
//	touch NAME       make an empty file in the working directory
//
// In a frame pattern an object matches if its fields do, an array if it has as
// many elements that match; a string "/…/" is a regular expression on a text or a number, "$name"
// matches anything and remembers it, or what it remembered before. In what is
// written `$name` stands for what was remembered; $CWD, $HOME and $SESSION are set.
//
// Each process has three goroutines that Run starts and waits for: two readers of
// its output and, in net/http, the scripted model's.
package wirecase
