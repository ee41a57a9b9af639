//! The conflicts within a file of a merge, read from its markers.

/// A place in a file that both sides changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The line of the first marker, from 1.
    pub first_line: usize,
    /// The line of the last marker.
    pub last_line: usize,
    /// The lines of the side that is merged in.
    pub theirs: String,
    /// The lines that both sides started from.
    pub base: String,
    /// The lines of the worktree's own side.
    pub yours: String,
}

/// The part of a hunk that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Outside,
    Theirs,
    Base,
    Yours,
}

impl Hunk {
    /// Finds the conflicts in a file with markers in the style `diff3`, whose first side is the one
    /// that is merged in.
    pub fn all_in(bytes: &[u8]) -> Vec<Hunk> {
        let text = String::from_utf8_lossy(bytes);
        let (mut found, mut part) = (Vec::new(), Part::Outside);
        let mut hunk = Hunk::beginning_at(0);
        for (line, number) in text.lines().zip(1..) {
            let next = match part {
                Part::Outside if line.starts_with("<<<<<<< ") => Part::Theirs,
                Part::Theirs if line.starts_with("||||||| ") => Part::Base,
                Part::Theirs | Part::Base if line == "=======" => Part::Yours,
                Part::Yours if line.starts_with(">>>>>>> ") => Part::Outside,
                _ => {
                    hunk.push(part, line);
                    continue;
                }
            };
            match next {
                Part::Theirs => hunk = Hunk::beginning_at(number),
                Part::Outside => found.push(Hunk {
                    last_line: number,
                    ..hunk.clone()
                }),
                Part::Base | Part::Yours => {}
            }
            part = next;
        }
        found
    }

    fn beginning_at(line: usize) -> Hunk {
        let (theirs, base, yours) = (String::new(), String::new(), String::new());
        Hunk {
            first_line: line,
            last_line: line,
            theirs,
            base,
            yours,
        }
    }

    fn push(&mut self, part: Part, line: &str) {
        let text = match part {
            Part::Outside => return,
            Part::Theirs => &mut self.theirs,
            Part::Base => &mut self.base,
            Part::Yours => &mut self.yours,
        };
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_conflict_of_a_file_has_its_lines() {
        let text = "a\n<<<<<<< T2\nx\n||||||| 0a1b\nb\n=======\ny\n>>>>>>> yours\nc\n=======\n\
                    <<<<<<< T2\n=======\nz\n>>>>>>> yours\n<<<<<<< T2\ncut off\n";
        let hunk = |first_line, last_line, theirs: &str, base: &str, yours: &str| Hunk {
            first_line,
            last_line,
            theirs: theirs.to_owned(),
            base: base.to_owned(),
            yours: yours.to_owned(),
        };
        let expected = [hunk(2, 8, "x\n", "b\n", "y\n"), hunk(11, 14, "", "", "z\n")];
        assert_eq!(Hunk::all_in(text.as_bytes()), expected);
    }
}
