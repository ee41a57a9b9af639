@name create_file
@wrapped write_file
