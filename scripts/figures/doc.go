// Package main runs the benchmarks of what a user would notice and prints one table of their results: our
// figure, a baseline that was measured in the same run, and the ratio of the two. Only this ratio can be
// compared between two machines. Nothing in the table is typed by hand: plan.go says which figure of which
// benchmark goes into which cell. Benchmarks that only help to change a package are not in the plan.
//
// scripts/bench starts it.
package main
