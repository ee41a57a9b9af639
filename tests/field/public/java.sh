# A part of a Java library, of Debian's sources, with its own tests. Maven finds its plugins and JUnit in the repository of
# packages that Debian installs, without a network.
lists=$fetched/apt
mkdir -p "$lists/lists/partial" "$lists/cache/archives/partial" "$lists/parts"
for list in /etc/apt/sources.list.d/*.sources; do
    sed 's/^Types: deb$/Types: deb-src/' "$list" >"$lists/parts/${list##*/}"
done
sources() {
    apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$lists/parts" \
        -o "Dir::State::Lists=$lists/lists" -o "Dir::Cache=$lists/cache" "$@"
}
sources update
(cd "$fetched" && sources source --download-only libcommons-codec-java)
archive=$fetched/libcommons-codec-java_1.15.orig.tar.xz
echo "857c58c23bfe6b284b174d89f323de438042ce9a005b2a81afa658962caff90f  $archive" | sha256sum --check --quiet
mkdir -p "$fetched/codec"
tar xf "$archive" -C "$fetched/codec" --strip-components 1
tests=src/test/java/org/apache/commons/codec
mkdir -p .mvn "$tests"
cp -r "$fetched/codec/src/main" src/
# The others need more libraries.
cp -r "$fetched/codec/$tests/net" "$fetched/codec/$tests/CharEncodingTest.java" "$tests/"
cp "$FILES/java-pom.xml" pom.xml
echo '-Dmaven.repo.local=/usr/share/maven-repo' >.mvn/maven.config
ignored target/
