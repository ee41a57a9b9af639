@name Glob
@wrapped search_files
