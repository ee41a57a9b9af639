//! How tests, skip marks and assertions are written, by the ending of the file.

/// How one family of languages writes tests.
pub(super) struct Dialect {
    /// Endings of files.
    pub(super) endings: &'static [&'static str],
    /// What begins a comment of one line.
    pub(super) comment: &'static str,
    /// Whether `/*` begins a comment of several lines.
    pub(super) has_blocks: bool,
    /// Declarations of tests: what stands before a name, and how the name of a test begins.
    pub(super) declared: &'static [(&'static str, &'static str)],
    /// Marks that make the next function a test.
    pub(super) marks: &'static [&'static str],
    /// Calls that declare a test, whose first text is its name.
    pub(super) calls: &'static [&'static str],
    /// Macros that declare a test, whose arguments are its name.
    pub(super) macros: &'static [&'static str],
    /// Marks that leave a test out; `^` means that the line begins so.
    pub(super) skips: &'static [&'static str],
    /// Assertions, each at the beginning of a word.
    pub(super) assertions: &'static [&'static str],
}

const NONE: Dialect = Dialect {
    endings: &[],
    comment: "//",
    has_blocks: true,
    declared: &[],
    marks: &[],
    calls: &[],
    macros: &[],
    skips: &[],
    assertions: &[],
};

/// The dialects that are known.
#[rustfmt::skip]
const DIALECTS: &[Dialect] = &[
    Dialect {
        endings: &["rs"],
        marks: &["#[test", "#[tokio::test", "#[async_std::test", "#[test_log::test", "#[rstest",
            "#[quickcheck", "#[wasm_bindgen_test", "#[sqlx::test"],
        skips: &["#[ignore", "#[cfg(any())]", "cfg_attr(all(), ignore"],
        assertions: &["assert", "prop_assert", "should_panic"],
        ..NONE
    },
    Dialect {
        endings: &["py", "pyi"],
        comment: "#",
        has_blocks: false,
        declared: &[("def ", "test"), ("async def ", "test")],
        skips: &["mark.skip", "mark.xfail", "unittest.skip", "^@skip", "pytest.skip(",
            "pytest.xfail(", ".skipTest(", "SkipTest", "expectedFailure"],
        assertions: &["assert", "raises(", "warns(", "fail("],
        ..NONE
    },
    Dialect {
        endings: &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte"],
        calls: &["it", "test", "specify", "xit", "xtest", "fit", "Deno.test"],
        skips: &["it.skip", "test.skip", "describe.skip", "context.skip", "suite.skip", "^xit(",
            "^xtest(", "^xdescribe(", "^xcontext(", "^fit(", "^fdescribe(", "it.todo(",
            "test.todo(", "it.only", "test.only", "describe.only", "test.fixme", "test.failing",
            "it.failing", "this.skip(", "t.skip(", "skip: true"],
        assertions: &["expect(", "expect.", "assert", "should", "t.is(", "t.ok(", "t.equal(",
            "t.same(", "t.not(", "t.true(", "t.false(", "t.deepEqual(", "t.throws(", "t.like(",
            "t.regex("],
        ..NONE
    },
    Dialect {
        endings: &["go"],
        declared: &[("func ", "Test"), ("func ", "Fuzz"), ("func ", "Example")],
        skips: &["t.Skip", "f.Skip", "testing.Short()", "//go:build ignore"],
        assertions: &["t.Error", "t.Fatal", "t.Fail", "f.Fatal", "require.", "assert", "is.Equal(",
            "is.NoErr(", "is.True("],
        ..NONE
    },
    Dialect {
        endings: &["java", "kt", "kts", "groovy", "scala", "cs", "vb", "fs"],
        declared: &[("void ", "test"), ("fun ", "test")],
        marks: &["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory", "@Property",
            "[Test", "[Fact", "[Theory", "[DataTestMethod"],
        calls: &["test", "it", "should"],
        skips: &["@Disabled", "@Ignore", "[Ignore", "Skip =", "Skip=", "@Pending",
            "assumeTrue(false", "Assume.That(false", "enabled = false", "^ignore("],
        assertions: &["assert", "Assert", "expect", "verify(", "verifyNoMoreInteractions(", "fail(",
            "should", "must"],
        ..NONE
    },
    Dialect {
        endings: &["rb"],
        comment: "#",
        has_blocks: false,
        declared: &[("def ", "test_")],
        calls: &["it", "specify", "test", "scenario", "example", "xit", "xspecify", "fit"],
        skips: &["^skip", "^pending", "^xit ", "^xit(", "^xdescribe", "^xcontext", "^xspecify",
            "^xscenario", "skip: true", "pending: true", ", :skip", ", skip:", "^fit ",
            "^fdescribe"],
        assertions: &["assert", "refute", "expect", "should", "must_", "wont_", "flunk"],
        ..NONE
    },
    Dialect {
        endings: &["php"],
        declared: &[("function ", "test")],
        marks: &["#[Test", "@test", "* @test"],
        calls: &["it", "test"],
        skips: &["markTestSkipped", "markTestIncomplete", "->skip(", "->todo(", "#[RequiresPhp",
            "@group skip"],
        assertions: &["assert", "Assert", "expect", "should"],
        ..NONE
    },
    Dialect {
        endings: &["c", "h", "cc", "cpp", "cxx", "hpp", "hh", "m", "mm"],
        macros: &["TEST", "TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P", "TEST_CASE", "SCENARIO",
            "TEST_METHOD", "BOOST_AUTO_TEST_CASE", "BOOST_FIXTURE_TEST_CASE", "DOCTEST_TEST_CASE",
            "START_TEST", "Test", "ParameterizedTest"],
        declared: &[("- (void)", "test")],
        skips: &["GTEST_SKIP", "DISABLED_", "doctest::skip", "[!mayfail]", "[.]", "SKIP(",
            "boost::unit_test::disabled", "XCTSkip", ".disabled = true"],
        assertions: &["ASSERT", "EXPECT", "CHECK", "REQUIRE", "BOOST_CHECK", "BOOST_REQUIRE",
            "BOOST_TEST", "XCTAssert", "XCTFail", "assert", "Assert", "cr_assert", "ck_assert",
            "FAIL("],
        ..NONE
    },
    Dialect {
        endings: &["swift"],
        declared: &[("func ", "test")],
        marks: &["@Test"],
        skips: &["XCTSkip", ".disabled(", "withKnownIssue"],
        assertions: &["XCTAssert", "XCTFail", "XCTUnwrap", "#expect", "#require", "expect("],
        ..NONE
    },
    Dialect {
        endings: &["ex", "exs"],
        comment: "#",
        has_blocks: false,
        calls: &["test", "property"],
        skips: &["@tag :skip", "@moduletag :skip", "@tag skip", "@moduletag skip"],
        assertions: &["assert", "refute"],
        ..NONE
    },
    Dialect {
        endings: &["dart"],
        calls: &["test", "testWidgets", "blocTest"],
        skips: &["skip: true", "skip: '", "skip: \"", "@Skip"],
        assertions: &["expect", "verify("],
        ..NONE
    },
    Dialect {
        endings: &["bats", "sh", "bash"],
        comment: "#",
        has_blocks: false,
        calls: &["@test"],
        declared: &[("", "test_")],
        skips: &["^skip"],
        assertions: &["assert", "refute", "[ ", "[[ "],
        ..NONE
    },
    Dialect {
        endings: &["t", "pl", "pm"],
        comment: "#",
        has_blocks: false,
        calls: &["subtest"],
        skips: &["skip_all", "SKIP:", "TODO:", "plan skip", "todo_skip"],
        assertions: &["ok(", "is(", "isnt(", "like(", "unlike(", "is_deeply(", "cmp_ok(",
            "dies_ok(", "throws_ok(", "lives_ok("],
        ..NONE
    },
];

impl Dialect {
    /// Returns the dialect of a file; `None` if it is not known.
    pub(super) fn for_path(path: &str) -> Option<&'static Dialect> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, ending) = name.rsplit_once('.')?;
        let ending = ending.to_ascii_lowercase();
        DIALECTS
            .iter()
            .find(|dialect| dialect.endings.contains(&ending.as_str()))
    }
}
