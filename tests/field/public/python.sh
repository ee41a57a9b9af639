# A Python project with an editable install in its virtual environment, whose interpreter is in the user's home as
# pyenv puts it there, if it can be moved there.
prefix=$(python3 -c 'import sys; print(sys.base_prefix)')
python=python3
if [ "$prefix" != /usr ] && ldd "$prefix/bin/python3" | grep -q "$prefix/"; then
    # It loads a library by its path in the first home, so a copy of it would start with another one.
    python=/usr/bin/python3
elif [ "$prefix" != /usr ]; then
    mkdir -p "$HOME/.pyenv/versions/field"
    tar cf - -C "$prefix" --exclude site-packages --exclude test --exclude '*.a' bin lib | tar xf - -C "$HOME/.pyenv/versions/field"
    python=$HOME/.pyenv/versions/field/bin/python3
fi
"$python" -m venv .venv
requirements=$fetched/requirements.txt
pip=".venv/bin/python -m pip --quiet --disable-pip-version-check"
echo 'flit_core==3.12.0 --hash=sha256:e7a0304069ea895172e3c7bb703292e992c5d1555dd1233ab7b5621b5b69e62c' >"$requirements"
$pip install --require-hashes -r "$requirements"
echo 'idna==3.10 --hash=sha256:12f65c9b470abda6dc35cf8e63cc574b1c52b11df2c86030af0ac09b01b13ea9' >"$requirements"
$pip download --no-deps --no-binary :all: --no-build-isolation --require-hashes -r "$requirements" -d "$fetched"
tar xzf "$fetched/idna-3.10.tar.gz" --strip-components 1
ignored .venv/ __pycache__/
$pip install --no-build-isolation --no-deps --editable .
