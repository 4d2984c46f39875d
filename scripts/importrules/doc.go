// Package importrules checks the repository's own rules in tests: in which direction its parts may import each
// other, that lines are narrow, that tests do not sleep, and that documents agree with the code. It has no other code.
package importrules
