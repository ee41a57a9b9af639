@name Write
@wrapped write_file
