# A C library that a crate wraps, with its own build and tests.
crate expat-sys 2.1.6 658f19728920138342f68408b7cf7644d90d4784353d8ebc32e7e8663dbe45fa wrapper
mv wrapper/expat/* .
rm -r wrapper
printf 'build/\n' >.gitignore
