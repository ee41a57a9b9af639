//! The phases of the current place of a walk: they begin and end at headings, labels and items.

use crate::tasks::draft::Location;
use crate::tasks::phase::Phase;

/// The level of a label above a list, which is below every heading.
pub(crate) const LABEL_LEVEL: u8 = 7;

impl Location {
    /// Begins the phase of a heading or a label.
    pub(crate) fn open_phase(&mut self, level: u8, phase: Phase) {
        self.phase += 1;
        self.phase_level = Some(level);
        self.phase_label = phase.label.map(Into::into);
    }

    /// Ends it, so that what follows is in none.
    pub(crate) fn close_phase(&mut self) {
        self.phase += 1;
        self.phase_level = None;
        self.phase_label = None;
    }

    /// Ends the phase of a label, which a heading ends.
    pub(crate) fn close_label(&mut self) {
        if self.phase_level == Some(LABEL_LEVEL) {
            self.close_phase();
        }
    }

    /// Begins or ends the part of a list that waits for what stands before it, if it is one; it has
    /// the label of the phase around it.
    pub(crate) fn border(&mut self, is_phase: bool) {
        self.phase += usize::from(is_phase);
    }
}
