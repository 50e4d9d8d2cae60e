// Package faultmatrix has tests only: each fault of Redis, in each topology, under each way in which a
// service may have set up its client. docs/failure.md has the table that they make.
package faultmatrix
