//! Classifies the sections of a plan by their headings, in the languages that public plans are
//! written in: sections whose boxes are not tasks, sections that wait for a person, and sections
//! that list work.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::LazyLock;

use crate::read::lines::text;
use crate::read::states::not_now::{self, NotNow};
use orchestrate_core::text::parts::Parts;

/// What the boxes of a section are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Tasks.
    Work,
    /// Criteria, notes, prerequisites: tasks only in a plan that has no others.
    Notes,
    /// Work of the user, which no run may start.
    Waiting,
    /// What the plan does not want done, at least not now.
    Dropped,
    /// Tasks that the plan does not require.
    Optional,
}

/// Sections that begin with one of these hold notes.
const NOTES: &[&str] = &[
    "acceptance",
    "success criteria",
    "success metrics",
    "exit criteria",
    "validation",
    "verification plan",
    "verification criteria",
    "verification checklist",
    "checklist",
    "definition of done",
    "done when",
    "notes",
    "note",
    "outcomes",
    "outcome",
    "progress",
    "prerequisites",
    "prerequisite",
    "out of scope",
    "non goals",
    "self review",
    // German
    "akzeptanzkriterien",
    "abnahmekriterien",
    "abnahme",
    "erfolgskriterien",
    "fertigstellungskriterien",
    "abschlusskriterien",
    "fertig wenn",
    "notizen",
    "anmerkungen",
    "hinweise",
    "checkliste",
    "validierung",
    "ergebnisse",
    "fortschritt",
    "voraussetzungen",
    // French
    "critères d acceptation",
    "critères de succès",
    "critères de validation",
    "critères de réussite",
    "définition de terminé",
    "définition de fini",
    "remarques",
    "liste de contrôle",
    "résultats",
    "progression",
    "avancement",
    "prérequis",
    "pré requis",
    // Spanish
    "criterios de aceptación",
    "criterios de éxito",
    "definición de hecho",
    "definición de terminado",
    "notas",
    "lista de verificación",
    "lista de comprobación",
    "validación",
    "resultados",
    "progreso",
    "requisitos previos",
    "prerrequisitos",
    // Portuguese
    "critérios de aceitação",
    "critérios de aceite",
    "critérios de sucesso",
    "definição de pronto",
    "observações",
    "lista de verificação",
    "validação",
    "progresso",
    "pré requisitos",
    // Italian
    "criteri di accettazione",
    "criteri di successo",
    "definizione di fatto",
    "definizione di completato",
    "lista di controllo",
    "validazione",
    "risultati",
    "avanzamento",
    "prerequisiti",
    // Russian
    "критерии приёмки",
    "критерии приемки",
    "критерии успеха",
    "критерии готовности",
    "определение готовности",
    "примечания",
    "заметки",
    "чек лист",
    "чеклист",
    "результаты",
    "прогресс",
    "предварительные требования",
    // Korean
    "인수 조건",
    "수락 기준",
    "완료 조건",
    "완료 정의",
    "참고",
    "메모",
    "체크리스트",
    // Chinese, whose headings are one word
    "验收",
    "验收标准",
    "验收条件",
    "验收准则",
    "验收清单",
    "验收测试",
    "完成标准",
    "完成条件",
    "完成定义",
    "完成的定义",
    "成功标准",
    "成功指标",
    "备注",
    "注意",
    "注意事项",
    "说明",
    "检查清单",
    "检查表",
    "结果",
    "进度",
    "当前进度",
    "进展",
    "前提条件",
    "前置条件",
    "先决条件",
    "驗收",
    "驗收標準",
    "驗收條件",
    "完成標準",
    "成功標準",
    "備註",
    "注意事項",
    "說明",
    "檢查清單",
    "進度",
    "前置條件",
    // Japanese
    "受け入れ",
    "受け入れ基準",
    "受け入れ条件",
    "受入",
    "受入基準",
    "受入条件",
    "完了条件",
    "完了の定義",
    "成功基準",
    "成功条件",
    "検証",
    "検証計画",
    "検証項目",
    "検証基準",
    "備考",
    "注意点",
    "メモ",
    "チェックリスト",
    "進捗",
    "進捗状況",
];

/// Sections that end with one of these hold notes, unless they contain a word of [`WORK_WORDS`].
const NOTES_AT_END: &[&str] = &[
    "acceptance criteria",
    "success criteria",
    "checklist",
    "definition of done",
    "notes",
];

/// Stems of headings whose notes say how far the work is.
const PROGRESS: &[&str] = &[
    "progress",
    "fortschritt",
    "avancement",
    "progreso",
    "avanzamento",
    "прогресс",
    "진행",
    "进度",
    "进展",
    "進捗",
];
/// Stems of headings of checklists.
const CHECKLISTS: &[&str] = &[
    "checklist",
    "checkliste",
    "liste de contrôle",
    "lista de verificación",
    "lista de comprobación",
    "lista de verificação",
    "lista di controllo",
    "чек лист",
    "чеклист",
    "체크리스트",
    "检查清单",
    "检查表",
    "チェックリスト",
];

/// Words that make a section with a checklist one of work.
const WORK_WORDS: &[&str] = &[
    "task",
    "tasks",
    "todo",
    "implementation",
    "plan",
    "steps",
    "phase",
    "stage",
];

/// Sections that begin with one of these wait for a person.
const WAITING: &[&str] = &[
    "manual steps",
    "manual step",
    "manual tasks",
    "manual actions",
    "manual action",
    "manual work",
    "manual testing",
    "manual tests",
    "manual verification",
    "manual validation",
    "manual setup",
    "manual configuration",
    "manual intervention",
    "manual qa",
    "manual review",
    "human steps",
    "human tasks",
    "human actions",
    "human action",
    "human input",
    "human review",
    "human approval",
    "human verification",
    "human intervention",
    "human only",
    "human required",
    "open questions",
    "open question",
    "offene fragen",
    "questions ouvertes",
    "preguntas abiertas",
    "perguntas em aberto",
    "questões em aberto",
    "domande aperte",
    "открытые вопросы",
    "미해결 질문",
    "waiting for",
    "waiting on",
    "awaiting",
    "blocked on",
    "blocked by",
    "blocked tasks",
    "blocked items",
    "blocked until",
    "blocked waiting",
    "user action",
    "user actions",
    "user review required",
    "user approval required",
    "user input required",
    "user confirmation required",
    "user decision required",
    "action required",
    "needs human",
    "needs user",
    "needs manual",
    "requires human",
    "requires user",
    "requires manual",
    "for the user",
    "for humans",
    "manuelle schritte",
    "manuelle aufgaben",
    "wartet auf",
    "étapes manuelles",
    "tâches manuelles",
    "en attente de",
    "pasos manuales",
    "tareas manuales",
    "esperando",
    "passos manuais",
    "tarefas manuais",
    "aguardando",
    "passaggi manuali",
    "attività manuali",
    "in attesa di",
    "ручные",
    "手动",
    "手动步骤",
    "手动操作",
    "手动任务",
    "手动测试",
    "手动验证",
    "手动配置",
    "手动设置",
    "人工",
    "人工步骤",
    "人工操作",
    "人工任务",
    "人工审核",
    "人工审批",
    "人工确认",
    "人工验证",
    "等待",
    "等待中",
    "等待用户",
    "等待确认",
    "等待审核",
    "等待审批",
    "等待回复",
    "待确认",
    "待确认事项",
    "待确认问题",
    "未解决",
    "未解决问题",
    "未解决的问题",
    "开放问题",
    "手動",
    "手動步驟",
    "手動手順",
    "手動作業",
    "手動テスト",
    "手動確認",
    "未決",
    "未決事項",
    "未解決の問題",
];

/// Whole headings that mean the same.
const WAITING_ALONE: &[&str] = &[
    "manual", "manually", "human", "humans", "blocked", "waiting",
];

/// First words of the headings of notes, of what waits for a person and of what is not wanted now.
/// Most headings begin with none of them.
static FIRST_WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let headings = [NOTES, WAITING, WAITING_ALONE]
        .into_iter()
        .flatten()
        .copied()
        .chain(not_now::headings());
    headings
        .filter_map(|heading| heading.split(' ').next())
        .collect()
});

/// Words of a heading below which an ordered list is work.
const LIST_WORDS: &[&str] = &[
    "plan",
    "task",
    "tasks",
    "step",
    "steps",
    "todo",
    "todos",
    "remaining",
    "priority",
    "priorities",
    "aufgaben",
    "schritte",
    "tâches",
    "étapes",
    "tareas",
    "pasos",
    "tarefas",
    "passos",
    "attività",
    "passi",
    "piano",
    "задачи",
    "шаги",
    "план",
    "작업",
    "계획",
];
const LIST_WORDS_WITHOUT_BLANKS: &[&str] =
    &["任务", "步骤", "计划", "待办", "タスク", "手順", "計画"];

/// Whole headings below which bullets are tasks.
const BULLET_HEADINGS: &[&str] = &[
    "todo",
    "todos",
    "to do",
    "todo list",
    "tasks",
    "task list",
    "open tasks",
    "remaining",
    "remaining tasks",
    "remaining work",
    "next steps",
    "backlog",
    "action items",
    "aufgaben",
    "offene aufgaben",
    "tâches",
    "à faire",
    "tareas",
    "tareas pendientes",
    "tarefas",
    "a fazer",
    "attività",
    "da fare",
    "задачи",
    "작업",
    "할 일",
    "任务",
    "任务列表",
    "待办",
    "待办事项",
    "タスク",
    "タスク一覧",
];

/// Returns the words of a text.
pub(crate) fn words(text: &str) -> Vec<&str> {
    each_word(text).collect()
}

/// Iterates over the words of a text.
pub(crate) fn each_word(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (word, after) = text::next_word(rest)?;
        rest = after;
        Some(word)
    })
}

/// Returns a heading's words without the number of its section, joined by blanks.
fn unnumbered(words: &[&str]) -> String {
    let numbers = words
        .iter()
        .take_while(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        .count();
    words.tail(numbers).join(" ")
}

/// Reports whether a text begins with one of these, as whole words.
fn begins_with(text: &str, starts: &[&str]) -> bool {
    // Most headings begin with none of them, which the first byte shows.
    let first = text.as_bytes().first();
    let mut likely = starts
        .iter()
        .filter(|start| start.as_bytes().first() == first);
    likely.any(|start| text.strip_prefix(start).is_some_and(ends_word))
}

fn ends_word(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// Returns what the boxes below such a heading are.
pub(crate) fn kind(title: &str) -> Kind {
    let title = title.to_lowercase();
    if not_now::is_struck(&title) || not_now::is_put_off(&title) {
        return Kind::Dropped;
    }
    match kind_of_words(&title) {
        Kind::Work if not_now::is_optional(&title) => Kind::Optional,
        kind => kind,
    }
}

/// Reports whether such a heading is that of work, which a remark may make optional.
pub(crate) fn is_work(title: &str) -> bool {
    match kind(title) {
        Kind::Work => true,
        Kind::Optional => not_now::is_optional(&title.to_lowercase()),
        Kind::Waiting => may_be_feature(title),
        Kind::Notes | Kind::Dropped => false,
    }
}

/// Reports whether a section that waits for a person may as well be that of a feature: it is one if
/// it has the fields of a task, or if its boxes continue the numbers of the plan.
pub(crate) fn may_be_feature(title: &str) -> bool {
    unnumbered(&words(&title.to_lowercase())) == "approvals"
}

/// Returns what the boxes below a heading are by its words, in lower case.
fn kind_of_words(title: &str) -> Kind {
    let words = words(title);
    let plain = unnumbered(&words);
    if !plain
        .split(' ')
        .next()
        .is_some_and(|first| FIRST_WORDS.contains(first))
    {
        return if holds_notes(&plain, &words) {
            Kind::Notes
        } else {
            Kind::Work
        };
    }
    let waits = begins_with(&plain, WAITING) || WAITING_ALONE.contains(&plain.as_str());
    if waits {
        return Kind::Waiting;
    }
    let head = title
        .split(['(', ':', '–', '—', '（', '：'])
        .next()
        .unwrap_or_default();
    let head = if head.len() < title.len() {
        Cow::Owned(unnumbered(&self::words(head)))
    } else {
        Cow::Borrowed(&plain)
    };
    match not_now::of_heading(&head) {
        Some(NotNow::Dropped) => return Kind::Dropped,
        Some(NotNow::Waiting) => return Kind::Waiting,
        Some(NotNow::Optional) => return Kind::Optional,
        None => {}
    }
    if begins_with(&plain, NOTES) || holds_notes(&plain, &words) {
        Kind::Notes
    } else {
        Kind::Work
    }
}

/// Reports whether a heading ends as that of notes does, and is none of work.
fn holds_notes(plain: &str, words: &[&str]) -> bool {
    NOTES_AT_END.iter().any(|end| plain.ends_with(end))
        && !words.iter().any(|word| WORK_WORDS.contains(word))
}

/// Reports whether a section of notes says how far the work is, rather than how its result is
/// judged.
pub(crate) fn is_progress(title: &str) -> bool {
    let plain = unnumbered(&words(&title.to_lowercase()));
    let is_progress = PROGRESS.iter().any(|stem| plain.contains(stem));
    kind(title) == Kind::Notes && is_progress
}

/// Reports whether a heading is that of a checklist.
pub(crate) fn is_checklist(title: &str) -> bool {
    let plain = unnumbered(&words(&title.to_lowercase()));
    CHECKLISTS.iter().any(|stem| plain.contains(stem))
}

/// Returns the number that a heading begins with.
pub(crate) fn number(title: &str) -> Option<String> {
    each_word(title)
        .next()
        .filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
        .map(str::to_owned)
}

/// Reports whether the bullets below such a heading are tasks.
pub(crate) fn lists_bullets(title: &str) -> bool {
    BULLET_HEADINGS.contains(&unnumbered(&words(&title.to_lowercase())).as_str())
}

/// Reports whether a section says what has to be there before work begins.
pub(crate) fn is_prerequisites(title: &str) -> bool {
    let title = title.to_lowercase();
    let stems = [
        "prerequisit",
        "prérequis",
        "pré-requis",
        "prerrequisit",
        "requisitos previos",
        "voraussetzung",
        "前提",
        "先决",
    ];
    stems.iter().any(|stem| title.contains(stem))
}

/// Reports whether an ordered list below such a heading is work.
pub(crate) fn lists_work(title: &str) -> bool {
    let lower = title.to_lowercase();
    let words = words(&lower);
    let has_word = words.iter().any(|word| LIST_WORDS.contains(word));
    has_word
        || words.windows(2).any(|pair| pair.join(" ") == "to do")
        || (!title.is_ascii()
            && LIST_WORDS_WITHOUT_BLANKS
                .iter()
                .any(|word| title.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_sections_hold_no_tasks() {
        use Kind::{Dropped, Notes, Optional, Waiting, Work};
        let table = [
            ("Acceptance", Notes),
            ("Acceptance Criteria", Notes),
            ("3. Validation and Acceptance", Notes),
            ("Progress", Notes),
            ("✅ Definition of Done", Notes),
            ("Outcomes & Retrospective", Notes),
            ("Release checklist", Notes),
            ("Prerequisites", Notes),
            ("Out of scope", Notes),
            ("Akzeptanzkriterien", Notes),
            ("Critères d'acceptation", Notes),
            ("Criterios de aceptación", Notes),
            ("Critérios de aceitação", Notes),
            ("Criteri di accettazione", Notes),
            ("验收标准", Notes),
            ("受け入れ基準", Notes),
            ("Критерии приёмки", Notes),
            ("인수 조건", Notes),
            ("Implementation checklist", Work),
            ("Phase 3: Validation", Work),
            ("Phase 2: Foundational (Blocking Prerequisites)", Work),
            ("Tasks", Work),
            ("Progressive rendering", Work),
            ("Notebook support", Work),
            ("Human-readable errors", Work),
            ("Manual page", Work),
            ("Open Questions", Waiting),
            ("Manual steps", Waiting),
            ("Waiting for user", Waiting),
            ("⏸ Blocked on the vendor", Waiting),
            ("Blocked", Waiting),
            ("Human", Waiting),
            ("手动步骤", Waiting),
            ("等待：用户", Waiting),
            ("进度 (2025)", Notes),
            ("メモリ管理", Work),
            ("注意力机制", Work),
            ("进度条", Work),
            ("结果页面", Work),
            ("说明书生成", Work),
            ("人工智能模块", Work),
            ("等待队列", Work),
            ("手动挡支持", Work),
            ("Lista de verificação", Notes),
            ("Lista de tareas", Work),
            ("Won't do", Dropped),
            ("Won't have", Dropped),
            ("5. Rollback Plan", Dropped),
            ("🧊 Icebox (v2)", Dropped),
            ("Deferred rendering", Work),
            ("Future-proof the format", Work),
            ("Questions for Bob", Waiting),
            ("Blockers", Waiting),
            ("Nice-to-have", Optional),
            ("Backlog: later", Optional),
        ];
        for (title, expected) in table {
            assert_eq!(kind(title), expected, "{title}");
        }
    }

    #[test]
    fn sections_that_are_put_off_or_for_the_user_hold_no_tasks() {
        use Kind::{Dropped, Notes, Optional, Waiting, Work};
        let table = [
            ("User Review Required", Waiting),
            ("User review page", Work),
            ("Sign-off", Waiting),
            ("Approvals (legal)", Waiting),
            ("Approval workflow", Work),
            ("Decisions needed", Waiting),
            ("Risks & Mitigations", Dropped),
            ("Post-MVP", Dropped),
            ("Post-MVP pages", Work),
            ("Phase 5: Future (deferred)", Dropped),
            ("Phase 5: Deferred rendering (shaders)", Work),
            ("Phase 5: Mobile (on hold) ⏸", Dropped),
            ("Exports (won't do)", Dropped),
            ("Phase 5: Polish (optional)", Optional),
            ("阶段三（可选）", Optional),
            ("Acceptance criteria (optional)", Notes),
            ("Show orders (cancelled or not)", Work),
            ("~~Phase 4: Old~~", Dropped),
            ("~~Phase 4: Old~~ (merged)", Dropped),
            ("~~Phase 4: Old~~ (done)", Work),
            ("~~Old~~ Phase 4: New", Work),
            ("Verification Plan", Notes),
            ("Verification of signatures", Work),
            ("Critères de validation", Notes),
            ("Fertigstellungskriterien", Notes),
            ("検証", Notes),
        ];
        for (title, expected) in table {
            assert_eq!(kind(title), expected, "{title}");
        }
    }

    #[test]
    fn only_lists_of_what_to_check_are_checklists() {
        let table = [
            ("Release checklist", true),
            ("Lista de verificación", true),
            ("Lista de verificação", true),
            ("Lista di controllo", true),
            ("Lista de tareas", false),
            ("Lista di attività", false),
        ];
        for (title, expected) in table {
            assert_eq!(is_checklist(title), expected, "{title}");
        }
    }

    #[test]
    fn headings_of_lists_of_work() {
        for title in [
            "Implementation Plan",
            "To do",
            "Next steps",
            "Remaining",
            "Schritte",
            "任务列表",
        ] {
            assert!(lists_work(title), "{title}");
        }
        for title in ["Background", "Planning poker", "Overview"] {
            assert!(!lists_work(title), "{title}");
        }
    }
}
