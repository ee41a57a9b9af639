//! All formats, and which of them take a document for their own.

use crate::fields::names::KnownNames;
use crate::finding::Findings;
use crate::formats::collected::Collected;
use crate::formats::document::Document;
use crate::formats::finish;
use crate::formats::format::{Claim, Decision, Format, Node, Scope};
use crate::formats::held;
use crate::formats::left_over;
use crate::formats::walk::{self, Decide};
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
    pub(super) fn read(
        &self,
        document: &Document<'_, '_>,
        known: &KnownNames,
        findings: &mut Findings,
    ) -> Collected {
        let mut found = walk::read(document, self, known, findings);
        found.owns_front_matter = self.owns_front_matter;
        for draft in &mut found.drafts {
            draft.counts |= self.in_order;
        }
        if self.ticks_parts {
            finish::tick_parts(document, &mut found.drafts);
        }
        if let Some(finish) = self.finish {
            finish(document, &mut found, findings);
        }
        held::settle(&mut found, findings);
        left_over::record(document, true, &mut found, findings);
        found
    }
}

/// What the formats say of a document.
pub(super) struct Claimed {
    /// Those that take it for their own, each with why it fits.
    pub(super) mine: Vec<(&'static Format, String)>,
    /// Why it contradicts one of them.
    pub(super) contradiction: Option<String>,
}

impl Claimed {
    pub(super) fn new(document: &Document<'_, '_>) -> Self {
        let (mut mine, mut weakly) = (Vec::new(), Vec::new());
        let mut contradiction = None;
        for format in FORMATS {
            let name = format.name;
            match (format.claims)(document) {
                Claim::NotMine => {}
                Claim::Mine(why) => mine.push((format, format!("as {name}, since {why}"))),
                Claim::Weakly(why) => weakly.push((format, format!("as {name}, since {why}"))),
                Claim::Contradicting(why) => {
                    mine.push((format, format!("as {name}, although {why}")));
                    contradiction.get_or_insert(why);
                }
            }
        }
        if mine.is_empty() {
            mine = weakly;
        }
        Self {
            mine,
            contradiction,
        }
    }

    /// Returns the format of the document, if it is certain.
    pub(super) fn only(&self) -> Option<&'static Format> {
        match self.mine.as_slice() {
            [(format, _)] if self.contradiction.is_none() => Some(format),
            _ => None,
        }
    }
}
