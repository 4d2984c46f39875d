// Package corpus hands out the bad input that is checked in, and fills values with it.
// It is for tests. It starts nothing and keeps nothing.
package corpus
