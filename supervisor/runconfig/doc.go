// Package runconfig defines the options with which a run starts, and the defaults of its limits.
package runconfig
