//! The modules that come with each language.

const NODE: &str = "assert async_hooks buffer child_process cluster console constants crypto dgram \
                    diagnostics_channel dns domain events fs http http2 https inspector module net \
                    os path perf_hooks process punycode querystring readline repl stream \
                    string_decoder sys timers tls trace_events tty url util v8 vm wasi \
                    worker_threads zlib";

const PYTHON: &str = "__future__ __main__ _collections_abc _thread _typeshed abc aifc antigravity \
                      argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb \
                      binascii binhex bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath \
                      cmd code codecs codeop collections colorsys compileall compression \
                      concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes \
                      curses dataclasses datetime dbm decimal difflib dis distutils doctest email \
                      encodings ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch \
                      formatter fractions ftplib functools gc genericpath getopt getpass gettext \
                      glob graphlib grp gzip hashlib heapq hmac html http idlelib imaplib imghdr \
                      imp importlib inspect io ipaddress itertools json keyword lib2to3 linecache \
                      locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder \
                      msilib msvcrt multiprocessing netrc nis nntplib nt ntpath nturl2path numbers \
                      opcode operator optparse os ossaudiodev pathlib pdb pickle pickletools pipes \
                      pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty \
                      pwd py_compile pyclbr pydoc pydoc_data pyexpat queue quopri random re \
                      readline reprlib resource rlcompleter runpy sched secrets select selectors \
                      shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver \
                      spwd sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string \
                      stringprep struct subprocess sunau symtable sys sysconfig syslog tabnanny \
                      tarfile telnetlib tempfile termios test textwrap this threading time timeit \
                      tkinter token tokenize tomllib trace traceback tracemalloc tty turtle \
                      turtledemo types typing unicodedata unittest urllib uu uuid venv warnings \
                      wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp \
                      zipfile zipimport zlib zoneinfo";

/// Headers of C and of POSIX; those of C++ have no ending.
const C: &str = "aio.h alloca.h assert.h complex.h cpio.h ctype.h dirent.h dlfcn.h endian.h err.h \
                 errno.h fcntl.h fenv.h float.h fmtmsg.h fnmatch.h ftw.h getopt.h glob.h grp.h \
                 iconv.h ifaddrs.h inttypes.h iso646.h langinfo.h libgen.h limits.h locale.h \
                 malloc.h math.h memory.h monetary.h mqueue.h ndbm.h netdb.h nl_types.h poll.h \
                 pthread.h pty.h pwd.h regex.h sched.h search.h semaphore.h setjmp.h signal.h \
                 spawn.h stdalign.h stdarg.h stdatomic.h stdbit.h stdbool.h stdckdint.h stddef.h \
                 stdint.h stdio.h stdlib.h stdnoreturn.h string.h strings.h stropts.h syslog.h \
                 tar.h termios.h tgmath.h threads.h time.h trace.h uchar.h ulimit.h unistd.h \
                 utime.h utmpx.h wchar.h wctype.h windows.h wordexp.h";
const C_FOLDERS: [&str; 6] = ["arpa/", "asm/", "linux/", "net/", "netinet/", "sys/"];

const JAVAX: &str = "accessibility crypto imageio lang management naming net print rmi script \
    security sound sql swing tools xml";

/// Reports whether a list has a name.
fn is_named(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == name)
}

/// Reports whether Node.js has a module; `fs/promises` is a part of one.
pub(super) fn is_of_node(name: &str) -> bool {
    name.starts_with("node:") || is_named(NODE, name.split('/').next().unwrap_or(name))
}

/// Reports whether a module comes with Python.
pub(super) fn is_of_python(top: &str) -> bool {
    is_named(PYTHON, top)
}

/// Reports whether a crate comes with Rust.
pub(super) fn is_of_rust(name: &str) -> bool {
    matches!(name, "std" | "core" | "alloc" | "proc_macro" | "test")
}

/// Reports whether a package comes with Go, whose names have no dot in their first part.
pub(super) fn is_of_go(path: &str) -> bool {
    !path.split('/').next().unwrap_or(path).contains('.')
}

/// Reports whether a type comes with Java.
pub(super) fn is_of_java(path: &str) -> bool {
    let mut parts = path.split('.');
    match parts.next() {
        Some("java" | "jdk") => true,
        Some("javax") => parts.next().is_some_and(|part| is_named(JAVAX, part)),
        _ => false,
    }
}

/// Reports whether a header comes with C, C++ or the system.
pub(super) fn is_of_c(path: &str) -> bool {
    let is_of_cpp = !path.contains(['.', '/']);
    is_of_cpp || is_named(C, path) || C_FOLDERS.iter().any(|folder| path.starts_with(folder))
}
