@name exec_command
@wrapped run_shell_command
