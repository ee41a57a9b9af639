@name run_command
@wrapped run_shell_command
