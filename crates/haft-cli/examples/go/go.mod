module example.com/instances

go 1.19
