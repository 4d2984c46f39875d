// Package importrules holds the repository to its own rules, as tests: which
// package may import what, how long a file may be, and that tests do not sleep. It
// has no code beside them.
package importrules
