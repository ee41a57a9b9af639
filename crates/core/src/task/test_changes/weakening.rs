//! The losses of existing tests by a change, read from both versions of its files.

use std::collections::BTreeMap;

use super::dialects::Dialect;
use super::reading::Reading;
use crate::task::test_files::is_test_file;
use crate::text::invisible::shown;

/// How many findings are named.
const MAX_NAMED: usize = 20;

/// A file that a change touches, before and after.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileVersions {
    /// Its path, or its last one if it is deleted.
    pub path: String,
    /// Its content before; `None` if it did not exist, or cannot be read as text.
    pub before: Option<String>,
    /// Its content after.
    pub after: Option<String>,
    /// Whether it is deleted.
    pub is_deleted: bool,
}

/// One test by name, in all files of a change together.
#[derive(Default)]
struct Known {
    before: usize,
    after: usize,
    assertions_before: usize,
    assertions_after: usize,
    /// A file that had it.
    path: String,
}

/// Reports whether tests in a file of this name can be read, by its language.
pub fn reads_tests_of(path: &str) -> bool {
    Dialect::for_path(path).is_some()
}

/// Both versions of a file, read.
struct Both<'f> {
    file: &'f FileVersions,
    before: Reading,
    after: Reading,
}

/// All files of a change together.
#[derive(Default)]
struct Change<'r> {
    tests: BTreeMap<&'r str, Known>,
    /// Assertions outside of tests, before and after.
    helpers: (usize, usize),
    /// Marks that leave tests out, before and after.
    skips: (usize, usize),
}

/// Returns what a change takes from existing tests: files that it deletes, tests that it removes,
/// skip marks that it adds, and assertions that existing tests lose on balance. Empty if it weakens
/// none that is known.
pub fn weakened_tests(files: &[FileVersions]) -> Vec<String> {
    let readings: Vec<Both<'_>> = files.iter().filter_map(Both::read).collect();
    let change = Change::from_readings(&readings);
    let mut found = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.is_deleted && is_test_file(&file.path))
    {
        let read = readings.iter().find(|both| both.file.path == file.path);
        let names: Vec<&str> = read
            .iter()
            .flat_map(|both| &both.before.tests)
            .map(|test| test.name.as_str())
            .collect();
        // Its tests may have moved to another file.
        if names.is_empty() || names.iter().any(|name| change.has_lost(name)) {
            found.push(format!("deletes the test file {}", shown(&file.path)));
            told.extend(names);
        }
    }
    for (name, known) in change
        .tests
        .iter()
        .filter(|(name, _)| change.has_lost(name) && !told.contains(name))
    {
        found.push(format!(
            "removes the test `{}` of {}",
            shown(name),
            shown(&known.path)
        ));
    }
    if change.skips.1 > change.skips.0 {
        let with_more = readings
            .iter()
            .filter(|both| both.after.skips > both.before.skips);
        let files: Vec<String> = with_more.map(|both| shown(&both.file.path)).collect();
        found.push(format!(
            "adds a mark that skips or ignores tests in {}",
            files.join(", ")
        ));
    }
    found.extend(change.lost_assertions());
    if found.len() > MAX_NAMED {
        let more = found.split_off(MAX_NAMED).len();
        found.push(format!("and {more} more"));
    }
    found
}

impl<'f> Both<'f> {
    /// Reads both versions of a file, if its language is known.
    fn read(file: &'f FileVersions) -> Option<Both<'f>> {
        let dialect = Dialect::for_path(&file.path)?;
        let mut both = Both {
            file,
            before: Reading::default(),
            after: Reading::default(),
        };
        if let Some(text) = &file.before {
            both.before = Reading::read(&file.path, text, dialect);
        }
        if let Some(text) = &file.after {
            both.after = Reading::read(&file.path, text, dialect);
        }
        Some(both)
    }
}

impl<'r> Change<'r> {
    fn from_readings(readings: &'r [Both<'_>]) -> Change<'r> {
        let mut change = Change::default();
        for Both {
            file,
            before,
            after,
        } in readings
        {
            for test in &before.tests {
                let known = change.tests.entry(&test.name).or_default();
                known.before += 1;
                known.assertions_before += test.assertions;
                known.path.clone_from(&file.path);
            }
            for test in &after.tests {
                let known = change.tests.entry(&test.name).or_default();
                known.after += 1;
                known.assertions_after += test.assertions;
            }
            change.helpers = (
                change.helpers.0 + before.outside,
                change.helpers.1 + after.outside,
            );
            change.skips = (change.skips.0 + before.skips, change.skips.1 + after.skips);
        }
        change
    }

    /// Reports whether there are fewer tests of a name than before.
    fn has_lost(&self, name: &str) -> bool {
        self.tests
            .get(name)
            .is_some_and(|known| known.after < known.before)
    }

    /// Returns that tests which were there before and still are have fewer assertions, those of
    /// helpers included.
    fn lost_assertions(&self) -> Option<String> {
        let (mut before, mut after) = self.helpers;
        let mut named = Vec::new();
        for (name, known) in &self.tests {
            if known.before == 0 || known.after < known.before {
                continue;
            }
            let Known {
                assertions_before,
                assertions_after,
                path,
                ..
            } = known;
            before += assertions_before;
            after += assertions_after;
            if assertions_after < assertions_before && named.len() < MAX_NAMED {
                named.push(format!(
                    "`{}` of {} has {assertions_after} instead of {assertions_before}",
                    shown(name),
                    shown(path)
                ));
            }
        }
        if after >= before {
            return None;
        }
        let of_whom = if named.is_empty() {
            "helpers of tests have fewer".to_owned()
        } else {
            named.join(", ")
        };
        Some(format!("removes assertions on balance: {of_whom}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, before: &str, after: &str) -> FileVersions {
        FileVersions {
            path: path.to_owned(),
            before: (!before.is_empty()).then(|| before.to_owned()),
            after: (!after.is_empty()).then(|| after.to_owned()),
            is_deleted: after.is_empty(),
        }
    }

    fn one(path: &str, before: &str, after: &str) -> String {
        weakened_tests(&[changed(path, before, after)]).join("; ")
    }

    /// A test of each language: the file, the test, and the same with a skip mark, and with an
    /// assertion less.
    const LANGUAGES: [(&str, &str, &str, &str); 12] = [
        (
            "src/lib.rs",
            "#[test]\nfn adds() {\n    assert_eq!(1, 1);\n    assert!(true);\n}\n",
            "#[test]\n#[ignore]\nfn adds() {\n    assert_eq!(1, 1);\n    assert!(true);\n}\n",
            "#[test]\nfn adds() {\n    assert!(true);\n}\n",
        ),
        (
            "tests/test_a.py",
            "def test_adds():\n    assert 1\n    assert 2\n",
            "@pytest.mark.skip\ndef test_adds():\n    assert 1\n    assert 2\n",
            "def test_adds():\n    assert 1\n",
        ),
        (
            "src/a.test.ts",
            "it('adds', () => {\n  expect(1).toBe(1)\n  expect(2).toBe(2)\n})\n",
            "it.skip('adds', () => {\n  expect(1).toBe(1)\n  expect(2).toBe(2)\n})\n",
            "it('adds', () => {\n  expect(1).toBe(1)\n})\n",
        ),
        (
            "a_test.go",
            "func TestAdds(t *testing.T) {\n\tif a != 1 {\n\t\tt.Error(a)\n\t}\n\tt.Fatal()\n}\n",
            "func TestAdds(t *testing.T) {\n\tt.Skip()\n\tif a != 1 {\n\t\tt.Error(a)\n\t}\n\
             \tt.Fatal()\n}\n",
            "func TestAdds(t *testing.T) {\n\tt.Fatal()\n}\n",
        ),
        (
            "src/test/java/ATest.java",
            "class ATest {\n  @Test\n  void adds() {\n    assertEquals(1, 1);\n    \
             assertTrue(x);\n  }\n}\n",
            "class ATest {\n  @Test\n  @Disabled\n  void adds() {\n    assertEquals(1, 1);\n    \
             assertTrue(x);\n  }\n}\n",
            "class ATest {\n  @Test\n  void adds() {\n    assertEquals(1, 1);\n  }\n}\n",
        ),
        (
            "test/a_test.rb",
            "def test_adds\n  assert 1\n  assert 2\nend\n",
            "def test_adds\n  skip\n  assert 1\n  assert 2\nend\n",
            "def test_adds\n  assert 1\nend\n",
        ),
        (
            "spec/a_spec.rb",
            "it \"adds\" do\n  expect(1).to eq 1\n  expect(2).to eq 2\nend\n",
            "xit \"adds\" do\n  expect(1).to eq 1\n  expect(2).to eq 2\nend\n",
            "it \"adds\" do\n  expect(1).to eq 1\nend\n",
        ),
        (
            "tests/ATest.php",
            "public function testAdds(): void {\n    $this->assertSame(1, 1);\n    \
             $this->assertTrue(1);\n}\n",
            "public function testAdds(): void {\n    $this->markTestSkipped();\n    \
             $this->assertSame(1, 1);\n    $this->assertTrue(1);\n}\n",
            "public function testAdds(): void {\n    $this->assertSame(1, 1);\n}\n",
        ),
        (
            "test/a.cc",
            "TEST(Suite, Adds) {\n  EXPECT_EQ(1, 1);\n  ASSERT_TRUE(x);\n}\n",
            "TEST(Suite, Adds) {\n  GTEST_SKIP();\n  EXPECT_EQ(1, 1);\n  ASSERT_TRUE(x);\n}\n",
            "TEST(Suite, Adds) {\n  EXPECT_EQ(1, 1);\n}\n",
        ),
        (
            "Tests/ATests.cs",
            "[Fact]\npublic void Adds()\n{\n    Assert.Equal(1, 1);\n    Assert.True(x);\n}\n",
            "[Fact(Skip = \"later\")]\npublic void Adds()\n{\n    Assert.Equal(1, 1);\n    \
             Assert.True(x);\n}\n",
            "[Fact]\npublic void Adds()\n{\n    Assert.Equal(1, 1);\n}\n",
        ),
        (
            "test/a_test.exs",
            "test \"adds\" do\n  assert 1\n  refute 2\nend\n",
            "@tag :skip\ntest \"adds\" do\n  assert 1\n  refute 2\nend\n",
            "test \"adds\" do\n  assert 1\nend\n",
        ),
        (
            "src/test/ATest.kt",
            "@Test\nfun `adds numbers`() {\n    assertEquals(1, 1)\n    assertTrue(x)\n}\n",
            "@Test\n@Disabled\nfun `adds numbers`() {\n    assertEquals(1, 1)\n    assertTrue(x)\n\
             }\n",
            "@Test\nfun `adds numbers`() {\n    assertEquals(1, 1)\n}\n",
        ),
    ];

    #[test]
    fn in_each_language_a_removed_a_skipped_and_an_emptied_test_is_weakened_and_a_new_one_is_not() {
        for (path, test, skipped, emptied) in LANGUAGES {
            assert_eq!(one(path, test, test), "", "{path}");
            let more = format!("{test}\n{}", test.replace("dds", "nother"));
            assert_eq!(one(path, test, &more), "", "{path} with another one");
            let removed = one(path, &more, test);
            assert!(removed.contains("removes the test"), "{path}: {removed}");
            let renamed = one(path, test, &test.replace("dds", "nother"));
            assert!(renamed.contains("removes the test"), "{path}: {renamed}");
            let marked = one(path, test, skipped);
            assert!(
                marked.contains("adds a mark") && !marked.contains("removes"),
                "{path}: {marked}"
            );
            assert_eq!(one(path, skipped, test), "", "{path} without its mark");
            let fewer = one(path, test, emptied);
            assert!(fewer.contains("has 1 instead of 2"), "{path}: {fewer}");
            assert_eq!(
                one(path, emptied, test),
                "",
                "{path} with an assertion more"
            );
        }
    }

    #[test]
    fn a_deleted_file_is_weakened_unless_its_tests_are_elsewhere() {
        let test = "def test_a():\n    assert 1\n";
        let other = "def test_b():\n    assert 1\n";
        assert_eq!(
            one("tests/test_a.py", test, ""),
            "deletes the test file tests/test_a.py"
        );
        assert_eq!(
            one("tests/data.json", "{}", ""),
            "deletes the test file tests/data.json"
        );
        assert_eq!(one("src/a.py", "x = 1\n", ""), "");
        let moved = [
            changed("tests/test_a.py", test, ""),
            changed("tests/test_c.py", "", test),
        ];
        assert_eq!(weakened_tests(&moved), Vec::<String>::new());
        let split = [
            changed("tests/test_a.py", &format!("{test}{other}"), ""),
            changed("tests/test_c.py", "", test),
        ];
        assert_eq!(
            weakened_tests(&split),
            ["deletes the test file tests/test_a.py"]
        );
    }

    #[test]
    fn assertions_are_weighed_over_the_tests_that_stay_and_their_helpers() {
        let helper = "def check(x):\n    assert x\n    assert x > 1\n";
        let two = "def test_a():\n    assert 1\n    assert 2\n";
        let by_helper = "def test_a():\n    check(2)\n";
        assert_eq!(
            one("tests/test_a.py", two, &format!("{helper}\n{by_helper}")),
            "",
            "moved to a helper"
        );
        let new_before_helper = format!("{two}\ndef test_b():\n    assert 1\n\n{helper}");
        assert_eq!(
            one(
                "tests/test_a.py",
                &format!("{two}\n{helper}"),
                &new_before_helper
            ),
            ""
        );
        // New tests do not make up for what an old one has lost.
        let instead = "def test_a():\n    assert 1\n\ndef test_b():\n    assert 1\n    assert \
                       2\n    assert 3\n";
        assert!(
            one("tests/test_a.py", two, instead)
                .contains("`test_a` of tests/test_a.py has 1 instead of 2")
        );
        let commented = "def test_a():\n    assert 1\n    # assert 2\n";
        assert!(one("tests/test_a.py", two, commented).contains("on balance"));
    }

    #[test]
    fn production_code_is_not_read_as_tests() {
        let before =
            "fn a(items: &[u8]) {\n    assert!(!items.is_empty());\n    items.iter().skip(1);\n}\n";
        assert_eq!(one("src/a.rs", before, "fn a() {}\n"), "");
        assert_eq!(
            one(
                "src/a.js",
                "const x = it.skip(1)\nassert(x)\n",
                "const x = 1\n"
            ),
            ""
        );
        assert_eq!(one("docs/a.md", "test('x')\n", ""), "");
        let with_tests =
            format!("{before}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn b() {{}}\n}}\n");
        let less = with_tests.replace("    assert!(!items.is_empty());\n", "");
        assert_eq!(
            one("src/a.rs", &with_tests, &less),
            "",
            "an assertion of the code itself"
        );
    }
}
