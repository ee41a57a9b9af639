// Package shapes has shapes.
package shapes

import (
	"errors"
	"fmt"
)

// Limit is the most sides.
const Limit = 3

// Point is a point of the plane.
type Point struct {
	X, Y int
}

// Area has an area.
type Area interface {
	Area() float64
}

type names = []string

// Area returns the area.
func (p *Point) Area() float64 {
	if p.X > 0 && p.Y > 0 {
		return 1
	} else if p.X < 0 {
		return 2
	} else {
		return 0
	}
}

func classify(values []int, done chan bool) (string, error) {
outer:
	for i, v := range values {
		switch {
		case v == 1:
			return "one", nil
		case v == 2, v == 3:
			continue outer
		default:
			fmt.Println(i)
		}
	}
	select {
	case <-done:
		return "", errors.New("done")
	default:
	}
	each := func(x int) int {
		if x > 1 {
			return x
		}
		return 0
	}
	return fmt.Sprint(each(1)), nil
}
