//go:build !unix

package transcript

const openFlags = 0

func isLink(error) bool { return false }
