// Package settings reads what the command line, the environment and the configuration files come to. One table has
// every setting, with its flag, its variable and its key in a file. What does not go together, or is no value at all,
// is an error that names the place where it stands.
package settings
