//! What every profile that a guest leaves must hold, and its figures.

use std::path::Path;

use heapprof::hp::{self, Profile, unescape_label};

/// Reads a `.hp` file that must be whole: complete samples at strictly increasing times.
#[track_caller]
pub(crate) fn whole_hp(path: &Path) -> Profile {
    let text = std::fs::read(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    let profile = hp::read(&text[..]).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    assert_eq!(profile.cut, None, "{}", path.display());
    let last = text.strip_suffix(b"\n").and_then(|text| text.rsplit(|&byte| byte == b'\n').next());
    assert!(last.is_some_and(|line| line.starts_with(b"END_SAMPLE ")), "the last line of {}", path.display());
    assert!(!profile.times_s.is_empty(), "{} has a sample", path.display());
    assert_eq!(profile.times_s[0], 0.0);
    assert!(profile.times_s.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", profile.times_s);
    profile
}

/// Reads a `.prof` file that must be complete: both tables, and a last row with all its columns.
#[track_caller]
pub(crate) fn whole_prof(path: &Path) -> Prof {
    let text = std::fs::read_to_string(path).unwrap_or_else(|cause| panic!("{}: {cause}", path.display()));
    assert!(text.ends_with('\n'), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("COST CENTRE")).count(), 2, "{text}");
    let mut folded = Vec::new();
    let mut folder = inferno::collapse::ghcprof::Folder::default();
    inferno::collapse::Collapse::collapse(&mut folder, text.as_bytes(), &mut folded)
        .unwrap_or_else(|cause| panic!("{}: {cause}\n{text}", path.display()));
    let (head, tree) = text.rsplit_once("COST CENTRE").unwrap();
    let rows: Vec<ProfRow> = tree.lines().skip(2).map(|line| ProfRow::read(line, &text)).collect();
    assert!(rows.iter().any(|row| row.centre == "MAIN"), "{text}");
    let total_s = head.split_once("total time  =").unwrap().1.split_whitespace().next().unwrap();
    Prof { total_s: total_s.parse().unwrap(), rows, text }
}

/// A time and allocation report.
pub(crate) struct Prof {
    pub(crate) total_s: f64,
    /// The rows of the tree, in order.
    pub(crate) rows: Vec<ProfRow>,
    pub(crate) text: String,
}

impl Prof {
    /// The first row of a cost centre.
    #[track_caller]
    pub(crate) fn row(&self, centre: &str) -> &ProfRow {
        let found = self.rows.iter().find(|row| row.centre == centre);
        found.unwrap_or_else(|| panic!("a row for {centre} in\n{}", self.text))
    }
}

/// A row of the tree; shares in percent.
pub(crate) struct ProfRow {
    pub(crate) depth: usize,
    pub(crate) centre: String,
    pub(crate) entries: u64,
    pub(crate) time: f64,
    pub(crate) alloc: f64,
    pub(crate) inherited_time: f64,
    pub(crate) inherited_alloc: f64,
}

impl ProfRow {
    #[track_caller]
    fn read(line: &str, text: &str) -> Self {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells.len(), 9, "nine columns in `{line}` of\n{text}");
        let share = |at: usize| cells[at].parse().unwrap_or_else(|_| panic!("a number in `{line}`"));
        Self {
            depth: line.len() - line.trim_start_matches(' ').len(),
            centre: unescape_label(cells[0]).into_owned(),
            entries: cells[4].parse().unwrap(),
            time: share(5),
            alloc: share(6),
            inherited_time: share(7),
            inherited_alloc: share(8),
        }
    }
}

/// The top cost centre of a band's name, as the program wrote it: `(7)a~b/c` is of `a b`.
pub(crate) fn top_of(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let path = name.split_once(')').map_or(&*name, |(_, path)| path);
    unescape_label(path.split('/').next().unwrap()).into_owned()
}

/// The bytes of all bands with this cost centre on top, in the sample with this number.
pub(crate) fn bytes_at(profile: &Profile, centre: &str, sample: usize) -> u64 {
    let bands = profile.bands.iter().filter(|band| top_of(&band.name) == centre);
    bands.map(|band| band.value(sample)).sum()
}

/// The same in the last sample.
pub(crate) fn last_bytes(profile: &Profile, centre: &str) -> u64 {
    bytes_at(profile, centre, profile.times_s.len() - 1)
}
