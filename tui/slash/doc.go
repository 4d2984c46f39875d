// Package slash turns slash commands into commands of a run, and answers those that only read its
// state. All frontends share it. It is pure.
package slash
