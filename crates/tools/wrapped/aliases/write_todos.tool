@name write_todos
@wrapped todo_write
