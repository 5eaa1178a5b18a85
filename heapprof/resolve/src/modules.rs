//! Reads the list of modules that lies beside a raw profile.
//!
//! ```text
//! heapprof modules 1                            the format and its version
//! depth 32                                      functions of a whole call stack at most
//! profile app.hp arc                            a profile beside this file, and what its bands are
//! module app 4f2e09ab /full/path/to/app         name in the profile, build id (`-` for none), path
//! ```
//! Fields are separated by one blank; the path is the rest of the line. The program is the first module. Lines of
//! other words and further fields of `profile` lines are passed over, for later versions.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use heapprof::hp;

/// The longest list that is read, in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;
const FIRST_LINE: &str = "heapprof modules 1";

/// One file that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Module {
    /// As in the profile, where it is the front of a label: see [`canonical`].
    pub(crate) name: String,
    pub(crate) build_id: Option<Vec<u8>>,
    pub(crate) path: PathBuf,
}

/// A list of modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// File name and breakdown.
    pub(crate) profiles: Vec<(String, String)>,
    /// The program first.
    pub(crate) modules: Vec<Module>,
    /// Labels of a whole call stack at most.
    pub(crate) depth: Option<usize>,
}

impl List {
    /// # Errors
    /// One line with the path: it cannot be read, or what is wrong in which line.
    pub(crate) fn read(path: &Path) -> Result<List, String> {
        let told = |why: String| format!("{}: {why}", path.display());
        let mut text = Vec::new();
        let file = File::open(path).and_then(|file| file.take(MAX_LIST_BYTES + 1).read_to_end(&mut text));
        file.map_err(|error| told(error.to_string()))?;
        if text.len() as u64 > MAX_LIST_BYTES {
            return Err(told(format!("is longer than {MAX_LIST_BYTES} bytes")));
        }
        let text = String::from_utf8(text).map_err(|_| told("is not UTF-8".into()))?;
        List::parse(&text).map_err(|why| format!("{}, {why}", path.display()))
    }

    fn parse(text: &str) -> Result<List, String> {
        // Not `lines`, since a path may end in a carriage return.
        let mut lines = text.split_terminator('\n').zip(1_usize..);
        match lines.next() {
            Some((FIRST_LINE, _)) => {}
            first => {
                let read = first.map_or("", |(line, _)| line);
                return Err(format!("line 1: read `{}`, expected `{FIRST_LINE}`", shown(read)));
            }
        }
        // A line that was cut off may have lost a part of its path.
        if !text.ends_with('\n') {
            let number = text.split_terminator('\n').count();
            return Err(format!("line {number}: the list is cut off here"));
        }
        let mut list = List::default();
        for (line, number) in lines {
            list.take(line).ok_or_else(|| {
                let expected = "`profile FILE BREAKDOWN`, `depth NUMBER` or `module NAME BUILD-ID PATH`";
                format!("line {number}: read `{}`, expected {expected}", shown(line))
            })?;
        }
        Ok(list)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "profile" => {
                let mut fields = rest.split(' ').filter(|field| !field.is_empty());
                self.profiles.push((fields.next()?.to_owned(), fields.next()?.to_owned()));
            }
            "depth" => self.depth = Some(rest.parse().ok().filter(|&depth| depth > 0)?),
            "module" => {
                let mut fields = rest.splitn(3, ' ');
                let name = canonical(fields.next().filter(|name| !name.is_empty())?);
                let build_id = match fields.next()? {
                    "-" => None,
                    id => Some(bytes(id)?),
                };
                let path = fields.next().filter(|path| !path.is_empty())?.into();
                self.modules.push(Module { name, build_id, path });
            }
            _ => {}
        }
        Some(())
    }
}

/// One form for the names of a module: escaped, but not as a whole label. A module `MARK` is `^4DARK` in the list, as
/// that is a keyword, and in a profile the label `MARK+0x1f2c` is none.
pub(crate) fn canonical(escaped: &str) -> String {
    hp::escape_label(&hp::unescape_label(escaped)).into_owned()
}

/// The start of a line, for a message.
fn shown(line: &str) -> String {
    line.chars().take(80).collect()
}

/// The bytes of an even number of hexadecimal digits, at least two.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] => {
            let digit = |of: u8| char::from(of).to_digit(16);
            u8::try_from(digit(*high)? << 4 | digit(*low)?).ok()
        }
        _ => None,
    };
    pairs.map(byte).collect::<Option<Vec<u8>>>().filter(|bytes| !bytes.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_later_words_are_passed_over() {
        let text = "heapprof modules 1\nprofile app.hp arc\nprofile app.type.hp type of later\n\nlater x\ndepth 7\n\
                    module app 4F2e /full/path to/app\nmodule lib~c.so#2 - /lib/lib c.so\n";
        let list = List::parse(text).unwrap();
        let profile = |file: &str, breakdown: &str| (file.to_owned(), breakdown.to_owned());
        assert_eq!(list.profiles, [profile("app.hp", "arc"), profile("app.type.hp", "type")]);
        let app =
            Module { name: "app".into(), build_id: Some(vec![0x4F, 0x2E]), path: "/full/path to/app".into() };
        let lib = Module { name: "lib~c.so#2".into(), build_id: None, path: "/lib/lib c.so".into() };
        assert_eq!(list.modules, [app, lib]);
        assert_eq!(list.depth, Some(7));
        for cut in 0..text.len() {
            let _ = List::parse(&text[..cut]);
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let wrong = |text: &str| List::parse(text).unwrap_err();
        let expected = "expected `profile FILE BREAKDOWN`, `depth NUMBER` or `module NAME BUILD-ID PATH`";
        assert_eq!(wrong(""), "line 1: read ``, expected `heapprof modules 1`");
        assert_eq!(
            wrong("heapprof modules 2\n"),
            "line 1: read `heapprof modules 2`, expected `heapprof modules 1`"
        );
        for line in [
            "profile app.hp",
            "depth 0",
            "module app",
            "module app 4f2 /a",
            "module app 4g /a",
            "module app - ",
        ] {
            let text = format!("heapprof modules 1\n{line}\n");
            assert_eq!(wrong(&text), format!("line 2: read `{line}`, {expected}"));
        }
        assert_eq!(wrong("heapprof modules 1\nmodule app - /a"), "line 2: the list is cut off here");
        assert!(wrong(&"x".repeat(1000)).len() < 200);
    }
}
