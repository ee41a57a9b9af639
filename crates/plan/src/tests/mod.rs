//! Tests of whole plans: each is a document, and what is read from it or written into it.

#[cfg(test)]
mod attributes;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod doubtful;
#[cfg(test)]
mod field_forms;
#[cfg(test)]
mod formats_page;
#[cfg(test)]
mod habits;
#[cfg(test)]
mod left_over;
#[cfg(test)]
mod misread;
#[cfg(test)]
mod misread_formats;
#[cfg(test)]
mod ordering;
#[cfg(test)]
mod parsing;
#[cfg(test)]
mod persons;
#[cfg(test)]
mod public_plans;
#[cfg(test)]
mod readings;
#[cfg(test)]
mod statuses;
mod styles;
