// Package command holds what all commands of the program share: the streams that they use, errors with an exit
// code, signals, the directories and files that flags name, and words for a wrong invocation.
package command
