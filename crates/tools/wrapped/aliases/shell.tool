@name shell
@wrapped run_shell_command
