package proctree

// orphans adds none: launchd adopts orphans, together with those of all other processes.
func (snapshot) orphans(procSet) {}
