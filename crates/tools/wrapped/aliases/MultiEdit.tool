@name MultiEdit
@wrapped update_file
