//go:build !linux && !darwin

package control

import "errors"

type credentials struct{ uid, pid int }

func credentialsOf(int) (credentials, error) { return credentials{}, errors.ErrUnsupported }

func (credentials) alive() bool { return false }

func (credentials) release() {}
