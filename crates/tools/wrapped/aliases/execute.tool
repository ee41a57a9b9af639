@name execute
@wrapped run_shell_command
