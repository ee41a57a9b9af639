//! What is said in a program that was built without grammars.

#![cfg(not(feature = "grammars"))]

use orchestrate_code::{CodeError, Language, Source};

#[test]
fn the_feature_is_named() {
    for language in Language::ALL {
        let error = Source::parse(language, "x", &|| false).err().unwrap();
        assert_eq!(error, CodeError::NotBuilt(language));
        assert!(
            error.to_string().contains("its feature `grammars`"),
            "{error}"
        );
    }
}
