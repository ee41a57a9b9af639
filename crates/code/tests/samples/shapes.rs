//! Shapes.

use std::collections::HashMap;

/// A point of the plane.
///
/// More about it.
#[derive(Clone)]
pub struct Point {
    pub x: i32,
    y: i32, // trailing, no doc
}

pub(crate) enum Kind {
    Small,
    Large,
}

/// What has an area.
pub trait Area {
    /// Returns it.
    fn area(&self) -> f64;
    fn twice(&self) -> f64 {
        self.area() * 2.0
    }
}

impl Area for Point {
    fn area(&self) -> f64 {
        if self.x > 0 && self.y > 0 { 1.0 } else { 0.0 }
    }
}

impl<T> Holder<T> {
    pub const fn new(value: T) -> Holder<T> {
        Holder { value }
    }
}

mod inner {
    pub fn classify(n: i32, names: &HashMap<i32, String>) -> Result<&'static str, String> {
        let Some(name) = names.get(&n) else {
            return Err("none".to_owned());
        };
        let length: usize = name.parse::<usize>().map_err(|e| e.to_string())?;
        for c in name.chars() {
            if c == X || c == Y {
                continue;
            } else if c == Z {
                break;
            } else {
                return Ok("odd");
            }
        }
        match length {
            0 => Ok("empty"),
            1..=3 if n > 2 => Ok("short"),
            _ => Ok("long"),
        }
    }
}

static LIMIT: usize = 3;
type Names = Vec<String>;
macro_rules! twice {
    ($e:expr) => { $e + $e };
}

fn nested() -> usize {
    fn helper(x: usize) -> usize {
        while x > 1 {
            loop {
                break;
            }
        }
        x
    }
    helper(1)
}
