// Package corpus hands out the bad input that is checked in, and fills values with it:
// what models and tools may say, and what agents may try against the permission rules. Beside
// it are the command lines that agents use daily, which rules must let pass.
// It is for tests. It starts git, to make the place where attacks are tried, and keeps
// nothing.
package corpus
