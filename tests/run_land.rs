//! `run --land`: landing is a setting of the run, so whoever brings the run to its end lands it, and nobody does so
//! twice.

use libtest_mimic::Failed;
use rustix::process::Signal;
use serde_json::json;

use crate::bad_input::{git_program, with_program};
use crate::run::{done, write};
use crate::standing::{Desk, says};
use crate::support::{Case, Outcome, Rule, Script, at, case, fail};

/// A command that waits for a file among the repository's objects, which it can see.
pub(crate) const WAITING: &str = "- [ ] T1 one (run: until test -e \"$(sed 's/^gitdir: //' .git)/../../objects/go\"; do sleep 0.05; done; \
     touch one)\n";
/// Work that a person has to approve.
const REVIEWED: &str = "- [ ] T1 one (run: touch one) (review: required)\n";

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case("run_land::whoever_resumes_a_killed_run_lands_it", whoever_resumes_a_killed_run_lands_it),
        case("run_land::whoever_resumes_after_a_killed_landing_finishes_it", whoever_resumes_finishes_a_landing),
        case("run_land::a_killed_landing_is_done_after_a_commit", a_killed_landing_is_done_after_a_commit),
        case("run_land::what_was_in_the_way_of_a_landing_is_moved_away", what_was_in_the_way_is_moved_away),
        case("run_land::what_was_reset_by_hand_is_not_landed_again", what_was_reset_by_hand_is_not_landed_again),
        case("run_land::new_work_lands_after_the_old_was_taken_back", new_work_lands_after_the_old_was_taken_back),
        case("run_land::new_work_lands_after_the_old_was_reset", new_work_lands_after_the_old_was_reset),
        case("run_land::a_killed_landing_that_was_taken_back_stays_so", a_killed_landing_taken_back_stays_so),
        case("run_land::whoever_approves_the_last_task_lands_it", whoever_approves_the_last_task_lands_it),
        case("run_land::what_was_taken_back_is_not_landed_again", what_was_taken_back_is_not_landed_again),
        case("run_land::work_that_came_back_is_landed_too", work_that_came_back_is_landed_too),
        case("run_land::whoever_cannot_land_it_is_told", whoever_cannot_land_it_is_told),
    ]
}

fn killed(options: &[&str]) -> Result<Desk, Failed> {
    let desk = Desk::new(WAITING)?;
    let typed = [&["run", "plan.md", "--output-format", "stream-json", "--land"], options].concat();
    let running = desk.home.orchestrate(desk.repository.path(), &typed).start()?;
    running.line(|line| line.contains("\"tool.started\""))?;
    running.signal(Signal::KILL)?;
    running.end()?.exits(137)?;
    desk.repository.write(".git/objects/go", "")?;
    Ok(desk)
}

/// Reports whether the result is in the user's checkout.
fn has_landed(desk: &Desk) -> bool {
    desk.repository.path().join("one").exists()
}

fn whoever_resumes_a_killed_run_lands_it() -> Outcome {
    for (options, boxes) in [(&[][..], "- [x] T1"), (&["--no-write-back"], "- [ ] T1")] {
        let desk = killed(options)?;
        let resumed = desk.types(&["resume"], 0)?;
        says(&resumed, &["has landed: main went from"])?;
        if !has_landed(&desk) || !desk.repository.read("plan.md")?.starts_with(boxes) {
            return fail(format!("{options:?}: {}{}", resumed.stdout, resumed.stderr));
        }
    }
    Ok(())
}

/// Lands a run by itself, which dies once that is recorded: of the very process that would write the checkout, which
/// then does this instead.
fn killed_while_landing(then: &str) -> Result<Desk, Failed> {
    let desk = Desk::new("- [ ] T1 one (run: touch one)\n")?;
    let script = format!(
        "case \"$*\" in *\"read-tree -m -u\"*) kill -KILL $PPID; {then};; esac\nexec {} \"$@\"",
        git_program(&desk.home)?
    );
    let path = with_program(&desk.home, "git", &script)?;
    let before = desk.repository.git(&["rev-parse", "main"])?;
    let run = desk.home.orchestrate(desk.repository.path(), &["run", "plan.md", "--land"]);
    run.env("PATH", &path).run()?.exits(137)?;
    let facts = desk.types(&["log", "--json"], 0)?.stdout;
    let is_recorded = facts.lines().last().is_some_and(|fact| fact.contains("\"landing.started\""));
    if is_recorded && desk.repository.git(&["rev-parse", "main"])? == before { Ok(desk) } else { fail(facts) }
}

fn whoever_resumes_finishes_a_landing() -> Outcome {
    for then in ["exit 1", ":"] {
        let desk = killed_while_landing(then)?;
        let before = desk.repository.git(&["rev-parse", "main"])?;
        says(&desk.types(&["resume"], 0)?, &["has landed: main went from"])?;
        if !has_landed(&desk) || desk.repository.git(&["rev-parse", "main"])? == before {
            return fail(format!("it has not, where git did {then}"));
        }
    }
    Ok(())
}

/// What was recorded before it was done says of it nothing but that.
fn a_killed_landing_is_done_after_a_commit() -> Outcome {
    let desk = killed_while_landing("exit 1")?;
    desk.repository.git(&["commit", "-q", "--allow-empty", "-m", "Meanwhile"])?;
    says(&desk.types(&["status"], 0)?, &["orchestrate land\n"])?;
    says(&desk.types(&["resume"], 0)?, &["has landed: main went from", "merged with its new commits"])?;
    if has_landed(&desk) { Ok(()) } else { fail("it has not") }
}

fn what_was_in_the_way_is_moved_away() -> Outcome {
    let desk = Desk::new("- [ ] T1 one (run: touch one)\n")?;
    desk.repository.write("one", "mine\n")?;
    desk.types(&["run", "plan.md", "--land"], 3)?;
    says(&desk.types(&["log"], 0)?, &["not landed: ", "it would overwrite local changes in one"])?;
    std::fs::remove_file(desk.repository.path().join("one"))?;
    says(&desk.types(&["resume"], 0)?, &["has landed: main went from"])?;
    if has_landed(&desk) { Ok(()) } else { fail("it has not") }
}

fn what_was_reset_by_hand_is_not_landed_again() -> Outcome {
    let desk = Desk::new("- [ ] T1 one (run: touch one)\n")?;
    desk.types(&["run", "plan.md", "--land"], 0)?;
    desk.repository.git(&["reset", "-q", "--hard", "HEAD~1"])?;
    desk.types(&["resume"], 0)?;
    if has_landed(&desk) {
        return fail("it has landed again");
    }
    // Whoever asks for it gets it.
    says(&desk.types(&["land"], 0)?, &["has landed: main went from"])?;
    desk.types(&["land", "--undo"], 0)?;
    if has_landed(&desk) { fail("it is still there") } else { Ok(()) }
}

fn new_work_lands_after_the_old_was_taken_back() -> Outcome {
    let desk = Desk::new("- [ ] T1 one (run: date +%N >> one)\n")?;
    desk.types(&["run", "plan.md", "--land"], 0)?;
    desk.types(&["reject", "T1", "-m", "Again."], 0)?;
    desk.types(&["land", "--undo"], 0)?;
    desk.types(&["land", "--undo"], 0)?;
    desk.types(&["resume"], 0)?;
    if has_landed(&desk) {
        return fail("what was taken back has landed again");
    }
    says(&desk.types(&["reject", "T1", "-m", "Again."], 0)?, &["has landed: main went from"])?;
    if has_landed(&desk) { Ok(()) } else { fail("it has not") }
}

/// What keeps the new work from landing at first is no reason to leave it.
fn new_work_lands_after_the_old_was_reset() -> Outcome {
    let desk = Desk::new("- [ ] T1 one (run: date +%N >> one)\n")?;
    desk.types(&["run", "plan.md", "--land", "--verify", "test ! -e bad"], 0)?;
    desk.repository.git(&["reset", "-q", "--hard", "HEAD~1"])?;
    desk.repository.write("bad", "1\n")?;
    desk.repository.commit_all("Break it")?;
    desk.types(&["reject", "T1", "-m", "Again."], 3)?;
    if has_landed(&desk) {
        return fail("a red tree has landed");
    }
    desk.repository.git(&["reset", "-q", "--hard", "HEAD~1"])?;
    says(&desk.types(&["resume"], 0)?, &["has landed: main went from"])?;
    if has_landed(&desk) { Ok(()) } else { fail("it has not") }
}

fn a_killed_landing_taken_back_stays_so() -> Outcome {
    for then in ["exit 1", ":"] {
        let desk = killed_while_landing(then)?;
        desk.types(&["land", "--undo"], 0)?;
        desk.types(&["resume"], 0)?;
        if has_landed(&desk) {
            return fail(format!("it has landed, where git did {then}"));
        }
    }
    Ok(())
}

fn whoever_approves_the_last_task_lands_it() -> Outcome {
    let desk = Desk::new(REVIEWED)?;
    desk.types(&["run", "plan.md", "--land"], 3)?;
    if has_landed(&desk) {
        return fail("it has landed without approval");
    }
    let approved = desk.types(&["approve", "T1"], 0)?;
    says(&approved, &["has landed: main went from"])?;
    let resumed = desk.types(&["resume"], 0)?;
    let said = format!("{}{}", resumed.stdout, resumed.stderr);
    if has_landed(&desk) && !approved.stdout.contains("orchestrate land") && !said.contains("main") {
        Ok(())
    } else {
        fail(approved.stdout + &said)
    }
}

fn what_was_taken_back_is_not_landed_again() -> Outcome {
    let desk = Desk::new(REVIEWED)?;
    desk.types(&["run", "plan.md", "--land"], 3)?;
    desk.types(&["approve", "T1"], 0)?;
    desk.types(&["land", "--undo"], 0)?;
    let resumed = desk.types(&["resume"], 0)?;
    says(&resumed, &["\n  orchestrate land\n"])?;
    if has_landed(&desk) { fail(resumed.stderr) } else { Ok(()) }
}

/// A rejection after the landing brings another result.
fn work_that_came_back_is_landed_too() -> Outcome {
    let desk = Desk::new("- [ ] T1 one\n")?;
    let second =
        Rule::task("T1").last_contains("write 2").call("write_file", &json!({"path": "one", "content": "2\n"}));
    let model = desk.script(&Script::default().rule(write("T1", "one", "1\n")).rule(second).rule(done("T1")))?;
    desk.types(&["run", "plan.md", "--land", "--model", &model], 0)?;
    let first = desk.repository.read("one")?;
    says(&desk.types(&["reject", "T1", "-m", "write 2"], 0)?, &["has landed: main went from"])?;
    let landed = [first, desk.repository.read("one")?];
    if landed == ["1\n", "2\n"] { Ok(()) } else { fail(format!("{landed:?}")) }
}

fn whoever_cannot_land_it_is_told() -> Outcome {
    let desk = Desk::new(REVIEWED)?;
    desk.types(&["run", "plan.md", "--land"], 3)?;
    desk.repository.write("one", "mine\n")?;
    let approved = desk.types(&["approve", "T1", "--json"], 3)?;
    let report = approved.json()?;
    let agrees = *at(&report, "/exit_code")? == 3 && *at(&report, "/status")? == "needs_human";
    if agrees && desk.repository.read("one")? == "mine\n" && approved.stderr.contains("one") {
        Ok(())
    } else {
        fail(format!("{approved:?}"))
    }
}
