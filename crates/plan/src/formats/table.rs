//! All formats, and which of them a document has.

use serde::{Deserialize, Serialize};

use crate::fields::names::{KnownNames, ReadAs};
use crate::finding::{FindingCode, Findings, Pending};
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish;
use crate::formats::format::{Claim, Decision, Format, Node, Scope};
use crate::formats::generic;
use crate::formats::left_over;
use crate::formats::verdict::{self, Verdict};
use crate::formats::walk::{self, Decide};
use crate::formats::whole;
use crate::formats::{
    agent_os, agent_os_v1, antigravity_plan, antigravity_task, backlog_md, bmad_story, claude_plan,
    conductor, cursor, execplan, gsd_plan, gsd_roadmap, kiro, openspec, ralph, spec_kit,
    status_table, superpowers,
};

/// The formats of Markdown; those of JSON are recognised by their fields.
pub(crate) const FORMATS: &[Format] = &[
    cursor::FORMAT,
    backlog_md::FORMAT,
    gsd_plan::FORMAT,
    gsd_roadmap::FORMAT,
    ralph::FORMAT,
    antigravity_task::FORMAT,
    antigravity_plan::FORMAT,
    claude_plan::FORMAT,
    status_table::FORMAT,
    spec_kit::FORMAT,
    superpowers::FORMAT,
    kiro::FORMAT,
    openspec::FORMAT,
    agent_os::FORMAT,
    agent_os_v1::FORMAT,
    conductor::FORMAT,
    execplan::FORMAT,
    bmad_story::FORMAT,
];

/// How many titles of a reading are shown.
const SHOWN_TITLES: usize = 3;

/// One way to read a document that can be read in several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The word that chooses it: a way, or the name of a format.
    pub read: String,
    /// How many tasks are open.
    pub tasks: usize,
    /// The titles of the first of them.
    pub titles: Vec<String>,
    /// Why it fits.
    pub why: String,
}

/// A document that was read.
pub(crate) struct Read {
    pub(crate) collected: Collected,
    /// The name of its format, or the way in which it was read.
    pub(crate) format: &'static str,
    /// The ways to read it, if there are several.
    pub(crate) readings: Vec<Reading>,
}

impl Decide for Format {
    fn decide(&self, node: &Node<'_>, scope: &Scope<'_>) -> Decision {
        self.decision(node, scope)
    }

    fn dash_is_progress(&self) -> bool {
        self.dash_is_progress
    }
}

impl Format {
    /// Reads a document of this format.
    fn read(
        &self,
        document: &Document<'_, '_>,
        known: &KnownNames,
        findings: &mut Findings,
    ) -> Collected {
        let mut found = walk::read(document, self, known, findings);
        found.keys = self.keys;
        for draft in &mut found.drafts {
            draft.counts |= self.in_order;
        }
        if self.ticks_parts {
            finish::tick_parts(document, &mut found.drafts);
        }
        if let Some(finish) = self.finish {
            finish(document, &mut found, findings);
        }
        left_over::record(document, &mut found, findings);
        found
    }
}

/// Reads a document in its format, or in the one way that fits; if several do, or if its format is
/// contradicted, that is an error, and the first way counts.
pub(crate) fn read(
    document: &Document<'_, '_>,
    way: Option<ReadAs>,
    known: &KnownNames,
    findings: &mut Findings,
) -> Read {
    if let Some(way) = way {
        // Who chooses a way wants its tasks, whatever the document says of its status.
        return in_way(document, way, known, findings);
    }
    let (mut mine, mut weakly, mut doubt) = (Vec::new(), Vec::new(), None);
    for format in FORMATS {
        match (format.claims)(document) {
            Claim::NotMine => {}
            Claim::Mine(why) => mine.push((format, why.to_owned())),
            Claim::Weakly(why) => weakly.push((format, why.to_owned())),
            Claim::Contradicting(why) => {
                doubt.get_or_insert(why.clone());
                mine.push((format, why));
            }
        }
    }
    if mine.is_empty() {
        mine = weakly;
    }
    if let ([(format, _)], None) = (mine.as_slice(), &doubt) {
        return Read {
            collected: format.read(document, known, findings),
            format: format.name,
            readings: Vec::new(),
        };
    }
    let (why, ways) = match verdict::judge(document, known) {
        Verdict::Certain(way) if mine.is_empty() => {
            return certain(document, way, known, findings);
        }
        Verdict::Certain(_) => ("", verdict::ways(document, known)),
        Verdict::Ambiguous(why, ways) => (why, ways),
    };
    let why = match (doubt, mine.is_empty()) {
        (Some(doubt), _) => doubt,
        (None, true) => why.to_owned(),
        (None, false) => "it has the marks of several formats".to_owned(),
    };
    let mut readings = Vec::new();
    for (format, why) in &mine {
        let found = format.read(document, known, &mut Findings::default());
        readings.push(reading(format.name, why, &found));
    }
    for way in &ways {
        let found = generic::read(document, *way, known, &mut Findings::default());
        readings.push(reading(way.word(), way.tasks(), &found));
    }
    findings.error(ambiguous(document, &why, &ways));
    let collected = match mine.first() {
        Some((format, _)) => format.read(document, known, findings),
        // The whole document is always one.
        None => {
            let way = ways.first().map_or(ReadAs::Whole, |way| *way);
            generic::read(document, way, known, findings)
        }
    };
    Read {
        collected,
        format: "ambiguous",
        readings,
    }
}

/// Reads a document in the one way that fits.
fn certain(
    document: &Document<'_, '_>,
    way: ReadAs,
    known: &KnownNames,
    findings: &mut Findings,
) -> Read {
    let mut read = in_way(document, way, known, findings);
    let collected = &mut read.collected;
    let said = whole::status_of(&collected.notes);
    if let Some(status) = document.status().or(said) {
        for draft in collected.drafts.iter_mut().filter(|it| it.status.runs()) {
            draft.status = status;
            let reason = "the document says that all its work is done, or not to be done";
            findings.skip(draft.at, reason);
        }
    }
    read
}

/// Reads a document in a way.
fn in_way(
    document: &Document<'_, '_>,
    way: ReadAs,
    known: &KnownNames,
    findings: &mut Findings,
) -> Read {
    let mut collected = generic::read(document, way, known, findings);
    left_over::record(document, &mut collected, findings);
    Read {
        collected,
        format: way.word(),
        readings: Vec::new(),
    }
}

fn reading(name: &str, why: &str, found: &Collected) -> Reading {
    let open: Vec<&str> = found
        .drafts
        .iter()
        .filter(|draft| draft.status.runs())
        .map(|draft| draft.title.as_str())
        .collect();
    let tasks = match found.drafts.is_empty() {
        true => 1,
        false => open.len(),
    };
    Reading {
        read: name.to_owned(),
        tasks,
        titles: open
            .into_iter()
            .take(SHOWN_TITLES)
            .map(str::to_owned)
            .collect(),
        why: why.to_owned(),
    }
}

fn ambiguous(document: &Document<'_, '_>, why: &str, ways: &[ReadAs]) -> Pending {
    let message = format!("this plan can be read in several ways, since {why}");
    let words: Vec<&str> = ways.iter().map(|way| way.word()).collect();
    let advice = format!(
        "choose {}; `read:` in the front matter keeps the choice",
        words.join(", ").replacen(", whole", " or whole", 1)
    );
    Pending::new(document.start, FindingCode::Ambiguous, "", message).suggest(Some(advice))
}
