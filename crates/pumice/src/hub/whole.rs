//! Whether all files of a model are there. In: files that were chosen, a folder's index. Out: the names of those that
//! are missing. Never here: a server.

use super::choose::{CONFIG, Chosen, INDEX, WEIGHTS};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The largest indexes in use have some.
const INDEX_LIMIT: u64 = 64 << 20;

/// Names of files that belong to the model and are not among its files: shards that a name counts or the file `index`
/// lists, the configuration, the weights.
pub(super) fn missing(chosen: &Chosen, index: &Path) -> Vec<String> {
    let files = match chosen {
        Chosen::Gguf(set) => return set.missing(),
        Chosen::Folder(files) => files,
    };
    let has = |name: &str| files.iter().any(|file| file == name);
    let mut missing = Vec::new();
    if !has(CONFIG) {
        missing.push(CONFIG.to_owned());
    }
    if !has(WEIGHTS) {
        match shards(index) {
            Some(shards) => missing.extend(shards.into_iter().filter(|name| !has(name))),
            None => missing.push(INDEX.to_owned()),
        }
    }
    missing
}

/// The files that an index names; none where it is no index, which the model's reader tells better.
fn shards(index: &Path) -> Option<BTreeSet<String>> {
    let mut text = String::new();
    File::open(index).ok()?.take(INDEX_LIMIT).read_to_string(&mut text).ok()?;
    let index: Value = serde_json::from_str(&text).ok()?;
    let map = index.get("weight_map")?.as_object()?;
    Some(map.values().filter_map(|name| name.as_str().map(str::to_owned)).collect())
}
