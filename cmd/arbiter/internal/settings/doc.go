// Package settings reads the settings of a run from the command line, the environment and configuration files. One
// table has every setting, with its flag, its variable and its key in a file. Invalid values, and values that exclude
// each other, are errors that name the place of the value.
package settings
