//! Which crate a mangled symbol belongs to, read off the mangled name itself: a binary has hundreds of
//! thousands of symbols, and demangling each would take longer than all else that is done with them.
//!
//! In the v0 scheme a path ends at its crate; an `impl` says in which crate it stands, and the provided
//! method of a trait belongs to the trait:
//! ```text
//! N<namespace><path><name>   C<name>: the crate   I<path><args>E   B<place>: as at that place
//! M<impl path><type>         X<impl path><type><trait>           Y<type><trait>
//! ```

/// How deep a path may nest, and how often it may refer back.
const MOST_NESTED: usize = 128;

/// The crate of a v0 symbol (with its `_R`), as far as it can be read.
///
/// `_RNvNtCs1_3app3ops4main` gives `app`.
pub(super) fn crate_of(symbol: &str) -> Option<&str> {
    let text = symbol.strip_prefix("_R").or_else(|| symbol.strip_prefix("__R"))?;
    let start = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut reader = Reader { text, at: start, steps: 0 };
    reader.path(0, false)
}

/// A reader of the text after `_R`.
struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Paths and types read so far: places may be referred to over and over, so their number is limited.
    steps: usize,
}

impl<'a> Reader<'a> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let is_next = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_next);
        is_next
    }

    /// One step deeper; `None` where a name that wants to be read forever ends.
    fn step(&mut self, depth: usize) -> Option<usize> {
        self.steps += 1;
        (depth < MOST_NESTED && self.steps < 4096).then_some(depth + 1)
    }

    /// Reads a path and gives its crate. Reads the `whole` path only where something after it matters:
    /// most names need a look at their first few bytes.
    fn path(&mut self, depth: usize, whole: bool) -> Option<&'a str> {
        let depth = self.step(depth)?;
        match self.byte()? {
            b'C' => {
                self.disambiguator()?;
                self.ident()
            }
            b'N' => {
                self.byte()?;
                let of = self.path(depth, whole)?;
                self.then(whole, |reader| reader.disambiguator().and_then(|()| reader.ident()).map(|_| ()))?;
                Some(of)
            }
            b'I' => {
                let of = self.path(depth, whole)?;
                self.then(whole, |reader| reader.skip_until_end(|reader| reader.skip_argument(depth)))?;
                Some(of)
            }
            b'M' => {
                let of = self.impl_crate(depth, whole)?;
                self.then(whole, |reader| reader.skip_type(depth))?;
                Some(of)
            }
            b'X' => {
                let of = self.impl_crate(depth, whole)?;
                self.then(whole, |reader| {
                    reader.skip_type(depth)?;
                    reader.path(depth, true).map(|_| ())
                })?;
                Some(of)
            }
            b'Y' => {
                self.skip_type(depth)?;
                self.path(depth, whole)
            }
            b'B' => {
                let place = self.back()?;
                let after = std::mem::replace(&mut self.at, place);
                let of = self.path(depth, false);
                self.at = after;
                of
            }
            _ => None,
        }
    }

    fn then(&mut self, wanted: bool, skip: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        if wanted { skip(self) } else { Some(()) }
    }

    fn impl_crate(&mut self, depth: usize, whole: bool) -> Option<&'a str> {
        self.disambiguator()?;
        self.path(depth, whole)
    }

    /// Reads where a `B` refers to: always to an earlier place.
    fn back(&mut self) -> Option<usize> {
        let from = self.at;
        let place = self.number62()?;
        (place < from).then_some(place)
    }

    fn disambiguator(&mut self) -> Option<()> {
        if self.eat(b's') { self.number62().map(|_| ()) } else { Some(()) }
    }

    /// `_` is 0, `0_` is 1, and so on in base 62.
    fn number62(&mut self) -> Option<usize> {
        if self.eat(b'_') {
            return Some(0);
        }
        let mut number = 0_usize;
        loop {
            let digit = match self.byte()? {
                b'_' => return number.checked_add(1),
                byte @ b'0'..=b'9' => byte - b'0',
                byte @ b'a'..=b'z' => byte - b'a' + 10,
                byte @ b'A'..=b'Z' => byte - b'A' + 36,
                _ => return None,
            };
            // A crate's disambiguator takes up to 64 bits; only places need their exact value.
            number = number.wrapping_mul(62).wrapping_add(usize::from(digit));
        }
    }

    fn ident(&mut self) -> Option<&'a str> {
        self.eat(b'u');
        // A 0 stands alone: `00` is two empty names.
        let rest = self.text.get(self.at..)?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let digits = if rest.starts_with('0') { 1 } else { digits };
        let length: usize = rest.get(..digits)?.parse().ok()?;
        self.at += digits;
        self.eat(b'_');
        let ident = self.text.get(self.at..self.at.checked_add(length)?)?;
        self.at += length;
        Some(ident)
    }

    fn skip_argument(&mut self, depth: usize) -> Option<()> {
        if self.eat(b'L') {
            return self.number62().map(|_| ());
        }
        if self.eat(b'K') {
            return self.skip_constant(depth);
        }
        self.skip_type(depth)
    }

    /// Skips a constant: a type and hexadecimal digits, or a back reference, or `p`.
    fn skip_constant(&mut self, depth: usize) -> Option<()> {
        let depth = self.step(depth)?;
        if self.eat(b'B') {
            return self.back().map(|_| ());
        }
        match self.byte()? {
            b'p' => Some(()),
            b'R' | b'Q' => self.skip_constant(depth),
            b'A' | b'T' => self.skip_until_end(|reader| reader.skip_constant(depth)),
            b'V' => self.skip_value(depth),
            _ => {
                self.eat(b'n');
                while self.byte()? != b'_' {}
                Some(())
            }
        }
    }

    /// Skips a constant of a user's type: its path, and its fields.
    fn skip_value(&mut self, depth: usize) -> Option<()> {
        self.path(depth, true)?;
        match self.byte()? {
            b'U' => Some(()),
            b'T' => self.skip_until_end(|reader| reader.skip_constant(depth)),
            b'S' => self.skip_until_end(|reader| {
                reader.disambiguator()?;
                reader.ident()?;
                reader.skip_constant(depth)
            }),
            _ => None,
        }
    }

    fn skip_until_end(&mut self, mut skip: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        while !self.eat(b'E') {
            skip(self)?;
        }
        Some(())
    }

    fn skip_type(&mut self, depth: usize) -> Option<()> {
        let depth = self.step(depth)?;
        let start = self.at;
        match self.byte()? {
            b'C' | b'M' | b'X' | b'Y' | b'N' | b'I' => {
                self.at = start;
                self.path(depth, true).map(|_| ())
            }
            // The types of one letter.
            b'a'..=b'z' => Some(()),
            b'R' | b'Q' => {
                if self.eat(b'L') {
                    self.number62()?;
                }
                self.skip_type(depth)
            }
            b'P' | b'O' | b'S' => self.skip_type(depth),
            b'A' => {
                self.skip_type(depth)?;
                self.skip_constant(depth)
            }
            b'T' => self.skip_until_end(|reader| reader.skip_type(depth)),
            b'F' => self.skip_function(depth),
            b'D' => self.skip_object(depth),
            b'B' => self.back().map(|_| ()),
            _ => None,
        }
    }

    fn skip_binder(&mut self) -> Option<()> {
        if self.eat(b'G') { self.number62().map(|_| ()) } else { Some(()) }
    }

    fn skip_function(&mut self, depth: usize) -> Option<()> {
        self.skip_binder()?;
        self.eat(b'U');
        if self.eat(b'K') && !self.eat(b'C') {
            self.ident()?;
        }
        self.skip_until_end(|reader| reader.skip_type(depth))?;
        self.skip_type(depth)
    }

    fn skip_object(&mut self, depth: usize) -> Option<()> {
        self.skip_binder()?;
        self.skip_until_end(|reader| {
            reader.path(depth, true)?;
            while reader.eat(b'p') {
                reader.ident()?;
                reader.skip_type(depth)?;
            }
            Some(())
        })?;
        self.expect_lifetime()
    }

    fn expect_lifetime(&mut self) -> Option<()> {
        self.eat(b'L').then(|| self.number62()).flatten().map(|_| ())
    }
}

/// The first part of a legacy symbol: its crate, or `_$LT$..` if it is in an `impl`.
///
/// `_ZN3app4main17h0123456789abcdefE` gives `app`.
pub(super) fn legacy_first(symbol: &str) -> Option<&str> {
    let text = symbol.strip_prefix("_ZN").or_else(|| symbol.strip_prefix("__ZN"))?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let length: usize = text.get(..digits)?.parse().ok()?;
    text.get(digits..)?.get(..length)
}
