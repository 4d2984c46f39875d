// Package trustgate looks, before each start of an agent, whether what its directory brings along is trusted.
package trustgate
