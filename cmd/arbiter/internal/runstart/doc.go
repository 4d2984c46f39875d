// Package runstart starts the process that hosts a run. It defines what that process reads from stdin, and its
// answer.
package runstart
