// Package policyfile reads a rate-limiting policy from a YAML file.
//
//	file, err := policyfile.Load("shop.yaml")
//	limiter, err := file.Limiter(memstore.New())
//
// The reader is strict: what it does not know it refuses, and each mistake is reported with its
// line, its column and what was expected there, all of them at once. docs/policy-file.md is
// the reference of the format.
package policyfile
