//! A file of the right build for every module that a profile names.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use heapprof::symbols::{Frame, Image};
use hp2ps::files::say;

use crate::PROGRAM;
use crate::modules::{List, Module};

/// The modules of a list with their files, which are opened when the first address in them comes up.
pub(crate) struct Binaries {
    modules: Vec<Module>,
    /// By module name; none for those that stay raw, which has been said.
    images: HashMap<String, Option<Rc<Image>>>,
}

impl Binaries {
    /// Takes the files that were given for the modules of their build.
    ///
    /// # Errors
    /// One line: a file cannot be read, is another build of the module of its name, or belongs to no module.
    pub(crate) fn new(list: List, given: &[PathBuf]) -> Result<Binaries, String> {
        let mut binaries = Binaries { modules: list.modules, images: HashMap::new() };
        for path in given {
            let image = Rc::new(Image::open(path, None)?);
            let is_same_build = |module: &&Module| module.build_id.as_deref() == image.build_id();
            let is_namesake = |module: &&Module| module.path.file_name() == path.file_name();
            let takers: Vec<&Module> = match image.build_id() {
                Some(_) => binaries.modules.iter().filter(is_same_build).collect(),
                None => binaries.modules.iter().filter(is_same_build).filter(is_namesake).collect(),
            };
            if takers.is_empty() {
                let namesake = binaries.modules.iter().find(is_namesake);
                return Err(match namesake {
                    Some(module) => difference(&path.display().to_string(), &image, module),
                    None => format!("{}: the list has no module of this build or name", path.display()),
                });
            }
            for module in takers {
                binaries.images.insert(module.name.clone(), Some(Rc::clone(&image)));
            }
        }
        Ok(binaries)
    }

    /// The frames at a return address, innermost first; empty if no name is known.
    ///
    /// # Errors
    /// One line: the program at the path in the list is another build, and none was given. Other modules without
    /// a file are said once on stderr.
    pub(crate) fn frames(&mut self, module: &str, address_as_linked: u64) -> Result<Vec<Frame>, String> {
        let image = match self.images.get(module) {
            Some(known) => known.clone(),
            None => {
                let image = self.open(module)?.map(Rc::new);
                self.images.insert(module.to_owned(), image.clone());
                image
            }
        };
        Ok(image.map_or_else(Vec::new, |image| image.frames(address_as_linked)))
    }

    /// Whether the list has a module of this name.
    pub(crate) fn has(&self, module: &str) -> bool {
        self.modules.iter().any(|known| known.name == module)
    }

    /// Whether the program's file was wanted and is not there.
    pub(crate) fn lacks_program(&self) -> bool {
        self.modules.first().is_some_and(|program| matches!(self.images.get(&program.name), Some(None)))
    }

    fn open(&self, name: &str) -> Result<Option<Image>, String> {
        let stays = |why: String| say(PROGRAM, &format!("warning: {why}; addresses in {name} stay raw"));
        let Some(module) = self.modules.iter().find(|module| module.name == name) else {
            stays("the list has no such module".into());
            return Ok(None);
        };
        if module.build_id.is_none() {
            stays(format!("{}: it ran without build id, expected --binary", module.path.display()));
            return Ok(None);
        }
        match Image::open(&module.path, None) {
            Ok(image) if image.build_id() == module.build_id.as_deref() => return Ok(Some(image)),
            Ok(image) => {
                let difference = difference(&module.path.display().to_string(), &image, module);
                // Without the program hardly a band would get a name.
                if self.modules.first() == Some(module) {
                    return Err(difference);
                }
                stays(difference);
            }
            Err(why) => stays(why),
        }
        Ok(None)
    }
}

fn difference(path: &str, image: &Image, module: &Module) -> String {
    let shown = |id: Option<&[u8]>| match id {
        Some(id) => format!("build id {}", id.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        None => "no build id".to_owned(),
    };
    let (found, expected) = (shown(image.build_id()), shown(module.build_id.as_deref()));
    format!("{path}: has {found}, expected {expected} of {}", module.name)
}
