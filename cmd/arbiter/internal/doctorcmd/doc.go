// Package doctorcmd is the command doctor: it gathers what an examination is about, and prints the findings.
package doctorcmd
