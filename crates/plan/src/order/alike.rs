//! Detects names that are easily confused: titles that begin like an id, and paths that are one
//! file on a file system that folds names.
//!
//! Ids that look alike are an error, reported where ids are assigned; this module only warns.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization as _;

use crate::fields::identify;
use crate::finding::{FindingCode, Findings, Pending};
use crate::tasks::draft::Draft;
use orchestrate_core::text::case_folding::folded;
use orchestrate_core::text::invisible::{shown, without_hidden};

/// Warns of all such titles and paths in these tasks.
pub(crate) fn check(drafts: &[Draft], findings: &mut Findings) {
    let mut seen = HashMap::new();
    // Paths that are folded themselves are different files everywhere.
    let are_folded = drafts
        .iter()
        .flat_map(|draft| &draft.attributes.files)
        .all(|file| is_folded(&file.text));
    for draft in drafts {
        if let Some(warning) = like_an_id(draft) {
            findings.warn(warning);
        }
        for file in draft.attributes.files.iter().filter(|_| !are_folded) {
            if let Some(earlier) = twin(&file.text, &mut seen) {
                let message = format!(
                    "`{}` and `{}` are the same file on a case-insensitive file system",
                    shown(earlier),
                    shown(&file.text)
                );
                let found = Pending::new(file.offset, FindingCode::LookAlike, &file.text, message);
                findings.warn(found.suggest(Some("write both the same way".to_owned())));
            }
        }
    }
}

/// Returns a warning if the title would begin with an id after compatibility normalisation (NFKC).
fn like_an_id(draft: &Draft) -> Option<Pending> {
    if draft.id.is_some() || draft.title.is_ascii() {
        return None;
    }
    let usual: String = without_hidden(&draft.title).nfkc().collect();
    let found = identify::leading(&usual).filter(|found| !found.bare_number)?;
    if identify::leading(&draft.title).is_some_and(|written| written.id == found.id) {
        return None;
    }
    let message = format!(
        "this looks like the id `{}` but uses other characters, and is read as a title",
        found.id
    );
    let warning = Pending::new(draft.at, FindingCode::LookAlike, &draft.title, message);
    Some(warning.suggest(Some(format!("write `{}`", found.id))))
}

/// Reports whether a path is known to be its own key, as most are.
fn is_folded(path: &str) -> bool {
    path.bytes()
        .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase())
}

/// Returns an earlier, different spelling of the same path or of a folder above it.
fn twin<'d>(path: &'d str, seen: &mut HashMap<Cow<'d, str>, &'d str>) -> Option<&'d str> {
    let ends = path
        .match_indices('/')
        .map(|(at, _)| at)
        .chain([path.len()]);
    for part in ends
        .filter_map(|end| path.get(..end))
        .filter(|part| !part.is_empty())
    {
        let key = if is_folded(part) {
            Cow::Borrowed(part)
        } else {
            Cow::Owned(folded(part))
        };
        let earlier = *seen.entry(key).or_insert(part);
        if earlier != part {
            return Some(earlier);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::finding::FindingCode;
    use crate::{KnownNames, parse};

    /// Returns the lines of a plan's warnings about names that look alike.
    fn warned(plan: &str) -> Vec<usize> {
        let (plan, errors) = parse::read(plan, &KnownNames::default());
        assert!(errors.is_empty(), "{errors:?}");
        let alike = plan
            .warnings
            .iter()
            .filter(|warning| warning.code == FindingCode::LookAlike);
        alike.map(|warning| warning.line).collect()
    }

    #[test]
    fn a_title_that_begins_like_an_id_is_warned_of() {
        let plan = "- [ ] \u{ff34}1 Make it\n- [ ] \u{ff34}\u{ff11}: Make it\n- [ ] T\u{ff12}: Make it\n\
                    - [ ] T3 Ümake it\n- [ ] Über\n- [ ] ① Make it\n- [ ] ２ tests fail\n";
        assert_eq!(warned(plan), [1, 2, 3]);
    }

    #[test]
    fn paths_that_are_one_file_somewhere_are_warned_of() {
        let plan = "- [ ] T1 One (files: src/\u{e9}.rs, Src2/a)\n- [ ] T2 Two (files: src/e\u{301}.rs)\n\
                    - [ ] T3 Three (files: src2/b)\n- [ ] T4 Four (files: src/\u{e9}.rs, src/a.rs)\n";
        assert_eq!(warned(plan), [2, 3]);
    }
}
