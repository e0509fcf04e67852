// Package instances names the copies of a service.
package instances

import (
	"errors"
	"fmt"
)

// ErrCount is returned where there is nothing to name.
var ErrCount = errors.New("count must be positive")

// GenerateInstances gives count names that begin with prefix: "web-1", "web-2", …
func GenerateInstances(prefix string, count int) ([]string, error) {
	if count <= 0 {
		return nil, ErrCount
	}
	names := make([]string, 0, count)
	for number := 1; number <= count; number++ {
		names = append(names, fmt.Sprintf("%s-%d", prefix, number))
	}
	return names, nil
}
