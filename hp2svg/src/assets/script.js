// Makes charts answer to pointer, touch and keys. Runs in one function after format.js, in the file of the chart.

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
const CLICK_PX = 4;
const HELP = ['Point at a band for its values', 'click: alone', 'shift-click: hide', 'drag: zoom', '/ search'];

const script = document.currentScript;
const root = (script && script.closest('svg')) || document.documentElement;
root.setAttribute('role', 'graphics-document document');
Array.from(root.querySelectorAll('.hp-panel')).forEach(start);

function make(parent, name, attributes, text) {
  const element = document.createElementNS(SVG, name);
  Object.keys(attributes || {}).forEach((key) => element.setAttribute(key, attributes[key]));
  if (text !== undefined) element.textContent = text;
  if (parent) parent.appendChild(element);
  return element;
}

// A name that turns no text beside it around.
function isolated(name) {
  return '\u2068' + name + '\u2069';
}

// A text in a text element, its middle left out if it is wider than the room.
function fit(element, text, room) {
  const chars = Array.from(text);
  const cut = (most) => chars.slice(0, Math.ceil(most / 2)).join('') + '...' +
    chars.slice(chars.length - Math.floor(most / 2)).join('');
  element.textContent = text;
  let most = Math.min(chars.length, 400);
  let least = 0;
  if (chars.length === most && element.getComputedTextLength() <= room) return;
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    element.textContent = cut(middle);
    if (element.getComputedTextLength() <= room) least = middle;
    else most = middle - 1;
  }
  element.textContent = cut(least);
}

function channels(colour) {
  if (colour[0] === '#') return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (colour.match(/[\d.]+/g) || [255, 255, 255]).slice(0, 3).map(Number);
}

function pale(colour, background) {
  const [from, to] = [channels(colour), channels(background)];
  return 'rgb(' + from.map((level, at) => Math.round(level * 0.18 + to[at] * 0.82)).join(',') + ')';
}

function start(panel, number) {
  const one = (selector) => panel.querySelector(selector);
  const all = (selector) => Array.from(panel.querySelectorAll(selector));
  const data = JSON.parse(one('.hp-data').textContent);
  const { bands, times, values, colours } = data;
  const [left, top, width, height] = data.graph;
  const [right, foot] = [left + width, top + height];
  const moment = (value) => (data.timeUnit === 'seconds' ? time(value) : amount(value, data.timeUnit));
  const isStacked = data.mode === 'stacked' || data.mode === 'share';
  const isLive = (band) => bands[band].kind !== 'resident';
  const totals = times.map((_, at) => values.reduce((sum, row, band) => sum + (isLive(band) ? row[at] : 0), 0));

  const paths = [];
  all('.hp-band').forEach((path) => { paths[Number(path.dataset.band)] = path; });
  const rows = all('.hp-row');
  const outlines = paths.map((path) => path.getAttribute('d'));

  // What is shown. `at` is the sample of the hair line, `band` the one told of there, `lit` the one
  // that the key points at, `alone` the only one shown; -1 for none.
  const state = { from: 0, to: 0, at: -1, band: -1, lit: -1, alone: -1, hidden: new Set(), query: '' };
  let drag = null;
  // The values at the foot and the top of the graph.
  let range = data.range;
  [state.from, state.to] = data.window;

  // --- places -------------------------------------------------------------------------------------------------

  const isAtOnce = times.length < 2 || times[0] === times[times.length - 1];
  const unzoomed = (seconds) => left + ((seconds - data.window[0]) / (data.window[1] - data.window[0])) * width;
  const xOf = (seconds) => left + ((seconds - state.from) / (state.to - state.from)) * width;
  const secondsAt = (x) => state.from + ((x - left) / width) * (state.to - state.from);
  const isVisible = (band) => (state.alone >= 0 ? band === state.alone : !state.hidden.has(band));
  const isChanged = () => state.alone >= 0 || state.hidden.size > 0;
  const isZoomed = () => state.from !== data.window[0] || state.to !== data.window[1];

  // The sample nearest to a time, within the zoomed window if it has any.
  function nearest(seconds) {
    let low = 0;
    let high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < seconds) low = middle + 1;
      else high = middle;
    }
    const isBefore = low > 0 && (low === times.length || seconds - times[low - 1] <= times[low] - seconds);
    return isBefore ? low - 1 : low;
  }

  // The value that is drawn.
  function drawn(band, at) {
    const value = values[band][at];
    if (data.mode === 'share') return totals[at] > 0 ? value / totals[at] : 0;
    if (data.mode === 'own-peak') return bands[band].peak > 0 ? value / bands[band].peak : 0;
    return value - bands[band].base;
  }

  // The upper edge or the line of each visible band, at each sample.
  function edges() {
    const edge = [];
    let below = times.map(() => 0);
    bands.forEach((_, band) => {
      if (!isVisible(band)) return;
      edge[band] = times.map((_, at) => drawn(band, at) + (isStacked ? below[at] : 0));
      if (isStacked) below = edge[band];
    });
    return edge;
  }

  // --- drawing ------------------------------------------------------------------------------------------------

  const overlay = make(panel, 'g', { class: 'hp-overlay' });
  const ink = { fill: colours.text, class: 'hp-fill-text' };
  const faint = { fill: colours.muted, class: 'hp-fill-muted' };
  const zone = make(null, 'rect', {
    class: 'hp-zone', x: left, y: top, width, height, fill: 'none', 'pointer-events': 'all', tabindex: 0,
    role: 'application', 'aria-label': 'Graph. Arrow keys move by sample and band, Enter shows a band alone, ' +
      'h hides it, plus and minus zoom, slash searches, Escape shows all.',
  });
  one('.hp-graph').insertBefore(zone, one('.hp-graph').firstChild);
  const ring = make(overlay, 'rect', {
    class: 'hp-ring', x: left, y: top, width, height, fill: 'none', 'pointer-events': 'none',
  });
  const select = make(overlay, 'rect', {
    y: top, height, fill: '#1a73e8', 'fill-opacity': 0.2, 'pointer-events': 'none', visibility: 'hidden',
  });
  const hair = make(overlay, 'path', {
    class: 'hp-hair hp-line-text', stroke: colours.text, 'stroke-width': 1, 'pointer-events': 'none',
  });
  const status = make(overlay, 'text', Object.assign({
    x: left, y: foot + 33, role: 'status', 'aria-live': 'polite',
  }, faint, { class: 'hp-status hp-fill-muted' }));
  const showAll = make(overlay, 'g', {
    class: 'hp-all', role: 'button', tabindex: -1, visibility: 'hidden', 'aria-label': 'Show all',
  });
  make(showAll, 'text', Object.assign({ x: right, y: top - 25, 'text-anchor': 'end' }, ink), '× show all (Esc)');
  const tip = make(overlay, 'g', { class: 'hp-tip', 'pointer-events': 'none' });
  const unit = one('.hp-frame text');
  const statusRoom = () => width - (unit ? unit.getComputedTextLength() : 0) - 16;

  function say(text) {
    fit(status, text, statusRoom());
    status.setAttribute('aria-label', text);
  }

  // As much of the help as there is room for.
  function help() {
    const room = statusRoom();
    const fits = (from) => {
      status.textContent = HELP.slice(from).join(' · ');
      return status.getComputedTextLength() <= room;
    };
    return HELP.slice(HELP.findIndex((_, from) => fits(from))).join(' · ');
  }

  function pathOf(band, edge, y) {
    const points = times.map((seconds, at) => [unzoomed(seconds), y(edge[at])]);
    if (band === state.alone && data.mode === 'stacked') addPeak(points, bands[band], y);
    if (isAtOnce && points.length) {
      points.unshift([left, points[0][1]]);
      points.push([right, points[points.length - 1][1]]);
    }
    if (isStacked && points.length) {
      points.unshift([points[0][0], y(0)]);
      points.push([points[points.length - 1][0], y(0)]);
    }
    const pairs = points.map((point) => point.map((place) => place.toFixed(1)).join(' '));
    return 'M' + pairs.join('L') + (isStacked ? 'Z' : '');
  }

  // Of many samples the data has those with the largest sums; the band alone may have been largest in another one.
  function addPeak(points, { peak, peakAt }, y) {
    const at = times.findIndex((seconds) => seconds >= peakAt);
    if (at >= 0 && times[at] !== peakAt) points.splice(at, 0, [unzoomed(peakAt), y(peak)]);
  }

  // Draws the visible bands anew from the values, or all as they were.
  function drawBands() {
    let [low, high] = data.range;
    if (isChanged()) {
      const edge = edges();
      const ends = edge.map((line) => line.reduce(([l, h], value) => [Math.min(l, value), Math.max(h, value)], [0, 0]));
      [low, high] = ends.reduce(([l, h], end) => [Math.min(l, end[0]), Math.max(h, end[1])], [0, 0]);
      if (state.alone >= 0 && data.mode === 'stacked') high = Math.max(high, bands[state.alone].peak);
      if (high <= low) high = low + 1;
      const y = (value) => foot - ((value - low) / (high - low)) * height;
      edge.forEach((line, band) => paths[band].setAttribute('d', pathOf(band, line, y)));
    } else {
      paths.forEach((path, band) => path.setAttribute('d', outlines[band]));
    }
    range = [low, high];
    paths.forEach((path, band) => show(path, isVisible(band)));
    all('.hp-total, .hp-peak').forEach((element) => show(element, !isChanged()));
    const place = (value) => foot - ((value - low) / (high - low)) * height;
    const ticks = valueTicks(low, high, data.unit, data.mode, height);
    drawTicks('.hp-y', ticks, (text, tick) => text.setAttribute('y', place(tick.value) + 4.3));
    drawTicks('.hp-grid', ticks, (line, tick) => {
      line.setAttribute('d', 'M' + left + ' ' + place(tick.value).toFixed(1) + 'H' + right.toFixed(1));
    });
  }

  function show(element, isShown) {
    if (isShown) element.removeAttribute('display');
    else element.setAttribute('display', 'none');
  }

  // Copies the first of the elements that a tick is made of for each tick.
  function drawTicks(selector, ticks, put) {
    const group = one(selector);
    const patterns = ['path', 'text'].map((name) => group.querySelector(name)).filter((found) => found);
    group.textContent = '';
    ticks.forEach((tick) => patterns.forEach((pattern) => {
      const element = group.appendChild(pattern.cloneNode());
      if (element.localName === 'text') element.textContent = tick.label;
      put(element, tick);
    }));
  }

  function drawTime() {
    const factor = (data.window[1] - data.window[0]) / (state.to - state.from);
    const shift = left - factor * unzoomed(state.from);
    one('.hp-bands').setAttribute('transform', 'matrix(' + factor + ' 0 0 1 ' + shift + ' 0)');
    all('.hp-mark, .hp-peak').forEach((flag) => {
      const x = factor * Number(flag.dataset.x) + shift;
      flag.setAttribute('transform', 'translate(' + (x - Number(flag.dataset.x)) + ' 0)');
      flag.setAttribute('visibility', x >= left - 1 && x <= right + 1 ? 'visible' : 'hidden');
    });
    if (isAtOnce) return;
    const axis = timeTicks(state.from, state.to, data.timeUnit, width);
    drawTicks('.hp-x', axis.ticks, (element, tick) => {
      const x = xOf(tick.value).toFixed(1);
      if (element.localName === 'text') element.setAttribute('x', x);
      else element.setAttribute('d', 'M' + x + ' ' + foot.toFixed(1) + 'v4');
    });
    if (unit) unit.textContent = axis.name;
  }

  // Colours: what the key points at or the search finds stands out.
  function light() {
    const ground = getComputedStyle(one('.hp-fill-background')).fill;
    const isFaint = (band) => (state.lit >= 0 ? band !== state.lit : !matches(band));
    paths.forEach((path, band) => {
      const attribute = isStacked ? 'fill' : 'stroke';
      const colour = path.getAttribute(attribute);
      path.style[attribute] = !isFaint(band) ? '' : colour[0] === '#' ? pale(colour, ground) : ground;
      path.classList.toggle(isStacked ? 'hp-lit' : 'hp-thick', band === state.band && state.at >= 0);
    });
    rows.forEach((row) => {
      const band = Number(row.dataset.band);
      row.setAttribute('opacity', isVisible(band) && matches(band) ? 1 : 0.35);
      row.classList.toggle('hp-lit', band === state.band && state.at >= 0);
      row.setAttribute('aria-pressed', state.alone === band);
    });
    showAll.setAttribute('visibility', isChanged() || isZoomed() || state.query ? 'visible' : 'hidden');
    showAll.setAttribute('tabindex', showAll.getAttribute('visibility') === 'visible' ? 0 : -1);
  }

  function matches(band) {
    const has = (name) => name.toLowerCase().includes(state.query);
    return !state.query || has(bands[band].name) || (bands[band].kind === 'other' && data.members.some(has));
  }

  // --- the values at a time -----------------------------------------------------------------------------------

  function shareOf(band, at) {
    const hasShare = isLive(band) && totals[at] > 0 && data.mode !== 'change';
    return hasShare ? fixed((values[band][at] / totals[at]) * 100, 1) + ' %' : '';
  }

  // [name, figure, share, colour] of each line.
  function lines() {
    const { at, band } = state;
    const [told, exact] = [moment(times[at]), times[at] + ' ' + data.timeUnit];
    const list = [[exact === told + 'econds' ? told : told + ' (' + exact + ')', '', '', '']];
    list.push(['total', amount(totals[at], data.unit), '', '']);
    if (band < 0) return list;
    const colour = paths[band].getAttribute(isStacked ? 'fill' : 'stroke');
    list.push([bands[band].name, amount(values[band][at], data.unit), shareOf(band, at), colour]);
    const members = bands[band].kind === 'other' ? data.membersAt[at] : [];
    for (let member = 0; member < members.length; member += 2) {
      list.push(['\u2003' + data.members[members[member]], amount(members[member + 1], data.unit), '', '']);
    }
    return list;
  }

  function drawTip(y) {
    tip.textContent = '';
    hair.setAttribute('d', '');
    if (state.at < 0) return;
    const x = xOf(times[state.at]);
    const hairX = isAtOnce ? left + width / 2 : x;
    hair.setAttribute('d', 'M' + hairX.toFixed(1) + ' ' + top + 'V' + foot.toFixed(1));
    const box = make(tip, 'rect', {
      class: 'hp-fill-background hp-line-muted', fill: colours.background, stroke: colours.muted, rx: 3,
    });
    const written = lines().map(([name, figure, share, colour], row) => {
      const base = 18 + row * 17;
      if (colour) make(tip, 'rect', { x: 8, y: base - 9, width: 9, height: 9, fill: colour });
      const label = make(tip, 'text', Object.assign({ x: colour ? 22 : 8, y: base }, row ? ink : faint));
      fit(label, name, Math.min(260, width * 0.6));
      const value = make(tip, 'text', Object.assign({ y: base, 'text-anchor': 'end' }, row ? ink : faint), figure);
      const part = make(tip, 'text', Object.assign({ y: base, 'text-anchor': 'end' }, faint), share);
      return [label, value, part];
    });
    const widest = (column) => Math.max(...written.map((texts) => texts[column].getComputedTextLength()));
    const partWidth = widest(2);
    const wide = 22 + widest(0) + 16 + widest(1) + (partWidth ? partWidth + 12 : 0) + 8;
    const high = 10 + written.length * 17;
    written.forEach((texts) => {
      texts[1].setAttribute('x', wide - 8 - (partWidth ? partWidth + 12 : 0));
      texts[2].setAttribute('x', wide - 8);
    });
    box.setAttribute('width', wide);
    box.setAttribute('height', high);
    const isLeft = hairX + 12 + wide > right && hairX - 12 - wide > 0;
    const tipY = Math.max(top, Math.min(y + 14, foot - high));
    tip.setAttribute('transform', 'translate(' + (isLeft ? hairX - 12 - wide : hairX + 12) + ' ' + tipY + ')');
  }

  function point(at, band, y) {
    state.at = at;
    state.band = at < 0 ? -1 : band;
    drawTip(y);
    light();
  }

  function sayPoint() {
    const [head, total, ...rest] = lines();
    const tell = ([name, figure, share]) => isolated(name.trim()) + ' ' + figure + (share ? ' (' + share + ')' : '');
    say([head[0], tell(total)].concat(rest.map(tell)).join(' · '));
  }

  // --- what can be done ---------------------------------------------------------------------------------------

  function redraw() {
    drawBands();
    light();
  }

  function toggleAlone(band) {
    state.alone = state.alone === band ? -1 : band;
    state.hidden.delete(band);
    redraw();
    say(state.alone < 0 ? 'All bands' : isolated(bands[band].name) + ' alone');
  }

  function toggleHidden(band) {
    state.alone = -1;
    if (!state.hidden.delete(band)) state.hidden.add(band);
    redraw();
    say(isolated(bands[band].name) + (state.hidden.has(band) ? ' hidden' : ' shown'));
  }

  function zoom(from, to) {
    const [first, last] = data.window;
    const least = (last - first) / 10000;
    if (isAtOnce || to - from < least) return;
    state.from = Math.max(first, from);
    state.to = Math.min(last, to);
    point(-1, -1, 0);
    drawTime();
    light();
    say('From ' + moment(state.from) + ' to ' + moment(state.to));
  }

  function search(text) {
    state.query = text.trim().toLowerCase();
    light();
    tellFound();
    const found = bands.filter((_, band) => matches(band)).length;
    say(state.query ? found + ' of ' + bands.length + ' bands match “' + isolated(text.trim()) + '”' : help());
  }

  // For a page around the chart.
  function tellFound() {
    const found = bands.map((_, band) => band).filter(matches);
    panel.dispatchEvent(new CustomEvent('hp-found', { detail: found }));
  }

  function reset() {
    Object.assign(state, { from: data.window[0], to: data.window[1], lit: -1, alone: -1, query: '' });
    state.hidden.clear();
    input.value = '';
    tellFound();
    point(-1, -1, 0);
    drawTime();
    redraw();
    say('All bands, the whole time');
  }

  // --- keys ---------------------------------------------------------------------------------------------------

  function samplesInView() {
    const inView = times.map((_, at) => at).filter((at) => times[at] >= state.from && times[at] <= state.to);
    return isAtOnce || !inView.length ? times.map((_, at) => at) : inView;
  }

  function moveBy(samples) {
    const inView = samplesInView();
    const place = inView.indexOf(state.at);
    const start = samples > 0 ? 0 : inView.length - 1;
    const next = place < 0 ? start : Math.max(0, Math.min(inView.length - 1, place + samples));
    if (inView.length) point(inView[next], state.band, top);
  }

  function moveBand(by) {
    const visible = bands.map((_, band) => band).filter(isVisible);
    const place = visible.indexOf(state.band);
    const next = place < 0 ? (by > 0 ? 0 : visible.length - 1) : place + by;
    if (state.at < 0) moveBy(1);
    if (visible[next] !== undefined) point(state.at, visible[next], top);
  }

  function zoomBy(factor) {
    const middle = state.at < 0 ? (state.from + state.to) / 2 : times[state.at];
    const half = ((state.to - state.from) * factor) / 2;
    zoom(middle - half, middle + half);
  }

  const graphKeys = {
    ArrowRight: () => moveBy(1),
    ArrowLeft: () => moveBy(-1),
    PageDown: () => moveBy(10),
    PageUp: () => moveBy(-10),
    Home: () => moveBy(-Infinity),
    End: () => moveBy(Infinity),
    ArrowUp: () => moveBand(1),
    ArrowDown: () => moveBand(-1),
  };
  const bandKeys = {
    Enter: toggleAlone,
    ' ': toggleAlone,
    h: toggleHidden,
  };
  const zoomKeys = { '+': () => zoomBy(0.5), '=': () => zoomBy(0.5), '-': () => zoomBy(2) };

  function bandOf(element) {
    const row = element.closest('.hp-row');
    return row ? Number(row.dataset.band) : element === zone ? state.band : -1;
  }

  panel.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target === input) return;
    const { key, target } = event;
    const band = bandOf(target);
    if (target === zone && graphKeys[key] && times.length) {
      graphKeys[key]();
      if (state.at >= 0) sayPoint();
    } else if (bandKeys[key] && band >= 0) bandKeys[key](band);
    else if (zoomKeys[key]) zoomKeys[key]();
    else if (target.closest('.hp-all') && (key === 'Enter' || key === ' ')) reset();
    else return;
    event.preventDefault();
  });

  // Slash and Escape are for the panel that has the focus, for the first if none has it.
  document.addEventListener('keydown', (event) => {
    const active = document.activeElement;
    const owner = active && active.closest('.hp-panel');
    if (owner ? owner !== panel : number > 0) return;
    if (event.key === 'Escape') {
      reset();
      if (active === input) zone.focus({ preventScroll: true });
    } else if (event.key === '/' && !/^(input|textarea|select)$/i.test(active ? active.localName : '')) {
      input.focus();
      event.preventDefault();
    }
  });

  // --- pointer and touch --------------------------------------------------------------------------------------

  function placeOf(event) {
    return new DOMPoint(event.clientX, event.clientY).matrixTransform(panel.getScreenCTM().inverse());
  }

  // The band under the pointer: what is drawn there, or the nearest line.
  function bandAt(event, place, at) {
    if (isStacked) {
      const hit = document.elementFromPoint(event.clientX, event.clientY);
      return hit && hit.classList.contains('hp-band') && panel.contains(hit) ? Number(hit.dataset.band) : -1;
    }
    const [low, high] = range;
    const far = (band) => Math.abs(foot - ((drawn(band, at) - low) / (high - low)) * height - place.y);
    const near = bands.map((_, band) => band).filter((band) => isVisible(band) && far(band) < 24);
    return near.reduce((best, band) => (best < 0 || far(band) < far(best) ? band : best), -1);
  }

  let isFinger = false;
  const graph = one('.hp-graph');
  graph.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !times.length) return;
    const place = placeOf(event);
    const at = nearest(secondsAt(place.x));
    const band = bandAt(event, place, at);
    // The first touch of a band only reads: a finger cannot point without it.
    isFinger = event.pointerType === 'touch';
    drag = { x: place.x, band, isFar: false, isFirst: isFinger && band !== state.band };
    point(at, band, place.y);
    zone.setPointerCapture(event.pointerId);
  });
  graph.addEventListener('pointermove', (event) => {
    if (!times.length) return;
    const place = placeOf(event);
    if (drag) dragTo(place.x);
    if (drag && drag.isFar) return;
    const at = nearest(secondsAt(place.x));
    point(at, bandAt(event, place, at), place.y);
  });
  graph.addEventListener('pointerup', (event) => {
    const ended = drag;
    drag = null;
    select.setAttribute('visibility', 'hidden');
    if (!ended) return;
    const ends = [ended.x, placeOf(event).x].map((x) => secondsAt(Math.max(left, Math.min(right, x))));
    if (ended.isFar) zoom(Math.min(...ends), Math.max(...ends));
    else if (ended.band >= 0 && !ended.isFirst) toggle(event, ended.band);
  });
  graph.addEventListener('pointercancel', () => {
    drag = null;
    select.setAttribute('visibility', 'hidden');
  });
  // A finger leaves what it has told, until it touches something else.
  graph.addEventListener('pointerleave', (event) => {
    if (event.pointerType !== 'touch') point(-1, -1, 0);
  });
  document.addEventListener('pointerdown', (event) => {
    if (!graph.contains(event.target)) point(-1, -1, 0);
  });
  // Two touches in a row are the reading and the choice of a band.
  graph.addEventListener('dblclick', () => { if (!isFinger) reset(); });

  function dragTo(x) {
    const end = Math.max(left, Math.min(right, x));
    drag.isFar = drag.isFar || Math.abs(end - drag.x) > CLICK_PX;
    if (!drag.isFar || isAtOnce) return;
    point(-1, -1, 0);
    select.setAttribute('visibility', 'visible');
    select.setAttribute('x', Math.min(end, drag.x));
    select.setAttribute('width', Math.abs(end - drag.x));
  }

  function toggle(event, band) {
    if (event.shiftKey || event.ctrlKey || event.metaKey) toggleHidden(band);
    else toggleAlone(band);
  }

  // --- the start ----------------------------------------------------------------------------------------------

  function prepareRow(row) {
    const band = Number(row.dataset.band);
    const title = row.querySelector('title');
    const back = make(null, 'rect', {
      class: 'hp-ring', x: data.key[0] - 4, y: Number(row.dataset.y) - data.rowHeight / 2,
      width: data.key[1] - data.key[0] + 18, height: data.rowHeight, fill: 'none', 'pointer-events': 'all',
    });
    row.insertBefore(back, row.firstChild);
    // The fonts of this machine may be wider than those that the layout knows.
    const [label, figure] = row.querySelectorAll('text');
    const room = figure.getBBox().x - label.getBBox().x - 6;
    if (label.getComputedTextLength() > room) fit(label, label.textContent, room);
    Object.entries({ tabindex: 0, role: 'button', 'aria-label': title.textContent }).forEach(
      ([key, value]) => row.setAttribute(key, value),
    );
    const lit = (value) => () => {
      state.lit = value;
      light();
    };
    row.addEventListener('pointerenter', lit(band));
    row.addEventListener('pointerleave', lit(-1));
    row.addEventListener('focus', lit(band));
    row.addEventListener('blur', lit(-1));
    row.addEventListener('click', (event) => toggle(event, band));
  }

  // A field above the key, or that of the page around the chart.
  function makeInput() {
    const known = root.dataset.search && document.getElementById(root.dataset.search);
    if (known) return known;
    const [from, to] = data.key;
    const holder = make(overlay, 'foreignObject', {
      x: Math.min(from, to - 120), y: top - 25, width: Math.max(120, to - from), height: 21,
    });
    const field = document.createElementNS(XHTML, 'input');
    Object.entries({
      type: 'search', class: 'hp-search', placeholder: 'Search (/)', 'aria-label': 'Search bands',
    }).forEach(([key, value]) => field.setAttribute(key, value));
    holder.appendChild(field);
    return field;
  }

  const input = makeInput();
  input.addEventListener('input', () => search(input.value));
  panel.addEventListener('hp-alone', (event) => toggleAlone(event.detail));
  panel.addEventListener('hp-light', (event) => {
    state.lit = event.detail;
    light();
  });
  paths.forEach((path) => {
    const title = path.querySelector('title');
    path.setAttribute('aria-label', title.textContent);
    path.setAttribute('role', 'graphics-symbol img');
    path.setAttribute('vector-effect', 'non-scaling-stroke');
    title.remove();
  });
  rows.forEach(prepareRow);
  showAll.addEventListener('click', reset);
  zone.addEventListener('focus', () => ring.classList.toggle('hp-on', zone.matches(':focus-visible')));
  zone.addEventListener('blur', () => ring.classList.remove('hp-on'));
  say(help());
  light();
}
