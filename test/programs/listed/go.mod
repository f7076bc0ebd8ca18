module example.com/listed

go 1.21
