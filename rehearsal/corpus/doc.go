// Package corpus provides the bad input in the repository, and fills values with it: what models and tools
// may produce, and what agents may try against the permission rules. It also has the command lines that
// agents use daily, which rules must allow. It is for tests. It starts git, to create the place where
// attacks are tried, and keeps no state.
package corpus
