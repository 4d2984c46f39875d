// Package completion is the command that prints the completion script of a shell, and the answers to what such a
// script asks at a Tab.
package completion
