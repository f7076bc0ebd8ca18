package main

type listCmd struct{}

func (listCmd) Run() error { return nil }
