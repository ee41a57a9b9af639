@name Edit
@wrapped update_file
