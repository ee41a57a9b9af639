@name str_replace
@wrapped update_file
