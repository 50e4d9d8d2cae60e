//go:build !unix

package redistest

import (
	"errors"
	"os"
)

func suspend(*os.Process) error { return errors.ErrUnsupported }

func resume(*os.Process) error { return errors.ErrUnsupported }

func setBacklog(uintptr, int) error { return errors.ErrUnsupported }
