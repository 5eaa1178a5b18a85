// Amounts, times and ticks as the library writes them (ticks.rs): a test compares the two.

// A number with so many decimals; a tie goes to the even digit.
function fixed(value, digits) {
  const exact = Math.abs(value).toFixed(Math.min(100, digits + 60));
  const cut = exact.indexOf('.') + 1 + digits;
  const isTie = /^50*$/.test(exact.slice(cut));
  if (isTie && '02468'.includes(exact.slice(0, cut).replace(/\.$/, '').slice(-1))) {
    return (value < 0 ? '-' : '') + exact.slice(0, digits ? cut : cut - 1);
  }
  return value.toFixed(digits);
}

// How many digits stand before the point, less one.
function magnitude(value) {
  const size = Math.abs(value);
  return size < 9.995 ? 0 : size < 99.95 ? 1 : 2;
}

// The largest unit of which there is one or more.
function scaleOf(value, unit) {
  const isBytes = unit === 'bytes';
  const base = isBytes ? 1024 : 1000;
  const names = isBytes
    ? ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB', 'ZiB', 'YiB']
    : ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'];
  let at = 0;
  let size = 1;
  while (at + 1 < names.length && value >= size * base * 0.9995) {
    at += 1;
    size *= base;
  }
  return { size, name: names[at] };
}

function amount(value, unit) {
  const scale = scaleOf(Math.abs(value), unit);
  const scaled = value / scale.size;
  const isWhole = scale.size === 1 && Number.isInteger(scaled);
  const digits = isWhole ? 0 : 2 - magnitude(scaled);
  const name = unit === 'bytes' ? scale.name : scale.name + ' ' + unit;
  return (fixed(scaled, digits) + ' ' + name.trim()).trim();
}

function time(seconds) {
  const short = (value, unit) => {
    const text = fixed(value, 2 - magnitude(value));
    return (text.includes('.') ? text.replace(/\.?0+$/, '') : text) + ' ' + unit;
  };
  const whole = (value) => fixed(Math.floor(value), 0);
  const two = (value) => whole(value).padStart(2, '0');
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  if (size < 1e-3) return short(seconds * 1e6, 'µs');
  if (size < 0.1) return short(seconds * 1e3, 'ms');
  if (size < 60) return short(seconds, 's');
  if (size < 3600) return whole(seconds / 60) + ':' + two(seconds % 60) + ' min';
  return whole(seconds / 3600) + ':' + two((seconds % 3600) / 60) + ':' + two(seconds % 60) + ' h';
}

// One, two or five times a power of ten, at least so much.
function niceStep(about) {
  if (!(about > 0) || about === Infinity) return 1;
  const power = 10 ** Math.floor(Math.log10(about));
  const step = [1, 2, 5, 10].find((digit) => digit * power >= about * 0.999);
  return step === undefined ? about : step * power;
}

// How many decimals tell multiples of a step apart.
function digitsOf(step) {
  for (let digits = 0; digits < 12; digits += 1) {
    if (Math.abs(Number(fixed(step, digits)) - step) <= step * 1e-6) return digits;
  }
  return 12;
}

function multiples(step, low, high) {
  const first = Math.ceil(low / step - 1e-9);
  const values = [];
  for (let at = 0; at < 200; at += 1) {
    const value = (first + at) * step + 0;
    if (!(value <= high + step * 1e-9)) break;
    values.push(value);
  }
  return values;
}

function valueTicks(low, high, unit, mode, length) {
  const about = ((high - low) * 44) / length;
  if (mode === 'share' || mode === 'own-peak') {
    const tick = (value) => ({ value: value / 100, label: fixed(value, 0) + ' %' });
    return multiples(niceStep(about * 100), low * 100, high * 100).map(tick);
  }
  const scale = scaleOf(Math.max(Math.abs(low), high), unit);
  const step = niceStep(about / scale.size);
  const digits = digitsOf(step);
  const label = (value) => (fixed(value, digits) + ' ' + scale.name).trim();
  const tick = (value) => ({ value: value * scale.size, label: label(value) });
  return multiples(step, low / scale.size, high / scale.size).map(tick);
}

// The unit of the labels, and the ticks.
function timeTicks(from, to, unit, length) {
  const spans = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600];
  const about = ((to - from) * 84) / length;
  const byClock = unit === 'seconds' && about > 1;
  const span = spans.find((span) => span >= about);
  const days = () => Math.max(niceStep(about / 43200), 1) * 43200;
  const step = !byClock ? niceStep(about) : span === undefined ? days() : span;
  const digits = digitsOf(step);
  const longest = Math.max(Math.abs(from), Math.abs(to));
  const two = (value) => fixed(value, 0).padStart(2, '0');
  const label = (value) => {
    if (!byClock || longest < 120) return fixed(value, digits);
    if (longest >= 3600) return Math.floor(value / 3600) + ':' + two((value % 3600) / 60);
    return Math.floor(value / 60) + ':' + two(value % 60);
  };
  const ticks = multiples(step, from, to).map((value) => ({ value, label: label(value) }));
  const name = !byClock || longest < 120 ? unit : longest >= 3600 ? 'hours:minutes' : 'minutes:seconds';
  return { name, ticks };
}
