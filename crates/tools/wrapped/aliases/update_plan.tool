@name update_plan
@wrapped todo_write
