// Package importrules checks the repository's own rules in tests: which package may import what, how long a
// file may be, and that tests do not sleep. It has no other code.
package importrules
