// Package runconfig has what a run is started with, and the defaults of its limits.
package runconfig
