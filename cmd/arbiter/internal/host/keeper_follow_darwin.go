package host

import "os/exec"

func endWithParent(*exec.Cmd) {}
