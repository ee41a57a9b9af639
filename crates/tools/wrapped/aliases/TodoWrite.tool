@name TodoWrite
@wrapped task-tool
