// Package main runs the benchmarks of the whole repository and prints one table of what
// they found: ours, a baseline that was measured in the same run, and how one stands to
// the other. Figures of two machines compare by that, and by nothing else. Nothing in
// the table is typed by hand: plan.go says which figure of which benchmark is which cell,
// and a test sees that no benchmark is left out.
//
// scripts/bench starts it.
package main
