@name replace
@wrapped update_file
