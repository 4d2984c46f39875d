package leash

func procAt(pid int) (proc, error) { return readProc(pid) }
