// Package runstart starts the process that hosts a run. It has what that process reads on stdin, and what it answers.
package runstart
