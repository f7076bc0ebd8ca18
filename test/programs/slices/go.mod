module example.com/slices

go 1.22
