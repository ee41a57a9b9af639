@name todo
@wrapped todo_write
