@name task-tool
@wrapped todo_write
