//! Tests of habits that plans have beside their styles: checkpoints, groups, criteria, sections of what is not to be
//! done now, marks and numbers of other products, and prose where attributes may stand.

use crate::parse::read;
use crate::style_tests::written;
use crate::{KnownNames, Plan};

fn plan(source: &str) -> Plan {
    let (plan, errors) = read(source, &KnownNames::roles(["implementer", "reviewer", "tester"]));
    assert!(errors.is_empty(), "{source}\n{errors:#?}");
    plan
}

const KIRO: &str = "\
# Implementation Plan

- [-] 1. Models
  - [x] 1.1 Interfaces
    - _Requirements: 1.1_
  - [-] 1.2 User
  - [ ]* 1.3 Write unit tests

- [ ] 2. Checkpoint - Ensure all tests pass

- [ ] 3. Routes
  - [ ] 3.1 Read
  - [ ] 3.2 Write

- [ ] 4. Final checkpoint - Ensure all tests pass
";

#[test]
fn tasks_that_only_check_may_change_nothing() {
    let ids = |source: &str| -> Vec<String> {
        let tasks = plan(source).tasks.into_iter().filter(|task| task.may_change_nothing);
        tasks.map(|task| task.id.to_string()).collect()
    };
    assert_eq!(ids(KIRO), ["2", "4"]);
    assert_eq!(
        ids("- [ ] T1 Write tests\n- [ ] T2 Verify the login\n- [ ] T3 Add a page\n\
                    - [ ] T4 Test it (files: t)\n"),
        ["T2"]
    );
}

#[test]
fn the_box_of_a_group_is_ticked_with_the_last_of_its_tasks() {
    let expected = KIRO.replace("[-]", "[x]").replace("[ ] 2.", "[x] 2.").replace("[ ] 3.1", "[x] 3.1");
    written(KIRO, &["1.2", "2", "3.1"], &expected);
    let expected = expected.replace("[ ] 3", "[x] 3");
    written(KIRO, &["1.2", "2", "3.1", "3.2"], &expected);
    written("- [ ] 1. A\n- [ ] 1.1 B\n- [ ] 1.2 C\n", &["1.1", "1.2"], "- [x] 1. A\n- [x] 1.1 B\n- [x] 1.2 C\n");
    written("- [ ] 1. A\n  - [ ] 1.1 B\n  - [!] 1.2 C\n", &["1.1"], "- [ ] 1. A\n  - [x] 1.1 B\n  - [!] 1.2 C\n");
}
