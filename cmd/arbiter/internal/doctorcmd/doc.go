// Package doctorcmd is the command doctor: it gathers the observations for an examination, and prints the findings.
package doctorcmd
