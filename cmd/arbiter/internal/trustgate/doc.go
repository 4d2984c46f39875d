// Package trustgate checks before each start of an agent whether the settings in its directory are trusted.
package trustgate
