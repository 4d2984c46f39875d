package tui

// ChangedFile is a file that a run has changed. Its names are those of the file system.
type ChangedFile struct {
	Path    string
	Old     string // previous path of a renamed file
	Status  string // added, modified, deleted, renamed, retyped
	Added   int    // lines
	Deleted int
	Binary  bool
}

// Versions are the contents of a changed file before the run and now.
type Versions struct {
	Before, After string
	Cut           bool   // they are longer
	Object        string // of the contents now, as Git names it; empty: the file was deleted
}
