//! Profiles in each format, whole and damaged.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fmt::Write as _;
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use orchestrate_code::{CodeError, LeftOut, PerformanceAnalysis, ProfileFormat};

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

const FOLDED: &str = "main;work;sort 30\nmain;work 10\n# note\nmain;sort 60\n";
const PERF: &str = "# captured on: a day\n   our program  4242/4243 [001]  5678.901234:     250000 cpu-clock:uhH: \n\
    \t    55d0a1 work+0x1f (/usr/bin/program)\n\t    55d0b2 main+0x2a (/usr/bin/program)\n\
    \t    7f0011 __libc_start_main@@GLIBC_2.34+0x80 (/usr/lib/libc.so.6)\n\n\
    our program  4242/4243 [001]  5678.911234:     750000 cpu-clock:uhH: \n\
    \t    55d0b2 main+0x2a (/usr/bin/program)\n\t    7f0011 __libc_start_main@@GLIBC_2.34+0x80 (/usr/lib/libc.so.6)\n\n";
/// Without stacks, and with a second event.
const PERF_OF_LEAVES: &str = "     program  4242  5678.901234:     3 cycles:u:      55d0a1 work+0x1f (/usr/bin/program)\n     \
    program  4242  5678.901235:     9 instructions:u:      55d0a1 work+0x1f (/usr/bin/program)\n     \
    program  4242  5678.901236:     1 cycles:u:      7f0011 [unknown] (/usr/lib/libc.so.6)\nwhat is this\n";
/// Written by Go 1.19 and Python 3.11.
const PPROF: &[u8] = include_bytes!("samples/cpu.pb.gz");
const STATISTICS: &[u8] = include_bytes!("samples/python.prof");
const TABLE: &str = include_str!("samples/python.txt");
const CRITERION: &str = "{\"reason\":\"benchmark-complete\",\"id\":\"parse/small\",\"typical\":{\"estimate\":250.5,\
    \"unit\":\"ns\"}}\n{\"reason\":\"group-complete\",\"group_name\":\"parse\"}\n\
    {\"reason\":\"benchmark-complete\",\"id\":\"parse/large\",\"typical\":{\"estimate\":749.5,\"unit\":\"ns\"}}\n";
const ESTIMATES: &str = "{\"mean\":{\"confidence_interval\":{\"confidence_level\":0.95},\"point_estimate\":12.5,\
    \"standard_error\":0.1},\"slope\":null}";
const SAMPLES: &str = "{\"sampling_mode\":\"Linear\",\"iters\":[1.0,3.0],\"times\":[10.0,30.0]}";

fn read(profile: &[u8]) -> PerformanceAnalysis {
    PerformanceAnalysis::read(profile, NEVER).unwrap()
}

fn error(profile: &[u8]) -> String {
    PerformanceAnalysis::read(profile, NEVER)
        .unwrap_err()
        .to_string()
}

/// Returns each function with its own and total value.
fn functions(analysis: &PerformanceAnalysis) -> Vec<(&str, u64, u64)> {
    analysis
        .functions
        .iter()
        .map(|one| (one.name.as_str(), one.own, one.total))
        .collect()
}

/// Returns each path with its value.
fn paths(analysis: &PerformanceAnalysis) -> Vec<(String, u64)> {
    analysis
        .paths
        .iter()
        .map(|path| (path.frames.join(";"), path.value))
        .collect()
}

fn zipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A profile with its format, what is measured, the sum, and its functions.
type Row<'r> = (
    &'r [u8],
    ProfileFormat,
    &'r str,
    u64,
    &'r [(&'r str, u64, u64)],
);

fn check(table: &[Row<'_>]) {
    for (profile, format, measure, total, expected) in table {
        let analysis = read(profile);
        let measured = format!("{} in {}", analysis.measure, analysis.unit);
        assert_eq!(
            (analysis.format, measured.as_str(), analysis.total),
            (*format, *measure, *total)
        );
        assert_eq!(functions(&analysis), *expected, "{format:?}");
        assert_eq!(analysis.left_out, LeftOut::default(), "{format:?}");
        if *profile != PPROF {
            assert_eq!(read(&zipped(profile)), analysis);
        }
    }
}

#[test]
fn each_format_of_stacks_is_known_and_read() {
    check(&[
        (
            FOLDED.as_bytes(),
            ProfileFormat::Folded,
            "samples in samples",
            100,
            &[("sort", 90, 90), ("work", 10, 40), ("main", 0, 100)],
        ),
        (
            PERF.as_bytes(),
            ProfileFormat::PerfScript,
            "cpu-clock:uhH in nanoseconds",
            1_000_000,
            &[
                ("main", 750_000, 1_000_000),
                ("work", 250_000, 250_000),
                ("__libc_start_main@@GLIBC_2.34", 0, 1_000_000),
                ("our program", 0, 1_000_000),
            ],
        ),
        (
            PPROF,
            ProfileFormat::Pprof,
            "cpu in nanoseconds",
            360_000_000,
            &[
                ("main.work", 250_000_000, 290_000_000),
                ("main.main", 60_000_000, 360_000_000),
                ("runtime.asyncPreempt", 50_000_000, 50_000_000),
                ("runtime.main", 0, 360_000_000),
            ],
        ),
    ]);
}

/// Returns a profile of the heap as Go writes it: the type of the period first, then four values of
/// each sample.
fn heap(default: &[u8]) -> Vec<u8> {
    let mut profile = b"\x5a\x04\x08\x05\x10\x06\x60\x80\x80\x20".to_vec();
    profile.extend(b"\x0a\x04\x08\x01\x10\x02\x0a\x04\x08\x03\x10\x06\x0a\x04\x08\x04\x10\x02\x0a\x04\x08\x07\x10\x06");
    profile.extend(
        b"\x12\x09\x0a\x01\x01\x12\x04\x07\x46\x03\x1e\x22\x06\x08\x01\x22\x02\x08\x01\x2a\x04\x08\x01\x10\x08",
    );
    let strings = [
        "",
        "alloc_objects",
        "count",
        "alloc_space",
        "inuse_objects",
        "space",
        "bytes",
        "inuse_space",
        "main.keep",
    ];
    for string in strings {
        profile.extend([0x32, u8::try_from(string.len()).unwrap()]);
        profile.extend(string.as_bytes());
    }
    profile.extend(default);
    profile
}

/// `WriteHeapProfile` and `Lookup("goroutine")` of Go were "no profile that is known". Without a
/// type by default, pprof shows the last.
#[test]
fn profiles_that_begin_with_the_type_of_their_period_are_read() {
    check(&[
        (
            &heap(b""),
            ProfileFormat::Pprof,
            "inuse_space in bytes",
            30,
            &[("main.keep", 30, 30)],
        ),
        (
            &heap(b"\x70\x03"),
            ProfileFormat::Pprof,
            "alloc_space in bytes",
            70,
            &[("main.keep", 70, 70)],
        ),
    ]);
    // Go writes the time first in profiles of the processor; any other number may stand there too.
    for first in [
        b"\x48\x01".as_slice(),
        b"\x60\x01",
        b"\x6a\x01\x02",
        b"\x70\x00",
    ] {
        let profile = [first, &heap(b"")].concat();
        assert_eq!(read(&profile).total, 30, "{first:?}");
    }
}

#[test]
fn each_format_of_tables_is_known_and_read() {
    const ITERATION: &str = "time of one iteration in picoseconds";
    check(&[
        (
            CRITERION.as_bytes(),
            ProfileFormat::Criterion,
            ITERATION,
            1_000_000,
            &[
                ("parse/large", 749_500, 749_500),
                ("parse/small", 250_500, 250_500),
            ],
        ),
        (
            ESTIMATES.as_bytes(),
            ProfileFormat::Criterion,
            ITERATION,
            12_500,
            &[("benchmark", 12_500, 12_500)],
        ),
        (
            SAMPLES.as_bytes(),
            ProfileFormat::Criterion,
            ITERATION,
            10_000,
            &[("benchmark", 10_000, 10_000)],
        ),
    ]);
}

#[test]
fn the_table_of_python_is_read() {
    let table = read(TABLE.as_bytes());
    assert_eq!(table.format, ProfileFormat::Cprofile);
    let fib = table.functions.iter().find(|one| one.name == "p.py:4(fib)");
    assert_eq!(fib.unwrap().calls, Some(465));
    let hottest = &table.functions[0];
    assert_eq!(
        (table.total, hottest.name.as_str(), hottest.own),
        (9_000_000, "p.py:2(<genexpr>)", 5_000_000)
    );
    // A list that is limited to its first rows keeps its shares.
    let limited = TABLE
        .lines()
        .filter(|line| !line.contains("genexpr"))
        .collect::<Vec<_>>()
        .join("\n");
    assert_eq!(read(limited.as_bytes()).total, 9_000_000);
}

/// What cProfile saves is read by the same version of Python alone, which prints its table.
#[test]
fn the_error_for_saved_statistics_says_how_to_print_them() {
    let expected = "the profile was taken for one of cProfile and cannot be read: it is saved for Python alone; print \
        its table and give that: `python3 -c 'import pstats; pstats.Stats(\"FILE\").print_stats()' > profile.txt`";
    for saved in [STATISTICS, b"{NN0\0", b"\xfb(\x01\x00\x00\x00"] {
        assert_eq!(error(saved), expected);
    }
}

/// cProfile measures the times of functions and those of what they call apart, so that a total may
/// exceed the sum.
#[test]
fn no_share_of_cprofile_exceeds_the_whole() {
    let text = "   4 function calls in 0.010 seconds\n\n   ncalls  tottime  percall  cumtime  percall filename:lineno(function)\n\
                \x20       1    0.010    0.010    0.010    0.010 a.py:1(f)\n\
                \x20       1    0.000    0.000    0.012    0.012 {built-in method builtins.exec}\n";
    let analysis = read(text.as_bytes());
    let shares: Vec<(u64, u64)> = analysis
        .functions
        .iter()
        .map(|one| (one.own_share, one.total_share))
        .collect();
    assert_eq!(
        (analysis.total, shares),
        (12_000_000, vec![(8_333, 8_333), (0, 10_000)])
    );
}

#[test]
fn samples_of_other_events_are_not_counted() {
    let analysis = read(PERF_OF_LEAVES.as_bytes());
    assert_eq!(
        (
            analysis.measure.as_str(),
            analysis.unit.as_str(),
            analysis.total
        ),
        ("cycles:u", "events", 4)
    );
    assert_eq!(
        paths(&analysis),
        [
            ("program;work".to_owned(), 3),
            ("program;7f0011".to_owned(), 1)
        ]
    );
    assert_eq!(
        analysis.left_out,
        LeftOut {
            unread: 1,
            other_events: 1,
            paths: 0
        }
    );
}

#[test]
fn paths_are_ordered_by_their_shares() {
    let analysis = read(b"main;work;sort 30\nmain;work 10\nmain;sort 59\nmain;work;sort 1\n");
    let paths: Vec<(String, u64, u64)> = analysis
        .paths
        .iter()
        .map(|path| (path.frames.join(";"), path.value, path.share))
        .collect();
    let expected = [
        ("main;sort", 59, 5_900),
        ("main;work;sort", 31, 3_100),
        ("main;work", 10, 1_000),
    ];
    assert_eq!(
        paths,
        expected.map(|(path, value, share)| (path.to_owned(), value, share))
    );
    // They are rounded.
    let analysis = read(b"main 200\nwork 5\n");
    let shares: Vec<u64> = analysis.functions.iter().map(|one| one.own_share).collect();
    assert_eq!(shares, [9_756, 244]);
}

#[test]
fn a_function_that_calls_itself_is_counted_once() {
    let analysis = read(b"f;f;f 5\nf;g;f;g 3\n");
    assert_eq!(functions(&analysis), [("f", 5, 8), ("g", 3, 3)]);
    let deep = format!("main;{}end 7\n", "f;g;".repeat(50_000));
    let analysis = read(deep.as_bytes());
    assert_eq!(
        functions(&analysis),
        [("end", 7, 7), ("f", 0, 7), ("g", 0, 7), ("main", 0, 7)]
    );
    let frames = &analysis.paths[0].frames;
    assert_eq!(
        (frames.len(), frames[0].as_str(), frames[32].as_str()),
        (129, "main", "…")
    );
    assert_eq!(frames.last().unwrap(), "end");
}

#[test]
fn those_that_lead_to_the_hottest_are_among_the_functions() {
    let mut text = String::new();
    for number in 0..200 {
        writeln!(text, "main;part{};f{number} {}", number % 2, 1_000 - number).unwrap();
    }
    let analysis = read(text.as_bytes());
    let names: Vec<&str> = analysis
        .functions
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(
        (names[0], names[49], &names[50..]),
        ("f0", "f49", ["main", "part0", "part1"].as_slice())
    );
}

/// `b 5` was a function.
#[test]
fn of_two_counts_of_each_stack_the_second_counts() {
    let analysis = read(b"# before after\na;b 5 7\na;c 3 1\n");
    assert_eq!(
        (analysis.measure.as_str(), analysis.total),
        ("samples after the change", 8)
    );
    assert_eq!(
        functions(&analysis),
        [("b", 7, 7), ("c", 1, 1), ("a", 0, 8)]
    );
    // The name of one function may end with a number.
    let analysis = read(b"a;b 5 7\na;c 3\n");
    assert_eq!((analysis.measure.as_str(), analysis.total), ("samples", 10));
    assert_eq!(
        functions(&analysis),
        [("b 5", 7, 7), ("c", 3, 3), ("a", 0, 10)]
    );
}

/// The numbers of such names were counts of another profile.
#[test]
fn the_names_of_all_functions_may_end_with_a_number() {
    type Row<'a> = (&'a [u8], &'a str, [(&'a str, u64, u64); 3]);
    let (one, after) = ("samples", "samples after the change");
    let table: [Row<'_>; 4] = [
        // The same stack would be there twice.
        (
            b"main;thread 1 30\nmain;thread 2 20\n",
            one,
            [("thread 1", 30, 30), ("thread 2", 20, 20), ("main", 0, 50)],
        ),
        // The number before another frame is no count.
        (
            b"main 1;work 2 30\nmain 1;sort 3 12\n",
            one,
            [("work 2", 30, 30), ("sort 3", 12, 12), ("main 1", 0, 42)],
        ),
        (
            b"main 1;work 2 5 7\nmain 1;sort 3 4 1\n",
            after,
            [("work 2", 7, 7), ("sort 3", 1, 1), ("main 1", 0, 8)],
        ),
        // The count is separated in another way.
        (
            b"a;b 5\t7\na;c 3\t1\n",
            one,
            [("b 5", 7, 7), ("c 3", 1, 1), ("a", 0, 8)],
        ),
    ];
    for (text, measure, expected) in table {
        let analysis = read(text);
        assert_eq!(
            (analysis.measure.as_str(), functions(&analysis)),
            (measure, expected.to_vec())
        );
    }
}

#[test]
fn a_folder_of_criterion_is_read() {
    let file = |path: &str, content: &str| {
        (
            format!("target/criterion/{path}"),
            content.as_bytes().to_vec(),
        )
    };
    let files = [
        file("parse/small/new/estimates.json", ESTIMATES),
        file(
            "parse/small/new/benchmark.json",
            "{\"group_id\":\"parse\",\"full_id\":\"parse: small\"}",
        ),
        file("parse/large/new/sample.json", SAMPLES),
        file("odd/new/benchmark.json", "{\"full_id\":\"odd\"}"),
        file("killed/new/estimates.json", "{\"mean\":"),
    ];
    let analysis = PerformanceAnalysis::of_benchmarks(&files, NEVER).unwrap();
    assert_eq!(
        functions(&analysis),
        [
            ("parse: small", 12_500, 12_500),
            ("parse/large", 10_000, 10_000)
        ]
    );
    assert_eq!(analysis.left_out.unread, 2);
    let error = |files: &[(String, Vec<u8>)]| {
        PerformanceAnalysis::of_benchmarks(files, NEVER)
            .unwrap_err()
            .to_string()
    };
    let prefix = "the profile was taken for one of criterion and cannot be read: ";
    assert_eq!(
        error(&[]),
        format!("{prefix}it holds no time of a benchmark")
    );
    let broken = error(&[file("a/new/estimates.json", "{\"mean\":")]);
    assert!(
        broken.starts_with(&format!(
            "{prefix}target/criterion/a/new/estimates.json: EOF"
        )),
        "{broken}"
    );
}

#[test]
fn what_is_no_profile_is_said() {
    let table: [&[u8]; 9] = [
        b"",
        b"PK\x03\x04",
        b"hello\nworld\n",
        b"{\"a\": 1}",
        b"\xff\x00\x01",
        b"[1, 2]",
        b"\x7fELF\x02\x01\x01\x00",
        b"a b c\nd e f\ng 1\n",
        b";;; 5\n",
    ];
    for profile in table {
        assert_eq!(
            PerformanceAnalysis::read(profile, NEVER),
            Err(CodeError::UnknownProfile),
            "{profile:?}"
        );
    }
}

#[test]
fn an_error_says_which_format_was_recognised_and_where_it_broke() {
    let large = format!("a;b {}\na;c 1\n", u64::MAX);
    let seventy = vec![b'a'; 70 << 20];
    let bomb = zipped(&seventy);
    let long = [
        b"\x0a\x02\x08\x01\x32\x00\x12\x83\x80\x40".as_slice(),
        &vec![0; (1 << 20) + 3],
    ]
    .concat();
    let table: [(&[u8], &str, &str); 14] = [
        (
            b"\x1f\x8b\x08\0\0\0\0\0\0\0garbage-garbage",
            "pprof",
            "what gzip compressed, after 0 bytes",
        ),
        (
            b"\x1f\x8b\x08",
            "pprof",
            "what gzip compressed, after 0 bytes",
        ),
        (&PPROF[..400], "pprof", "what gzip compressed, after "),
        (&bomb, "pprof", "it decompresses to more than 32 MB"),
        (
            b"\x0a\x04\x08\x01",
            "pprof",
            "byte 0: field 1 states 4 bytes, but 2 are left",
        ),
        (
            b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00",
            "pprof",
            "field 1 states 18446744073709551615 bytes",
        ),
        (
            b"\x0a\x02\x08\x01\x80",
            "pprof",
            "byte 4: failed to decode Protobuf message: invalid varint",
        ),
        (
            b"\x0a\x02\x08\x01\x0b\x00",
            "pprof",
            "byte 4: a field of the type 3",
        ),
        (
            b"\x0a\x02\x08\x80",
            "pprof",
            "failed to decode Protobuf message: ValueType.kind: invalid varint",
        ),
        (&long, "pprof", "a record has more than 1 MB"),
        (b"\x0a\x02\x08\x01", "pprof", "it has no table of strings"),
        (
            large.as_bytes(),
            "folded stacks",
            "line 2: the values add up to more than 18446744073709551615",
        ),
        (
            b"a;b 18446744073709551616\n",
            "folded stacks",
            "line 1: the count 18446744073709551616 is larger than",
        ),
        (
            &CRITERION.as_bytes()[..150],
            "criterion",
            "EOF while parsing",
        ),
    ];
    for (profile, format, expected) in table {
        let said = error(profile);
        let prefix = format!("the profile was taken for one of {format} and cannot be read: ");
        assert!(
            said.starts_with(&prefix) && said.contains(expected),
            "{said}"
        );
    }
    assert_eq!(error(&seventy), "the profile is larger than 32 MB");
}

#[test]
fn every_damage_of_a_profile_is_survived() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap()
    };
    let plain = {
        let mut content = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(PPROF), &mut content).unwrap();
        content
    };
    let samples: [&[u8]; 8] = [
        PPROF,
        &plain,
        STATISTICS,
        TABLE.as_bytes(),
        CRITERION.as_bytes(),
        FOLDED.as_bytes(),
        PERF.as_bytes(),
        PERF_OF_LEAVES.as_bytes(),
    ];
    for whole in samples {
        for length in 0..whole.len() {
            let read = PerformanceAnalysis::read(&whole[..length], NEVER);
            assert!(whole[0] != 0x1f || read.is_err(), "{length}");
        }
        // Bytes that are others, are missing, are there twice, or are at another place: it is read
        // or refused.
        for _ in 0..500 {
            let mut damaged = whole.to_vec();
            for _ in 0..1 + random() % 4 {
                let at = random() % damaged.len();
                match random() % 4 {
                    0 => damaged[at] = random() as u8,
                    1 => damaged[at] ^= 0x80,
                    2 => damaged.insert(at, random() as u8),
                    _ => drop(damaged.remove(at)),
                }
            }
            let _ = PerformanceAnalysis::read(&damaged, NEVER);
        }
        // Nothing but the begin is as it should be.
        for _ in 0..500 {
            let mut noise = whole[..1 + random() % 12].to_vec();
            noise.extend((0..random() % 200).map(|_| random() as u8));
            let _ = PerformanceAnalysis::read(&noise, NEVER);
        }
    }
}

#[test]
fn many_stacks_are_added_up_and_can_be_stopped() {
    let mut text = String::new();
    for number in 0..100_000 {
        writeln!(text, "main;f{};g{} 1", number % 100, number % 1_000).unwrap();
    }
    let analysis = read(text.as_bytes());
    assert_eq!(
        (
            analysis.total,
            analysis.functions.len(),
            analysis.paths.len()
        ),
        (100_000, 75, 50)
    );
    for profile in [
        text.as_bytes(),
        PPROF,
        TABLE.as_bytes(),
        CRITERION.as_bytes(),
        PERF.as_bytes(),
    ] {
        assert_eq!(
            PerformanceAnalysis::read(profile, &|| true).err(),
            Some(CodeError::Stopped)
        );
    }
}

/// Functions are exact even if their paths have no room.
#[test]
fn stacks_without_room_are_counted() {
    let mut text = String::new();
    for number in 0..200_000 {
        writeln!(
            text,
            "a{0};b{0};{0};a;b;{1};c 1",
            number % 1_000,
            number / 8
        )
        .unwrap();
    }
    let analysis = read(text.as_bytes());
    assert_eq!(analysis.total, 200_000);
    assert!(analysis.left_out.paths > 0, "{:?}", analysis.left_out);
    let a = analysis
        .functions
        .iter()
        .find(|one| one.name == "a")
        .unwrap();
    assert_eq!((a.own, a.total), (0, 200_000));
}
