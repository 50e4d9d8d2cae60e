package counter

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// span says where windows begin and end, in microseconds since the epoch.
type span struct {
	every, offset int64
	edges         []int64 // of a calendar: when the window before, this one, the next and the one after begin
}

func spanOf(l core.Limit, now int64) span {
	if l.Calendar() == core.NoCalendar {
		return span{every: micros(int64(l.Period)), offset: micros(int64(l.Offset()))}
	}
	sp := span{edges: make([]int64, 0, 4)}
	at := time.Unix(0, now).In(l.Location())
	for n := -1; n <= 2; n++ {
		sp.edges = append(sp.edges, l.Calendar().Edge(at, n).UnixMicro())
	}
	return sp
}

// around is the window that an instant lies in. A calendar is known for three windows; an instant
// outside of them, by a clock that is that far off, lies in the nearest.
func (sp span) around(us int64) (start, end int64) {
	if sp.edges == nil {
		start = us - modulo(us-sp.offset, sp.every)
		return start, start + sp.every
	}
	i := 1
	for i < len(sp.edges)-1 && us >= sp.edges[i] {
		i++
	}
	return sp.edges[i-1], sp.edges[i]
}

// modulo is never negative.
func modulo(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}
