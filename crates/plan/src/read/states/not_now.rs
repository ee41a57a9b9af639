//! Headings of what a plan names but does not want done now, in the languages that public plans are
//! written in.
//!
//! They count only as a whole: `Deferred` is such a section, and `Deferred rendering` is work.

/// What a plan wants of such a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotNow {
    /// Nothing: its boxes are ideas, remarks, or what to do if all goes wrong.
    Dropped,
    /// Answers or actions of a person.
    Waiting,
    /// Work that may be left out, and that comes last.
    Optional,
}

/// Headings of sections whose boxes are not to be done.
const DROPPED: &[&str] = &[
    "won t do",
    "wont do",
    "won t have",
    "wont have",
    "won t have this time",
    "won t have for now",
    "will not do",
    "not doing",
    "won t fix",
    "wont fix",
    "rejected",
    "discarded",
    "rollback",
    "rollback plan",
    "rollback strategy",
    "rollback procedure",
    "rollback steps",
    "roll back plan",
    "backout plan",
    "deferred",
    "deferred work",
    "deferred items",
    "deferred tasks",
    "deferred features",
    "postponed",
    "ideas",
    "idea",
    "future ideas",
    "ideas for later",
    "future",
    "future work",
    "future tasks",
    "future features",
    "future scope",
    "future enhancements",
    "future improvements",
    "future considerations",
    "later",
    "for later",
    "someday",
    "someday maybe",
    "icebox",
    "parking lot",
    "risks",
    "risks and mitigations",
    "risks mitigations",
    "references",
    "not now",
    "not planned",
    "post mvp",
    "alternatives",
    "alternatives considered",
    "rejected alternatives",
    // German
    "nicht im umfang",
    "außerhalb des umfangs",
    "später",
    "ideen",
    "zurückgestellt",
    "verschoben",
    "ausblick",
    "risiken",
    // French
    "hors périmètre",
    "plus tard",
    "idées",
    "reporté",
    "risques",
    // Spanish
    "fuera de alcance",
    "fuera del alcance",
    "más adelante",
    "aplazado",
    "trabajo futuro",
    "riesgos",
    // Portuguese
    "fora de escopo",
    "fora do escopo",
    "mais tarde",
    "ideias",
    "adiado",
    "trabalho futuro",
    "riscos",
    // Italian
    "fuori ambito",
    "più tardi",
    "idee",
    "rimandato",
    "lavoro futuro",
    "rischi",
    // Russian
    "вне рамок",
    "вне объёма",
    "идеи",
    "отложено",
    "на будущее",
    "откат",
    "риски",
    // Chinese
    "不做",
    "范围外",
    "超出范围",
    "不在范围内",
    "未来工作",
    "想法",
    "延期",
    "推迟",
    "回滚",
    "回滚计划",
    "回滚方案",
    "风险",
    // Japanese
    "対象外",
    "範囲外",
    "スコープ外",
    "アイデア",
    "将来の作業",
    "保留",
    "後回し",
    "ロールバック",
    "ロールバック計画",
    "リスク",
    // Korean
    "범위 외",
    "아이디어",
    "보류",
    "롤백",
    "롤백 계획",
];

/// Remarks in parentheses at the end of a heading that put its section off.
const PUT_OFF: &[&str] = &[
    "deferred",
    "postponed",
    "out of scope",
    "not in scope",
    "future",
    "future work",
    "later",
    "someday",
    "on hold",
    "cancelled",
    "canceled",
    "abandoned",
    "obsolete",
    "superseded",
    "won't do",
    "wont do",
    "won't fix",
    "not doing",
    "do not implement",
    "skip",
    "zurückgestellt",
    "verschoben",
    "reporté",
    "aplazado",
    "adiado",
    "отложено",
];

/// Remarks in parentheses at the end of a heading that make its section optional.
const OPTIONAL_REMARKS: &[&str] = &[
    "optional",
    "nice to have",
    "nice-to-have",
    "stretch",
    "stretch goal",
    "optionnel",
    "opcional",
    "可选",
    "任意",
];

/// Headings of sections that wait for a person.
const WAITING: &[&str] = &[
    "blocker",
    "blockers",
    "current blockers",
    "known blockers",
    "questions",
    "sign off",
    "sign offs",
    "signoff",
    "approvals",
    "stakeholder approval",
    "stakeholder sign off",
    "decisions needed",
    "decision needed",
    "decisions required",
    "pending decisions",
];

/// Beginnings of such headings.
const WAITING_FOR: &[&str] = &[
    "question for ",
    "questions for ",
    "frage an ",
    "fragen an ",
    "questions pour ",
    "preguntas para ",
];

/// Headings of sections of optional work.
const OPTIONAL: &[&str] = &[
    "backlog",
    "nice to have",
    "nice to haves",
    "could have",
    "stretch",
    "stretch goals",
    "optional",
    "optional tasks",
    "optional work",
    "optionale aufgaben",
    "optionnel",
    "facultatif",
    "opcional",
    "tareas opcionales",
    "tarefas opcionais",
    "opzionale",
    "facoltativo",
    "необязательно",
    "可选",
    "可选任务",
    "任意",
    "オプション",
    "선택 사항",
];

/// Returns all such headings, or how they begin.
pub(crate) fn headings() -> impl Iterator<Item = &'static str> {
    [DROPPED, WAITING, WAITING_FOR, OPTIONAL]
        .into_iter()
        .flatten()
        .copied()
}

/// Reports whether a heading, in lower case, is struck out as a whole, but for a remark after it
/// that does not call it done.
pub(crate) fn is_struck(title: &str) -> bool {
    let struck = title
        .strip_prefix("~~")
        .and_then(|rest| rest.split_once("~~"));
    struck.is_some_and(|(text, after)| {
        !text.is_empty() && (after.is_empty() || is_remark(after.trim_start()))
    })
}

fn is_remark(after: &str) -> bool {
    after.starts_with('(') && !after.contains("done") && !after.contains("complete")
}

/// Reports whether a heading, in lower case, ends with a remark that puts its section off: `Phase 5
/// (deferred)`.
pub(crate) fn is_put_off(title: &str) -> bool {
    remark(title).is_some_and(|remark| PUT_OFF.contains(&remark))
}

/// Reports whether a heading, in lower case, ends with a remark that makes its section optional:
/// `Phase 5 (optional)`.
pub(crate) fn is_optional(title: &str) -> bool {
    remark(title).is_some_and(|remark| OPTIONAL_REMARKS.contains(&remark))
}

/// Returns the remark in parentheses that ends a heading, but for emoji after it.
fn remark(title: &str) -> Option<&str> {
    let text = title.trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | '）'));
    Some(
        text.strip_suffix([')', '）'])?
            .rsplit_once(is_opening)?
            .1
            .trim(),
    )
}

fn is_opening(c: char) -> bool {
    matches!(c, '(' | '（')
}

/// Returns what the plan wants of a section, given the words of its heading in lower case, joined
/// by blanks.
pub(crate) fn of_heading(words: &str) -> Option<NotNow> {
    if DROPPED.contains(&words) {
        Some(NotNow::Dropped)
    } else if WAITING.contains(&words) || WAITING_FOR.iter().any(|start| words.starts_with(start)) {
        Some(NotNow::Waiting)
    } else if OPTIONAL.contains(&words) {
        Some(NotNow::Optional)
    } else {
        None
    }
}
