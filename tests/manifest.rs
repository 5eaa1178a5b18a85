//! A test or example file that no manifest names would never run: there is none.

use std::path::Path;

#[test]
fn every_test_and_example_file_is_named_by_a_manifest() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace holds this package");
    let manifests = ["heapprof", "hp2ps", "hp2svg"].map(|package| {
        std::fs::read_to_string(root.join(package).join("Cargo.toml")).expect("each member has a manifest")
    });
    let mut files = 0;
    for folder in ["tests", "examples"] {
        for entry in std::fs::read_dir(root.join(folder)).expect("the folder is there") {
            let name = entry.expect("readable").file_name().into_string().expect("UTF-8");
            if name.ends_with(".rs") {
                let line = format!("path = \"../{folder}/{name}\"");
                let named = manifests.iter().filter(|manifest| manifest.contains(&line)).count();
                assert_eq!(named, 1, "{folder}/{name}: named by {named} manifests, expected one");
                files += 1;
            }
        }
    }
    assert!(files > 20, "only {files} files seen");
}
