// Sorts and filters the tables, and ties their rows to the bands of the charts. Runs in one function.

const field = document.getElementById('hp-search');
const panels = document.querySelectorAll('.hp-panel');
document.querySelectorAll('table').forEach(start);

function start(table) {
  const body = table.tBodies[0];
  const heads = Array.from(table.tHead.rows[0].cells);
  const rows = Array.from(body.rows);
  const panel = panels[Number(table.dataset.panel)];

  // Numbers from the largest down at first, names from the smallest up; cells without a value last.
  function sort(column) {
    const head = heads[column];
    const isUp = head.getAttribute('aria-sort') ? head.getAttribute('aria-sort') === 'descending' : column === 0;
    const sign = isUp ? 1 : -1;
    const number = (row) => row.cells[column].dataset.value;
    const compare = (one, other) => {
      if (column === 0) return sign * (one.cells[0].textContent < other.cells[0].textContent ? -1 : 1);
      const [a, b] = [number(one), number(other)];
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return sign * (a - b);
    };
    heads.forEach((other) => other.removeAttribute('aria-sort'));
    head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
    rows.sort(compare).forEach((row) => body.appendChild(row));
  }

  function tell(kind, band) {
    panel.dispatchEvent(new CustomEvent(kind, { detail: band }));
  }

  heads.forEach((head, column) => head.querySelector('button').addEventListener('click', () => sort(column)));
  rows.forEach((row) => {
    const band = Number(row.dataset.band);
    row.querySelector('button').addEventListener('click', () => tell('hp-alone', band));
    row.addEventListener('pointerenter', () => tell('hp-light', band));
    row.addEventListener('pointerleave', () => tell('hp-light', -1));
  });
  // The chart says which bands its search has found: OTHER, too, if it is one of its members.
  panel.addEventListener('hp-found', (event) => {
    rows.forEach((row) => { row.hidden = !event.detail.includes(Number(row.dataset.band)); });
  });
}
