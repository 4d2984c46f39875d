// Package main runs the benchmarks of what a user would notice and prints one table of what
// they found: ours, a baseline that was measured in the same run, and how one stands to
// the other. Figures of two machines compare by that, and by nothing else. Nothing in
// the table is typed by hand: plan.go says which figure of which benchmark is which cell.
// Benchmarks that help to change a package stand in its bench_test.go, outside the plan.
//
// scripts/bench starts it.
package main
